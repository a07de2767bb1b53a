--- Messages to the author, each cut to one line so that Neovim never prompts to "Press ENTER".
---
--- The full text of every message is kept and shown by `:Citewell messages`. A plugin that
--- replaces `vim.notify` receives the full text.
local M = {}

local levels = vim.log.levels

local PREFIX = 'Citewell: '
local MORE = ' (:Citewell messages)'
local AT_LEAST = 1500 -- milliseconds that a line is shown before the next one replaces it
local AGAIN = 200 -- milliseconds between checks whether the command line is free
local KEPT = 200
local RECENT = 600000 -- milliseconds in which a repeated server message is suppressed

local groups = { [levels.ERROR] = 'ErrorMsg', [levels.WARN] = 'WarningMsg' }

---@class citewell.Message
---@field text string
---@field level integer

---@type citewell.Message[] All messages, oldest first.
local history = {}
---@type citewell.Message[] Messages not shown yet.
local waiting = {}
---@type table<string, true>
local once = {}
---@type table<string, integer>
local recent = {}
local is_running = false
local free_at = 0

--- Whether a function of `vim`, such as `vim.notify`, is Neovim's own rather than a plugin's.
---@param call function
---@return boolean
function M.is_builtin(call)
  local source = debug.getinfo(call, 'S').source
  return vim.startswith(source, '@vim/') or vim.startswith(source, '@' .. vim.env.VIMRUNTIME)
end

--- Number of cells available for one line: fewer than the screen has columns, because 'showcmd' and
--- 'ruler' share the line.
---@return integer
local function room()
  return math.max(20, vim.v.echospace)
end

--- A text truncated between words to a number of cells.
---@param text string
---@param cells integer
---@return string
function M.truncate(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then
    return text
  end
  local fits = vim.fn.strcharpart(text, 0, cells - 1)
  while vim.fn.strdisplaywidth(fits) > cells - 1 do
    fits = vim.fn.strcharpart(fits, 0, vim.fn.strcharlen(fits) - 1)
  end
  return (fits:match('^(.*%S)%s+%S*$') or fits) .. '…'
end

--- The line shown for a message. If its first line summarizes the rest, only that line.
---@param text string
---@return string
function M.line(text)
  local first = text:match('^([^\n]+)\n')
  if first and vim.fn.strdisplaywidth(PREFIX .. first .. MORE) <= room() then
    return PREFIX .. first .. MORE
  end
  local flat = vim.trim((text:gsub('%s+', ' ')))
  if vim.fn.strdisplaywidth(PREFIX .. flat) <= room() then
    return PREFIX .. flat
  end
  return M.truncate(PREFIX .. flat, room() - #MORE) .. MORE
end

---@param text string
---@param group? string
---@param keep boolean Whether to add it to |:messages|.
local function echo(text, group, keep)
  -- Without a redraw, a second line scrolls the screen, and Neovim prompts for a key.
  vim.cmd.redraw()
  vim.api.nvim_echo({ { text, group } }, keep, {})
end

---@return boolean
local function is_free()
  local mode = vim.api.nvim_get_mode()
  return vim.v.vim_did_enter == 1
    and not mode.blocking
    and not vim.tbl_contains({ 'c', 'r', '!' }, mode.mode:sub(1, 1))
end

local function show_next()
  if #waiting == 0 then
    is_running = false
    return
  end
  local wait = is_free() and free_at - vim.uv.now() or AGAIN
  if wait > 0 then
    vim.defer_fn(show_next, wait)
    return
  end
  local message = table.remove(waiting, 1)
  echo(M.line(message.text), groups[message.level], true)
  free_at = vim.uv.now() + AT_LEAST
  vim.defer_fn(show_next, AT_LEAST)
end

--- Show a message. What does not fit into one line is in `:Citewell messages`.
---@param text string
---@param level? integer
function M.notify(text, level)
  level = level or levels.INFO
  history[#history + 1] = { text = text, level = level }
  if #history > KEPT then
    table.remove(history, 1)
  end
  if not M.is_builtin(vim.notify) then
    vim.schedule(function()
      vim.notify(PREFIX .. text, level)
    end)
    return
  end
  waiting[#waiting + 1] = history[#history]
  if not is_running then
    is_running = true
    vim.schedule(show_next)
  end
end

--- Show a message unless it was shown since Neovim started.
---@param text string
---@param level? integer
function M.notify_once(text, level)
  if not once[text] then
    once[text] = true
    M.notify(text, level)
  end
end

--- Show a message unless it was shown recently: a restarted server repeats its messages.
---@param text string
---@param level? integer
function M.notify_recent(text, level)
  local now = vim.uv.now()
  local before = recent[text]
  recent[text] = now
  if not before or now - before > RECENT then
    M.notify(text, level)
  end
end

--- Show progress until the next line replaces it.
---@param text string
---@return boolean is_shown False while a message is shown or the author types a command.
function M.progress(text)
  if not M.is_builtin(vim.notify) then
    return true
  end
  if #waiting > 0 or not is_free() or vim.uv.now() < free_at then
    return false
  end
  echo(M.truncate(PREFIX .. text, room()), nil, false)
  return true
end

--- Show a progress line every second, with the seconds elapsed. Returns a function that ends it and
--- one that shows the line at once. `text` may be a function that returns the current stage.
---@param text string|fun(): string
---@return fun() stop
---@return fun() show
function M.progress_while(text)
  local began, is_over = vim.uv.now(), false
  local function show()
    if is_over then
      return true
    end
    local words = type(text) == 'function' and text() or text
    local seconds = math.floor((vim.uv.now() - began) / 1000)
    if seconds > 0 then
      words = ('%s, %d s'):format(words, seconds)
    end
    return M.progress(words --[[@as string]])
  end
  local function step()
    if not is_over then
      vim.defer_fn(step, show() and 1000 or AGAIN)
    end
  end
  vim.schedule(step)
  return function()
    is_over = true
  end, vim.schedule_wrap(show)
end

--- Show a text of several lines in a split, which q or |:quit| closes.
---@param title string
---@param text string
function M.open_window(title, text)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(vim.trim(text), '\n', { plain = true }))
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].modifiable = false
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, bufnr)
  vim.api.nvim_buf_set_name(bufnr, ('citewell://%s/%d'):format(title, bufnr))
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'Close this window' })
  local here = { scope = 'local', win = 0 }
  vim.api.nvim_set_option_value('wrap', true, here)
  vim.api.nvim_set_option_value('linebreak', true, here)
  local height = vim.api.nvim_win_text_height(0, {}).all
  vim.api.nvim_win_set_height(0, math.max(1, math.min(height, math.floor(vim.o.lines / 2))))
end

--- The full text of all messages.
---@return string
function M.history()
  return table.concat(
    vim.tbl_map(function(message)
      return message.text
    end, history),
    '\n'
  )
end

--- `:Citewell messages`
function M.show_history()
  if #history == 0 then
    M.notify('no messages yet')
    return
  end
  M.open_window('messages', M.history())
end

return M
