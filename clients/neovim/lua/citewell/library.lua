--- `:Citewell library`: creates and inspects the library with the command `citewell library`.
local M = {}

local verbs = { 'add', 'build', 'formats', 'list', 'remove', 'status' }

---@class citewell.LibraryChoice
---@field label string
---@field arguments? string[]
---@field ask? string

---@type citewell.LibraryChoice[]
local choices = {
  { label = 'Starter library: 410,000 papers that ship with Citewell', arguments = { 'add', 'starter' } },
  { label = 'My own papers: a .bib, a folder, an export ...', ask = 'File or folder: ' },
  { label = 'Zotero on this machine, with Better BibTeX', arguments = { 'add', 'zotero:' } },
  { label = 'Show the contents of the library', arguments = { 'status' } },
}

---@param message string
---@param level? integer
local function notify(message, level)
  require('citewell.messages').notify(message, level)
end

--- Environment variables that give the command the library settings of the editor.
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

--- The last line of the command's output, which states its progress or result.
---@param text string
---@return string
local function last_line(text)
  return vim.trim(text:match('([^\n]*)%s*$') or '')
end

---@param arguments string[]
local function execute(arguments)
  local server, messages = require('citewell.server'), require('citewell.messages')
  if server.report_missing(true) then
    return
  end
  local command = server.cli(vim.list_extend({ 'library' }, arguments))
  local changes = arguments[1] == 'add' or arguments[1] == 'build' or arguments[1] == 'remove'
  local stage, errors = '', {}
  local stop, show = function() end, function() end
  if changes then
    stop, show = messages.progress_while(function()
      local current = stage ~= '' and stage or table.concat(arguments, ' ')
      return ('building the library: %s'):format(current)
    end)
  end
  local options = {
    text = true,
    env = environment(),
    stdin = false,
    stderr = function(_, data)
      if data then
        errors[#errors + 1] = data
        local last = last_line(data)
        if last ~= '' and last ~= stage then
          stage = last
          show()
        end
      end
    end,
  }
  vim.system(command, options, function(done)
    vim.schedule(function()
      stop()
      local output, failure = vim.trim(done.stdout or ''), vim.trim(table.concat(errors))
      if done.code ~= 0 then
        local text = vim.trim(failure .. '\n' .. output)
        notify(text ~= '' and text or ('exit code ' .. done.code), vim.log.levels.ERROR)
      elseif changes then
        local papers = output:match('([%d,]+ papers?) in ')
        notify(('library built%s\n%s'):format(papers and ': ' .. papers or '', output))
      else
        messages.open_window('library-' .. arguments[1], vim.trim(output .. '\n' .. failure))
      end
    end)
  end)
end

--- `:Citewell library [VERB ...]`; without a verb, a menu of common actions.
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
