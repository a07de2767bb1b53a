--- Citewell for Neovim: a language server that finds and inserts citations of real papers.
---
--- Calling `setup` is optional: the server starts with the first LaTeX or Markdown file. `setup` changes
--- the defaults.
local M = {}

local config = require('citewell.config')

local is_started = false
local has_warned = false

--- Whether this Neovim can run the plugin; if not, warns once.
---@return boolean
function M.is_supported()
  if vim.fn.has('nvim-0.11') == 1 then
    return true
  end
  if not has_warned then
    has_warned = true
    local version = vim.version()
    local here = ('%d.%d.%d'):format(version.major, version.minor, version.patch)
    -- Not through `citewell.messages`, which needs a newer Neovim as well.
    local text = ('Citewell needs Neovim 0.11; this is %s. :help citewell-old'):format(here)
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
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = group,
    nested = true, -- for the autocommands of the files that are written, too
    callback = function(event)
      require('citewell.edits').save(event.buf)
    end,
  })
  vim.lsp.enable('citewell')
  if vim.v.vim_did_enter == 0 then
    -- During startup (`nvim paper.tex`), `vim.lsp.enable` ignores existing buffers, and autocommands
    -- that it adds do not run for the current FileType event.
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

--- Set the configuration and enable the server. Optional.
---@param given? citewell.Config
function M.setup(given)
  if not M.is_supported() then
    return
  end
  config.set(given)
  if config.get().enabled then
    is_started = true
    apply()
  elseif is_started then
    is_started = false
    vim.lsp.enable('citewell', false)
  end
end

--- Enable the server when a file of a supported type is opened; report what is missing.
function M.start()
  if not config.get().enabled or not M.is_supported() then
    return
  end
  require('citewell.server').report_missing()
  if not is_started then
    is_started = true
    apply()
  end
end

--- Enable the server for files that were opened before the plugin was loaded.
function M.start_for_open_buffers()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local filetype = vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].filetype or ''
    if vim.tbl_contains(config.filetypes, filetype) then
      M.start()
      return
    end
  end
end

--- Restart the server for the buffers that use it.
function M.restart()
  require('citewell.server').restart()
end

--- Search for a paper and cite the chosen one at the cursor.
---@param opts? citewell.FindOptions
function M.find(opts)
  require('citewell.find').find(opts)
end

--- Search the literature in passes, and cite the chosen papers in one citation at the cursor.
---@param opts? citewell.ExploreOptions
function M.explore(opts)
  require('citewell.explore').explore(opts)
end

--- Fill every placeholder of the current file where the confidence suffices.
function M.fill()
  require('citewell.actions').fill()
end

--- Check the references of the current file and list the problems.
---@param opts? { online?: boolean }
function M.check(opts)
  require('citewell.actions').check(opts)
end

return M
