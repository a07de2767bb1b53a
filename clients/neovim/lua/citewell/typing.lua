--- Keeps Neovim's built-in completion active while words are typed into a placeholder.
---
--- Neovim requests completion at each keystroke only while its menu is open. A letter typed before the
--- previous list arrives closes the menu, and no request would follow until the next space.
local M = {}

local PAUSE = 40 -- milliseconds, so that Neovim's own request goes first

-- Patterns of the text before a cursor in an open placeholder or citation.
local open = {
  [[\%a*[cC]it%a*%*?[%[%]%w%s.~,:;%-]*<[^<>]*$]],
  [[\%a*[cC]it%a*%*?[%[%]%w%s.~,:;%-]*{[^{}]*$]],
  '%[[^%[%]]*@[^%[%]]*$',
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

---@type table<integer, table<integer, true>> Pending requests, by client.
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
  pcall(vim.api.nvim_del_augroup_by_name, group_of(bufnr))
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
        requests[event.data.request_id] = request.type == 'pending' or nil
        pending[client.id] = requests
      end
    end,
  })
  vim.api.nvim_create_autocmd('TextChangedI', {
    group = group,
    buffer = bufnr,
    callback = function()
      local column = vim.api.nvim_win_get_cursor(0)[2]
      if not M.is_open(vim.api.nvim_get_current_line():sub(1, column)) then
        return
      end
      local tick = vim.api.nvim_buf_get_changedtick(bufnr)
      vim.defer_fn(function()
        local same = vim.api.nvim_get_current_buf() == bufnr
          and vim.api.nvim_buf_get_changedtick(bufnr) == tick
          and vim.api.nvim_get_mode().mode == 'i'
        if same and vim.fn.pumvisible() == 0 and not has_pending(client.id) then
          vim.lsp.completion.get()
        end
      end, PAUSE)
    end,
  })
end

return M
