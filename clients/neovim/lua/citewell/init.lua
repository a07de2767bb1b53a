--- Citewell for Neovim: a language server that finds and inserts citations of real papers.
---
--- With Neovim 0.11 and later nothing more is needed than `vim.lsp.enable('citewell')`;
--- `setup()` does that and turns on the built-in completion as you type.
local M = {}

---@class citewell.Config
---@field cmd? string[] How to start the server. Default: { 'citewell', 'lsp' }.
---@field settings? table Server settings, as under "citewell" in docs/settings.md.
---@field completion? boolean Use Neovim's own completion as you type. Default: true. Set it to
---false when a completion plugin (nvim-cmp, blink.cmp) does that.

---@param bufnr integer
---@param client_id integer
local function complete_as_you_type(bufnr, client_id)
  vim.lsp.completion.enable(true, client_id, bufnr, { autotrigger = true })
end

---@param config? citewell.Config
function M.setup(config)
  config = config or {}
  if vim.fn.has('nvim-0.11') == 0 then
    vim.notify('Citewell needs Neovim 0.11 or later; see :help citewell-old', vim.log.levels.ERROR)
    return
  end
  local override = {}
  if config.cmd then
    override.cmd = config.cmd
  end
  if config.settings then
    override.settings = { citewell = config.settings }
  end
  if next(override) then
    vim.lsp.config('citewell', override)
  end
  if config.completion ~= false then
    vim.api.nvim_create_autocmd('LspAttach', {
      group = vim.api.nvim_create_augroup('citewell', { clear = true }),
      callback = function(event)
        local client = vim.lsp.get_client_by_id(event.data.client_id)
        if client and client.name == 'citewell' then
          complete_as_you_type(event.buf, client.id)
        end
      end,
    })
  end
  vim.lsp.enable('citewell')
end

--- Stop the running server and start it anew for the buffers that use it.
function M.restart()
  vim.lsp.enable('citewell', false) -- also stops the clients
  vim.defer_fn(function()
    vim.lsp.enable('citewell')
  end, 500)
end

return M
