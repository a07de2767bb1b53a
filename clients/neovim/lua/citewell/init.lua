--- Citewell for Neovim: a language server that finds and inserts citations of real papers.
---
--- Nothing needs to be called: the server starts with the first LaTeX or Markdown file. `setup` takes
--- other settings than the defaults.
local M = {}

local config = require('citewell.config')

local begun = false

---@param what string
local function need_newer(what)
  local version = vim.version()
  local here = ('%d.%d.%d'):format(version.major, version.minor, version.patch)
  vim.notify_once(
    ('Citewell: %s needs Neovim 0.11 or newer, and this is %s. See :help citewell-old'):format(what, here),
    vim.log.levels.WARN
  )
end

--- True where the plugin works; tells the author where it does not.
---@return boolean
function M.is_possible()
  if vim.fn.has('nvim-0.11') == 1 then
    return true
  end
  need_newer('the plugin')
  return false
end

---@return boolean
local function completes_itself()
  local wanted = config.get().completion
  if wanted ~= nil then
    return wanted
  end
  return not (package.loaded['cmp'] or package.loaded['blink.cmp'])
end

local function on_attach(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  if client and client.name == 'citewell' and completes_itself() then
    vim.lsp.completion.enable(true, client.id, event.buf, { autotrigger = true })
    require('citewell.typing').attach(client, event.buf)
  end
end

local function apply()
  local given = config.get()
  local override = {}
  if given.cmd then
    override.cmd = given.cmd
  end
  if given.settings then
    override.settings = { citewell = given.settings }
  end
  if next(override) then
    vim.lsp.config('citewell', override)
  end
  vim.api.nvim_create_autocmd('LspAttach', {
    group = vim.api.nvim_create_augroup('citewell', { clear = true }),
    callback = on_attach,
  })
  vim.lsp.enable('citewell')
end

--- Take a configuration and enable the server. Optional: without it the defaults hold.
---@param given? citewell.Config
function M.setup(given)
  if not M.is_possible() then
    return
  end
  config.set(given)
  if config.get().enabled then
    begun = true
    apply()
  elseif begun then
    begun = false
    vim.lsp.enable('citewell', false)
  end
end

--- A file of a type that Citewell serves was opened: enable the server, once, or say what is missing.
function M.begin()
  if not config.get().enabled or not M.is_possible() then
    return
  end
  require('citewell.server').tell_if_missing()
  if not begun then
    begun = true
    apply()
  end
end

--- Stop the running server and start it anew for the buffers that use it.
function M.restart()
  require('citewell.server').restart()
end

--- Search for a paper and cite what is chosen where the cursor stands.
---@param opts? citewell.FindOptions
function M.find(opts)
  require('citewell.find').find(opts)
end

--- Fill every placeholder of the current file that is certain enough.
function M.fill()
  require('citewell.actions').fill()
end

--- Check the references of the current file and list what is wrong.
---@param opts? { online?: boolean }
function M.check(opts)
  require('citewell.actions').check(opts)
end

return M
