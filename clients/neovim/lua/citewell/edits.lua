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

--- The buffers of an edit whose text has no line end after its last line: new and empty files, too.
---@param edit lsp.WorkspaceEdit
---@return integer[]
local function unended(edit)
  local found = {}
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind == 'create' then
      table.insert(found, vim.uri_to_bufnr(change.uri))
    elseif change.textDocument then
      local bufnr = vim.uri_to_bufnr(change.textDocument.uri)
      if vim.fn.filereadable(vim.uri_to_fname(change.textDocument.uri)) == 1 then
        vim.fn.bufload(bufnr)
      end
      local lines = vim.api.nvim_buf_get_lines(bufnr, 0, 2, false)
      if not vim.bo[bufnr].endofline or (#lines == 1 and lines[1] == '') then
        table.insert(found, bufnr)
      end
    end
  end
  return found
end

--- Remove the empty last line that an edit leaves in such a buffer: Neovim ends the last line itself
--- when it writes the file.
---@param bufnr integer
local function trim_end(bufnr)
  if not vim.bo[bufnr].fixendofline or vim.bo[bufnr].binary then
    return
  end
  local last = vim.api.nvim_buf_get_lines(bufnr, -3, -1, false)
  if #last == 2 and last[1] ~= '' and last[2] == '' then
    vim.api.nvim_buf_set_lines(bufnr, -2, -1, false, {})
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
    local buffers = unended(params.edit)
    local answer = vim.lsp.handlers[method](err, params, context)
    vim.tbl_map(trim_end, buffers)
    return answer
  end
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client then
    -- Neovim sends waiting changes before any notification: the server plans on the newer text.
    client:notify('$/setTrace', { value = 'off' })
  end
  return { applied = false, failureReason = name .. ' is newer than the edit' }
end

return M
