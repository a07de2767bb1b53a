--- Edits from the server: none is applied to a text that is newer than the edit.
local M = {}

local method = 'workspace/applyEdit'

--- The name of a file that was changed after the edit was made; nil for none.
---@param edit lsp.WorkspaceEdit
---@return string?
local function newer(edit)
  for _, change in ipairs(edit.documentChanges or {}) do
    local document = change.textDocument
    local version = document and document.version
    if type(version) == 'number' then
      local bufnr = vim.uri_to_bufnr(document.uri)
      if vim.lsp.util.buf_versions[bufnr] > version then
        return vim.fs.basename(vim.uri_to_fname(document.uri))
      end
    end
  end
end

--- Refuse an edit of an outdated text as a whole. Neovim itself skips only the first file of such an
--- edit, answers that all was applied, and applies the edits of the other files at wrong places.
---@param err lsp.ResponseError?
---@param params lsp.ApplyWorkspaceEditParams
---@param context lsp.HandlerContext
function M.on_apply_edit(err, params, context)
  local name = newer(params.edit)
  if not name then
    return vim.lsp.handlers[method](err, params, context)
  end
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client then
    -- Neovim sends waiting changes before any notification: the server plans on the newer text.
    client:notify('$/setTrace', { value = 'off' })
  end
  return { applied = false, failureReason = name .. ' is newer than the edit' }
end

return M
