--- Citewell for Neovim: a language server that finds and inserts citations of real papers.
---
--- Nothing needs to be called: the server starts with the first LaTeX or Markdown file. `setup` takes
--- other settings than the defaults.
local M = {}

local config = require('citewell.config')

local begun = false
local told_old = false

--- True where the plugin works; tells the author where it does not.
---@return boolean
function M.is_possible()
  if vim.fn.has('nvim-0.11') == 1 then
    return true
  end
  if not told_old then
    told_old = true
    local version = vim.version()
    local here = ('%d.%d.%d'):format(version.major, version.minor, version.patch)
    -- Nothing of the plugin's own: `tell` needs a newer Neovim, too.
    local text = ('Citewell needs Neovim 0.11, this is %s. :help citewell-old'):format(here)
    vim.notify(text, vim.log.levels.WARN)
  end
  return false
end

local function on_attach(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  if client and client.name == 'citewell' then
    require('citewell.completion').attach(client, event.buf)
  end
end

local function on_detach(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  if client and client.name == 'citewell' then
    require('citewell.completion').detach(client, event.buf)
  end
end

local function apply()
  local given = config.get()
  if given.settings then
    vim.lsp.config('citewell', { settings = { citewell = given.settings } })
  end
  local group = vim.api.nvim_create_augroup('citewell', { clear = true })
  vim.api.nvim_create_autocmd('LspAttach', { group = group, callback = on_attach })
  vim.api.nvim_create_autocmd('LspDetach', { group = group, callback = on_detach })
  vim.lsp.enable('citewell')
  if vim.v.vim_did_enter == 0 then
    -- While Neovim starts, `vim.lsp.enable` looks at no buffer that is there already, and a
    -- FileType event that is under way does not run what it adds: `nvim paper.tex`.
    vim.api.nvim_create_autocmd('VimEnter', {
      group = group,
      once = true,
      callback = function()
        if config.get().enabled then
          vim.lsp.enable('citewell')
        end
      end,
    })
  end
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

--- The plugin was loaded, maybe after files of its types: serve these, too.
function M.begin_late()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local filetype = vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].filetype or ''
    if vim.tbl_contains(config.filetypes, filetype) then
      M.begin()
      return
    end
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
