--- Lists the places that cite an entry, from the code lens above it.
local M = {}

---@param command lsp.Command
---@param context { client_id: integer, bufnr: integer }
function M.show(command, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  if not client then
    return
  end
  client:request('workspace/executeCommand', command, function(_, places)
    if type(places) ~= 'table' or #places == 0 then
      return
    end
    local items = vim.lsp.util.locations_to_items(places, client.offset_encoding)
    vim.fn.setqflist({}, ' ', { title = 'Citewell: ' .. command.title, items = items })
    vim.cmd('botright copen')
  end, context.bufnr)
end

return M
