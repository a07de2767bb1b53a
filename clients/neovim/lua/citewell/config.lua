--- The plugin's options and their defaults.
local M = {}

---@class citewell.Config
---@field enabled? boolean Start the server for the file types below. Default: true.
---@field cmd? string[] The command that starts the server. Default: { 'citewell', 'lsp' }, found in the
---active Python environment, in that of `:Citewell install`, on PATH, and where uv, pipx and Mason put
---programs.
---@field settings? table Server settings, as under "citewell" in docs/settings.md, in camelCase.
---@field completion? boolean Complete as you type with Neovim's built-in completion. Default: true, unless
---nvim-cmp or blink.cmp is loaded.
---@field picker? 'auto'|'snacks'|'telescope'|'fzf-lua'|'select' The picker of `:Citewell find`.
---Default: 'auto', the first of these that is installed.
---@field save? boolean Saving a document also saves the .bib and other files that only Citewell has changed.
---Default: true.
---@field limit? integer Number of papers that it lists. Default: 20.

---@type string[]
M.filetypes = { 'tex', 'plaintex', 'bib', 'markdown', 'quarto', 'rmd' }

---@type citewell.Config
local defaults = {
  enabled = true,
  picker = 'auto',
  save = true,
  limit = 20,
}

local types = {
  enabled = 'boolean',
  cmd = 'table',
  settings = 'table',
  completion = 'boolean',
  picker = 'string',
  save = 'boolean',
  limit = 'number',
}

---@type citewell.Config?
local chosen

--- The errors of a configuration, as messages.
---@param config citewell.Config
---@return string[]
function M.problems(config)
  local found = {}
  for name, value in pairs(config) do
    if not types[name] then
      found[#found + 1] = ('unknown option `%s`'):format(name)
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

--- The configuration: the argument of `setup`, else `vim.g.citewell`, over the defaults.
---@return citewell.Config
function M.get()
  local given = chosen or vim.g.citewell
  return vim.tbl_extend('force', defaults, type(given) == 'table' and given or {})
end

--- Set the configuration; invalid options are reported and ignored.
---@param config? citewell.Config
function M.set(config)
  config = vim.deepcopy(config or {})
  local wrong = M.problems(config)
  if #wrong > 0 then
    local text = table.concat(wrong, '; ') .. '. See :help citewell.setup()'
    require('citewell.messages').notify(text, vim.log.levels.ERROR)
    for name, value in pairs(config) do
      if type(value) ~= types[name] then
        config[name] = nil
      end
    end
  end
  chosen = config
end

return M
