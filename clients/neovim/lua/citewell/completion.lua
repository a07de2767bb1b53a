--- Neovim's built-in completion in buffers with a server, with a 'completeopt' that inserts nothing on
--- its own.
local M = {}

-- Completion plugins, with the module that shows that they are loaded.
local engines = { ['blink.cmp'] = 'blink.cmp', ['nvim-cmp'] = 'cmp' }

---@type table<integer, { before: string, set: string }> What 'completeopt' was, and is, by buffer.
local options = {}

--- The completion plugin that is loaded; nil if none.
---@return string?
function M.engine()
  for name, module in pairs(engines) do
    if package.loaded[module] then
      return name
    end
  end
end

---@return boolean
function M.is_enabled()
  local wanted = require('citewell.config').get().completion
  if wanted ~= nil then
    return wanted
  end
  return M.engine() == nil
end

--- A value of 'completeopt' with which a list that opens during typing inserts nothing: the given one
--- with the needed flags added and those that insert text removed.
---@param value string
---@return string
function M.safe(value)
  local found = vim.tbl_filter(function(flag)
    return flag ~= '' and not vim.tbl_contains({ 'menu', 'menuone', 'longest', 'preinsert' }, flag)
  end, vim.split(value, ',', { plain = true }))
  table.insert(found, 1, 'menuone')
  if not (vim.tbl_contains(found, 'noselect') or vim.tbl_contains(found, 'noinsert')) then
    table.insert(found, 2, 'noselect')
  end
  return table.concat(found, ',')
end

--- The effective 'completeopt' of a buffer: its local value, or the global one if that is empty.
---@param bufnr integer
---@return string
function M.option(bufnr)
  local own = vim.api.nvim_get_option_value('completeopt', { buf = bufnr, scope = 'local' })
  return own ~= '' and own or vim.go.completeopt
end

--- Why the 'completeopt' of a buffer inserts text that the author did not choose; nil if it does not.
---@param bufnr integer
---@return string?
function M.problem(bufnr)
  local value = M.option(bufnr)
  local flags = vim.split(value, ',', { plain = true })
  if not (vim.tbl_contains(flags, 'noselect') or vim.tbl_contains(flags, 'noinsert')) then
    return ("'completeopt' is `%s`: it inserts the first item as soon as a list opens"):format(value)
  end
end

---@param bufnr integer
local function set_option(bufnr)
  if options[bufnr] then
    return
  end
  local value = M.option(bufnr)
  local safe = M.safe(value)
  if safe ~= value then
    local here = { buf = bufnr, scope = 'local' }
    options[bufnr] = { before = vim.api.nvim_get_option_value('completeopt', here), set = safe }
    vim.api.nvim_set_option_value('completeopt', safe, here)
  end
end

---@param bufnr integer
local function restore_option(bufnr)
  local kept = options[bufnr]
  options[bufnr] = nil
  if not kept or not vim.api.nvim_buf_is_valid(bufnr) then
    return
  end
  local here = { buf = bufnr, scope = 'local' }
  if vim.api.nvim_get_option_value('completeopt', here) == kept.set then
    vim.api.nvim_set_option_value('completeopt', kept.before, here)
  end
end

---@param bufnr integer
---@return string
local function group_of(bufnr)
  return ('citewell.completion.%d'):format(bufnr)
end

--- Enable completion in a buffer, unless another plugin completes.
---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  if not client:supports_method('textDocument/completion') then
    return
  end
  if M.engine() == 'blink.cmp' then
    require('citewell.typing').attach_blink(bufnr)
  end
  if not M.is_enabled() then
    return
  end
  set_option(bufnr)
  vim.lsp.completion.enable(true, client.id, bufnr, { autotrigger = true })
  require('citewell.typing').attach(client, bufnr)
  vim.api.nvim_create_autocmd('InsertEnter', {
    group = vim.api.nvim_create_augroup(group_of(bufnr), { clear = true }),
    buffer = bufnr,
    desc = 'Leave completion to a plugin that is loaded on InsertEnter',
    callback = function()
      if not M.is_enabled() then
        M.detach(client, bufnr)
        if M.engine() == 'blink.cmp' then
          require('citewell.typing').attach_blink(bufnr)
        end
      end
    end,
  })
end

--- Disable completion in a buffer and restore its options.
---@param client vim.lsp.Client
---@param bufnr integer
function M.detach(client, bufnr)
  pcall(vim.api.nvim_del_augroup_by_name, group_of(bufnr))
  require('citewell.typing').detach(bufnr)
  restore_option(bufnr)
  if vim.api.nvim_buf_is_valid(bufnr) then
    pcall(vim.lsp.completion.enable, false, client.id, bufnr)
  end
end

return M
