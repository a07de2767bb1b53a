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
  require('citewell.tell').say(message, level)
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

--- What the command says of where it stands, and of what came of it: the last line.
---@param text string
---@return string
local function last_line(text)
  return vim.trim(text:match('([^\n]*)%s*$') or '')
end

---@param arguments string[]
local function execute(arguments)
  local server, tell = require('citewell.server'), require('citewell.tell')
  if server.tell_if_missing(true) then
    return
  end
  local command = server.cli(vim.list_extend({ 'library' }, arguments))
  local changes = arguments[1] == 'add' or arguments[1] == 'build' or arguments[1] == 'remove'
  local stage, errors = '', {}
  local stop, show = function() end, function() end
  if changes then
    stop, show = tell.progress_while(function()
      local begun = stage ~= '' and stage or table.concat(arguments, ' ')
      return ('the library is being built: %s'):format(begun)
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
      local told, failure = vim.trim(done.stdout or ''), vim.trim(table.concat(errors))
      if done.code ~= 0 then
        local text = vim.trim(failure .. '\n' .. told)
        say(text ~= '' and text or ('it ended with code ' .. done.code), vim.log.levels.ERROR)
      elseif changes then
        local papers = told:match('([%d,]+ papers?) in ')
        say(('the library is built%s\n%s'):format(papers and ': ' .. papers or '', told))
      else
        tell.show('library-' .. arguments[1], vim.trim(told .. '\n' .. failure))
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
