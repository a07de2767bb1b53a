--- Keeps Neovim's built-in completion active while words are typed into a placeholder.
---
--- Neovim requests completion at each keystroke only while its menu is open. A letter typed before the
--- previous list arrives closes the menu, and no request would follow until the next space; that list,
--- for fewer letters, would be shown.
local M = {}

local PAUSE = 40 -- milliseconds, so that Neovim's own request goes first

-- Patterns of the text before a cursor in an open placeholder or citation.
local open = {
  [[\%a*[cC]it%a*%*?[%[%]%w%s.~,:;%-]*<[^<>]*$]],
  [[\%a*[cC]it%a*%*?[%[%]%w%s.~,:;%-]*{[^{}]*$]],
  -- The second group of `\parencites{a}{b`.
  [[\%a*[cC]it%a*s%*?[{}()%[%]%w%s.~,:;%-]*[%]})]{[^{}]*$]],
  '%[[^%[%]]*@[^%[%]]*$',
  -- A key without brackets, but no address of mail.
  '^@[%w_]%S*$',
  '[^%w\\]@[%w_]%S*$',
}

---@param head string
---@return boolean
function M.is_open(head)
  for _, pattern in ipairs(open) do
    if head:sub(-400):find(pattern) then
      return true
    end
  end
  return false
end

---@type table<integer, boolean> Whether an item was accepted and nothing typed since, by buffer.
local accepted = {}

---@type table<integer, table<integer, integer>> The text's changedtick at each pending request, by client.
local pending = {}

---@param client_id integer
---@return boolean
local function has_pending(client_id)
  return next(pending[client_id] or {}) ~= nil
end

---@param bufnr integer
---@return string
local function group_of(bufnr)
  return ('citewell.typing.%d'):format(bufnr)
end

---@param bufnr integer
function M.detach(bufnr)
  accepted[bufnr] = nil
  pcall(vim.api.nvim_del_augroup_by_name, group_of(bufnr))
end

--- Request a list after a pause, unless the text has changed until then.
---@param client vim.lsp.Client
---@param bufnr integer
---@param outdated boolean Whether a list that is shown is for an earlier text.
local function request_later(client, bufnr, outdated)
  local tick = vim.api.nvim_buf_get_changedtick(bufnr)
  vim.defer_fn(function()
    if
      accepted[bufnr]
      or vim.api.nvim_get_current_buf() ~= bufnr
      or vim.api.nvim_buf_get_changedtick(bufnr) ~= tick
      or has_pending(client.id)
    then
      return
    end
    local column = vim.api.nvim_win_get_cursor(0)[2]
    if not M.is_open(vim.api.nvim_get_current_line():sub(1, column)) then
      return
    end
    local mode = vim.api.nvim_get_mode().mode
    local closed = mode == 'i' and vim.fn.pumvisible() == 0
    -- A list from which the author is choosing stays.
    local replaced = outdated and mode == 'ic' and vim.fn.complete_info({ 'selected' }).selected < 0
    if closed or replaced then
      vim.lsp.completion.get()
    end
  end, PAUSE)
end

--- Have blink.cmp request a list after a space in an open placeholder, where it closes the list by default.
---@param bufnr integer
function M.attach_blink(bufnr)
  vim.api.nvim_create_autocmd('TextChangedI', {
    group = vim.api.nvim_create_augroup(group_of(bufnr), { clear = true }),
    buffer = bufnr,
    callback = vim.schedule_wrap(function()
      local column = vim.api.nvim_win_get_cursor(0)[2]
      local head = vim.api.nvim_get_current_line():sub(1, column)
      if vim.api.nvim_get_current_buf() == bufnr and head:sub(-1) == ' ' and M.is_open(head) then
        local is_loaded, trigger = pcall(require, 'blink.cmp.completion.trigger')
        if is_loaded then
          -- `require('blink.cmp').show()` would also show a menu that the author has switched off.
          pcall(trigger.show, { trigger_kind = 'trigger_character', trigger_character = ' ' })
        end
      end
    end),
  })
end

---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  local group = vim.api.nvim_create_augroup(group_of(bufnr), { clear = true })
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    buffer = bufnr,
    callback = function(event)
      local request = event.data.request
      if event.data.client_id == client.id and request.method == 'textDocument/completion' then
        local requests = pending[client.id] or {}
        local tick = vim.api.nvim_buf_get_changedtick(bufnr)
        local before = requests[event.data.request_id]
        requests[event.data.request_id] = request.type == 'pending' and tick or nil
        pending[client.id] = requests
        if request.type == 'complete' and before and before ~= tick then
          request_later(client, bufnr, true)
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd('CompleteDone', {
    group = group,
    buffer = bufnr,
    callback = function()
      accepted[bufnr] = next(vim.v.completed_item) ~= nil
    end,
  })
  vim.api.nvim_create_autocmd('InsertCharPre', {
    group = group,
    buffer = bufnr,
    callback = function()
      accepted[bufnr] = nil
    end,
  })
  vim.api.nvim_create_autocmd('TextChangedI', {
    group = group,
    buffer = bufnr,
    callback = function()
      request_later(client, bufnr, false)
    end,
  })
end

return M
