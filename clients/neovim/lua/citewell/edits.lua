--- Edits from the server: none is applied to a text that is newer than the edit, and files without
--- other changes are saved with the document that the author saves.
local M = {}

---@class citewell.Edited A file with an unsaved edit.
---@field tick? integer The text's changedtick after the edit; nil if it had other unsaved changes before.
---@field root? string The root folder of the client.

---@type table<integer, citewell.Edited> Files edited while the author was in another one, by buffer.
local edited = {}

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

--- The buffers of an edit, those of files that exist with their text.
---@param edit lsp.WorkspaceEdit
---@return integer[]
local function buffers_of(edit)
  local found = {}
  for _, change in ipairs(edit.documentChanges or {}) do
    local uri = change.kind == 'create' and change.uri or change.textDocument and change.textDocument.uri
    if uri then
      local bufnr = vim.uri_to_bufnr(uri)
      if vim.fn.filereadable(vim.uri_to_fname(uri)) == 1 then
        vim.fn.bufload(bufnr)
      end
      if not vim.tbl_contains(found, bufnr) then
        table.insert(found, bufnr)
      end
    end
  end
  return found
end

--- Whether the text of a buffer has no line end after its last line: new and empty files, too.
---@param bufnr integer
---@return boolean
local function is_unended(bufnr)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, 2, false)
  return not vim.bo[bufnr].endofline or #lines == 0 or (#lines == 1 and lines[1] == '')
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

--- Have Neovim apply an edit, and remember which files have no other unsaved changes.
---@param edit lsp.WorkspaceEdit
---@param context lsp.HandlerContext
---@param apply fun(): any
---@return any
local function apply_edit(edit, context, apply)
  local buffers = buffers_of(edit)
  local unended = vim.tbl_filter(is_unended, buffers)
  local others = {}
  for _, bufnr in ipairs(buffers) do
    local before = edited[bufnr]
    local ours = before and before.tick == vim.api.nvim_buf_get_changedtick(bufnr)
    others[bufnr] = vim.bo[bufnr].modified and not ours
  end
  local answer = apply()
  vim.tbl_map(trim_end, unended)
  local client = vim.lsp.get_client_by_id(context.client_id)
  for bufnr, has_others in pairs(others) do
    if bufnr ~= vim.api.nvim_get_current_buf() then
      local tick = not has_others and vim.api.nvim_buf_get_changedtick(bufnr) or nil
      edited[bufnr] = { tick = tick, root = client and client.root_dir }
    end
  end
  return answer
end

--- Refuse an edit of an outdated text as a whole. Neovim itself skips only the first file of such an
--- edit, answers that all was applied, and applies the edits of the other files at wrong places.
---@param err lsp.ResponseError?
---@param params lsp.ApplyWorkspaceEditParams
---@param context lsp.HandlerContext
function M.on_apply_edit(err, params, context)
  local name = newer(params.edit)
  if not name then
    return apply_edit(params.edit, context, function()
      return vim.lsp.handlers['workspace/applyEdit'](err, params, context)
    end)
  end
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client then
    -- Neovim sends waiting changes before any notification: the server plans on the newer text.
    client:notify('$/setTrace', { value = 'off' })
  end
  return { applied = false, failureReason = name .. ' is newer than the edit' }
end

---@param err lsp.ResponseError?
---@param edit lsp.WorkspaceEdit?
---@param context lsp.HandlerContext
function M.on_rename(err, edit, context)
  return apply_edit(edit or {}, context, function()
    return vim.lsp.handlers['textDocument/rename'](err, edit, context)
  end)
end

--- Write a file that has no other changes, in Neovim or on disk.
---@param bufnr integer
---@return boolean
local function write(bufnr)
  if edited[bufnr].tick ~= vim.api.nvim_buf_get_changedtick(bufnr) then
    return false
  end
  local is_changed = false
  -- Without such a command Neovim asks what to do about a file that another program has written.
  local watch = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = bufnr,
    callback = function()
      is_changed = true
    end,
  })
  vim.cmd.checktime({ bufnr, mods = { silent = true } })
  vim.api.nvim_del_autocmd(watch)
  return not is_changed
    and pcall(vim.api.nvim_buf_call, bufnr, function()
      vim.cmd.write({ mods = { silent = true } })
    end)
end

--- After a document was written: write the files that only the server has changed, and name the others.
---@param saved integer Its buffer.
function M.save(saved)
  if vim.bo[saved].modified or not require('citewell.config').get().save then
    return
  end
  local roots = vim.tbl_map(function(client)
    return client.root_dir or ''
  end, vim.lsp.get_clients({ bufnr = saved, name = 'citewell' }))
  for bufnr, edit in pairs(edited) do
    if not vim.api.nvim_buf_is_valid(bufnr) or not vim.bo[bufnr].modified then
      edited[bufnr] = nil
    elseif vim.tbl_contains(roots, edit.root or '') and not write(bufnr) then
      -- `:wall` may be about to write it.
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(bufnr) and vim.bo[bufnr].modified then
          local name = vim.fs.basename(vim.api.nvim_buf_get_name(bufnr))
          local text = '%s is not saved: it has other changes, too (:wall writes all files)'
          require('citewell.messages').notify(text:format(name), vim.log.levels.WARN)
        end
      end)
    end
  end
end

return M
