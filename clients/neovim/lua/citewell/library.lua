--- The library that is searched: made and looked at by the command `citewell library`.
local M = {}

local verbs = { 'add', 'build', 'formats', 'list', 'remove', 'status' }

---@class citewell.LibraryChoice
---@field label string
---@field arguments? string[]
---@field ask? string

---@type citewell.LibraryChoice[]
local choices = {
  { label = 'The starter library: 160,000 papers that come with Citewell', arguments = { 'add', 'starter' } },
  { label = 'Papers of my own: a .bib, a folder, an export ...', ask = 'File or folder: ' },
  { label = 'Zotero with Better BibTeX on this machine', arguments = { 'add', 'zotero:' } },
  { label = 'Show what is in the library', arguments = { 'status' } },
}

---@param message string
---@param level? integer
local function say(message, level)
  vim.notify('Citewell: ' .. message, level or vim.log.levels.INFO)
end

--- The settings of the library that the editor gives its server, for the command.
---@return table<string, string>
local function environment()
  local settings = (require('citewell.config').get().settings or {}).library or {}
  local found = { NO_COLOR = '1', COLUMNS = '100' }
  if type(settings.path) == 'string' then
    found.CITEWELL_LIBRARY_PATH = settings.path
  end
  if type(settings.name) == 'string' then
    found.CITEWELL_LIBRARY_NAME = settings.name
  end
  return found
end

---@param title string
---@param text string
local function show(title, text)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(vim.trim(text), '\n', { plain = true }))
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].modifiable = false
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, bufnr)
  vim.api.nvim_buf_set_name(bufnr, ('citewell://%s/%d'):format(title, bufnr))
  vim.api.nvim_win_set_height(0, math.min(15, vim.api.nvim_buf_line_count(bufnr) + 1))
end

---@param arguments string[]
local function execute(arguments)
  local server = require('citewell.server')
  local message, cures = server.missing()
  if message then
    say(message .. ':\n- ' .. table.concat(cures, '\n- '), vim.log.levels.ERROR)
    return
  end
  local command = server.cli(vim.list_extend({ 'library' }, arguments))
  local changes = arguments[1] == 'add' or arguments[1] == 'build' or arguments[1] == 'remove'
  if changes then
    say(('`citewell library %s` runs; you can go on writing'):format(table.concat(arguments, ' ')))
  end
  local options = { text = true, env = environment(), stdin = false }
  vim.system(command, options, function(done)
    vim.schedule(function()
      local text = vim.trim((done.stdout or '') .. '\n' .. (done.stderr or ''))
      if done.code ~= 0 then
        say(text ~= '' and text or ('it ended with code ' .. done.code), vim.log.levels.ERROR)
      elseif changes then
        local told = vim.trim(done.stdout or '')
        say(told ~= '' and told or 'the library is built')
      else
        show('library-' .. arguments[1], text)
      end
    end)
  end)
end

--- `:Citewell library [VERB ...]`; without a verb, a choice of what is done most.
---@param arguments string[]
function M.run(arguments)
  if #arguments > 0 then
    execute(vim.tbl_map(vim.fn.expand, arguments))
    return
  end
  vim.ui.select(choices, {
    prompt = 'Library',
    kind = 'citewell.library',
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    if not choice then
      return
    end
    if choice.arguments then
      execute(choice.arguments)
      return
    end
    vim.ui.input({ prompt = choice.ask, completion = 'file' }, function(path)
      if path and vim.trim(path) ~= '' then
        execute({ 'add', vim.fn.fnamemodify(vim.fn.expand(vim.trim(path)), ':p') })
      end
    end)
  end)
end

---@param head string
---@return string[]
function M.complete(head)
  local found = vim.tbl_filter(function(verb)
    return vim.startswith(verb, head)
  end, verbs)
  if head ~= '' then
    vim.list_extend(found, vim.fn.getcompletion(head, 'file'))
  end
  return found
end

return M
