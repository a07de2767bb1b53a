if vim.g.loaded_citewell then
  return
end
vim.g.loaded_citewell = true

vim.api.nvim_create_user_command('CitewellRestart', function()
  require('citewell').restart()
end, { desc = 'Restart the Citewell language server' })

-- The state of each citation, in the colours of your scheme; define the groups to have others.
for group, link in pairs({
  citationDefined = 'Identifier',
  citationUndefined = 'DiagnosticError',
  citationPlaceholder = 'Todo',
  citationUnused = 'Comment',
}) do
  vim.api.nvim_set_hl(0, '@lsp.type.' .. group, { link = link, default = true })
end

-- A code lens above an entry opens the list of the places that cite it.
if vim.lsp and vim.lsp.commands then
  vim.lsp.commands['citewell.showUses'] = function(command, context)
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
end
