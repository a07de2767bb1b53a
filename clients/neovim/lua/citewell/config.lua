--- What an author may set, and its defaults.
local M = {}

---@class citewell.Config
---@field enabled? boolean Start the server for the file types below. Default: true.
---@field cmd? string[] How to start the server. Default: { 'citewell', 'lsp' }, looked for in the active
---Python environment, in the one that `:Citewell install` makes, on PATH, and where uv, pipx and Mason put
---programs.
---@field settings? table Server settings, as under "citewell" in docs/settings.md, in camelCase.
---@field completion? boolean Use Neovim's own completion as you type. Default: true, unless nvim-cmp or
---blink.cmp is there, which need nothing else.
---@field picker? 'auto'|'snacks'|'telescope'|'fzf-lua'|'select' What `:Citewell find` shows its list in.
---Default: 'auto', the first of these that is installed.
---@field limit? integer How many papers it lists. Default: 20.

---@type string[]
M.filetypes = { 'tex', 'plaintex', 'bib', 'markdown', 'quarto', 'rmd' }

---@type citewell.Config
local defaults = {
  enabled = true,
  picker = 'auto',
  limit = 20,
}

local types = {
  enabled = 'boolean',
  cmd = 'table',
  settings = 'table',
  completion = 'boolean',
  picker = 'string',
  limit = 'number',
}

---@type citewell.Config?
local chosen

--- What is wrong with a configuration, in words for its author.
---@param config citewell.Config
---@return string[]
function M.problems(config)
  local found = {}
  for name, value in pairs(config) do
    if not types[name] then
      found[#found + 1] = ('there is no option `%s`'):format(name)
    elseif type(value) ~= types[name] then
      found[#found + 1] = ('`%s` must be a %s, not %s'):format(name, types[name], vim.inspect(value))
    end
  end
  local pickers = { 'auto', 'snacks', 'telescope', 'fzf-lua', 'select' }
  if type(config.picker) == 'string' and not vim.tbl_contains(pickers, config.picker) then
    found[#found + 1] = ('`picker` must be one of %s'):format(table.concat(pickers, ', '))
  end
  table.sort(found)
  return found
end

--- The configuration: what `setup` was given, else `vim.g.citewell`, over the defaults.
---@return citewell.Config
function M.get()
  local given = chosen or vim.g.citewell
  return vim.tbl_extend('force', defaults, type(given) == 'table' and given or {})
end

--- Take a configuration; options that are wrong are told and left out.
---@param config? citewell.Config
function M.set(config)
  config = vim.deepcopy(config or {})
  local wrong = M.problems(config)
  if #wrong > 0 then
    local text = table.concat(wrong, '; ') .. '. See :help citewell.setup()'
    require('citewell.tell').say(text, vim.log.levels.ERROR)
    for name, value in pairs(config) do
      if type(value) ~= types[name] then
        config[name] = nil
      end
    end
  end
  chosen = config
end

return M
