--- `:Citewell`: its subcommands and their completion.
local M = {}

---@class citewell.Subcommand
---@field help string
---@field run fun(arguments: string[], call: table)
---@field complete? fun(head: string): string[]

---@param head string
---@param words string[]
---@return string[]
local function beginning(head, words)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, head)
  end, words)
end

--- Whether the range of a call is the visual selection.
---@param call table
---@return boolean
local function is_selection(call)
  return call.range > 0 and vim.fn.getpos("'<")[2] == call.line1 and vim.fn.getpos("'>")[2] == call.line2
end

--- The selected words of `:'<,'>Citewell find`; empty if the range is not the selection.
---@param call table
---@return string
local function selected(call)
  if not is_selection(call) then
    return ''
  end
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local lines = vim.fn.getregion(from, to, { type = vim.fn.visualmode() })
  return vim.trim((table.concat(lines, ' '):gsub('%s+', ' ')))
end

---@type table<string, citewell.Subcommand>
M.subcommands = {
  find = {
    help = 'search for a paper and cite it at the cursor',
    run = function(arguments, call)
      local words = table.concat(arguments, ' ')
      if words == '' then
        words = selected(call)
        if words ~= '' then
          -- The citation goes after the words, not before them.
          pcall(vim.fn.setpos, '.', vim.fn.getpos("'>"))
        end
      end
      require('citewell.find').find({ query = words })
    end,
  },
  explore = {
    help = 'search the literature in passes, and cite several papers at once',
    run = function(arguments, call)
      local words = table.concat(arguments, ' ')
      local selection = words == '' and is_selection(call)
      if selection then
        pcall(vim.fn.setpos, '.', vim.fn.getpos("'>"))
      end
      require('citewell.explore').explore({ query = words, selection = selection })
    end,
  },
  fill = {
    help = 'fill the placeholders of this file where the confidence suffices',
    run = function()
      require('citewell.actions').fill()
    end,
  },
  check = {
    help = 'check the references and list problems; `online`: also query the allowed sources',
    run = function(arguments)
      require('citewell.actions').check({ online = arguments[1] == 'online' })
    end,
    complete = function(head)
      return beginning(head, { 'online' })
    end,
  },
  review = {
    help = 'review all citations of the paper, and list what is wrong or missing; `text`: in a buffer',
    run = function(arguments)
      require('citewell.actions').review({ text = arguments[1] == 'text' })
    end,
    complete = function(head)
      return beginning(head, { 'text' })
    end,
  },
  fetch = {
    help = 'fetch papers on a topic, or what this file lacks; `paper`: the literature around it',
    run = function(arguments)
      require('citewell.fetch').run(arguments)
    end,
    complete = function(head)
      return beginning(head, { 'paper', 'never' })
    end,
  },
  library = {
    help = 'create or inspect the library that is searched',
    run = function(arguments)
      require('citewell.library').run(arguments)
    end,
    complete = function(head)
      return require('citewell.library').complete(head)
    end,
  },
  status = {
    help = 'show which library is searched, and its problems',
    run = function()
      require('citewell.actions').status()
    end,
  },
  install = {
    help = 'install or reinstall the server in its own environment',
    run = function()
      require('citewell.install').run()
    end,
  },
  messages = {
    help = 'show all messages of Citewell',
    run = function()
      require('citewell.messages').show_history()
    end,
  },
  log = {
    help = 'open the log of the language servers',
    run = function()
      require('citewell.actions').log()
    end,
  },
  restart = {
    help = 'restart the server',
    run = function()
      require('citewell.server').restart()
    end,
  },
}

---@return string[]
local function names()
  local found = vim.tbl_keys(M.subcommands)
  table.sort(found)
  return found
end

--- Run `:Citewell NAME ...`; without a name, list the subcommands.
---@param call table The argument of a callback of |nvim_create_user_command()|.
function M.run(call)
  if not require('citewell').is_supported() then
    return
  end
  local arguments = vim.deepcopy(call.fargs)
  local name = table.remove(arguments, 1)
  local subcommand = M.subcommands[name or '']
  if subcommand then
    subcommand.run(arguments, call)
    return
  end
  local lines = {}
  if name then
    lines[1] = ('Unknown command `%s`:'):format(name)
  end
  for _, known in ipairs(names()) do
    lines[#lines + 1] = ('  :Citewell %-8s %s'):format(known, M.subcommands[known].help)
  end
  require('citewell.messages').open_window('commands', table.concat(lines, '\n'))
end

--- Completion of subcommands and of their arguments.
---@param head string
---@param line string
---@return string[]
function M.complete(head, line)
  local name = line:match('Citewell!?%s+(%S+)%s')
  if not name then
    return beginning(head, names())
  end
  local subcommand = M.subcommands[name]
  return subcommand and subcommand.complete and subcommand.complete(head) or {}
end

return M
