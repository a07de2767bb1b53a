--- The running server: the client of a buffer, and commands to it.
local M = {}

local levels = vim.log.levels

--- The client of a buffer; nil, with a message that gives the reason, if there is none.
---@param bufnr integer
---@return vim.lsp.Client?
function M.get(bufnr)
  if not require('citewell').is_supported() then
    return nil
  end
  local client = vim.lsp.get_clients({ name = 'citewell', bufnr = bufnr })[1]
  if client then
    return client
  end
  local notify = require('citewell.messages').notify
  if require('citewell.server').report_missing(true) then
    return nil
  elseif not vim.tbl_contains(require('citewell.config').filetypes, vim.bo[bufnr].filetype) then
    notify('not a LaTeX, Markdown or BibTeX file', levels.WARN)
  else
    notify('the server is not running in this buffer: :Citewell restart', levels.WARN)
  end
end

--- Whether a server supports a command; if not, a message suggests an upgrade.
---@param client vim.lsp.Client
---@param command string
---@return boolean
function M.supports(client, command)
  local provider = client.server_capabilities and client.server_capabilities.executeCommandProvider
  if provider and vim.tbl_contains(provider.commands or {}, command) then
    return true
  end
  local version = client.server_info and client.server_info.version or 'unknown'
  require('citewell.messages').notify(require('citewell.server').too_old(version), levels.ERROR)
  return false
end

--- Run a command of the server.
---@param client vim.lsp.Client
---@param command string
---@param arguments any[]
---@param handler fun(result: any, err?: lsp.ResponseError)
---@param bufnr? integer
---@return fun() cancel
function M.execute(client, command, arguments, handler, bufnr)
  if not M.supports(client, command) then
    handler(nil, nil)
    return function() end
  end
  local params = { command = command, arguments = arguments }
  local done = false
  local sent, id = client:request('workspace/executeCommand', params, function(err, result)
    done = true
    handler(result, err)
  end, bufnr)
  return function()
    if sent and id and not done then
      done = true
      client:cancel_request(id)
    end
  end
end

--- The byte column of an LSP position in its line.
---@param bufnr integer
---@param position lsp.Position
---@param encoding string
---@return integer
function M.byte_column(bufnr, position, encoding)
  local line = vim.api.nvim_buf_get_lines(bufnr, position.line, position.line + 1, false)[1] or ''
  local ok, column = pcall(vim.str_byteindex, line, encoding, position.character, false)
  return ok and column or #line
end

return M
