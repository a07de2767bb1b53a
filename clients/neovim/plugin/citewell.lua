if vim.g.loaded_citewell then
  return
end
vim.g.loaded_citewell = true

local filetypes = require('citewell.config').filetypes

vim.api.nvim_create_user_command('Citewell', function(call)
  require('citewell.command').run(call)
end, {
  nargs = '*',
  range = true,
  desc = 'Find, fill and check citations',
  complete = function(...)
    return require('citewell.command').complete(...)
  end,
})

vim.api.nvim_create_autocmd('FileType', {
  group = vim.api.nvim_create_augroup('citewell.start', { clear = true }),
  pattern = filetypes,
  desc = 'Start Citewell, or say why it cannot be started',
  callback = function()
    require('citewell').begin()
  end,
})

-- Loaded by a plugin manager at the first such file, or by `:packadd` after it: that file's event is
-- over. `setup()`, which may follow at once, comes first.
vim.schedule(function()
  require('citewell').begin_late()
end)

if vim.fn.has('nvim-0.11') == 0 then
  return
end

vim.keymap.set({ 'n', 'i' }, '<Plug>(citewell-find)', function()
  require('citewell').find()
end, { desc = 'Citewell: find a paper and cite it here' })
vim.keymap.set('x', '<Plug>(citewell-find)', ':Citewell find<CR>', {
  desc = 'Citewell: find a paper for the selected words',
  silent = true,
})
vim.keymap.set('n', '<Plug>(citewell-fill)', function()
  require('citewell').fill()
end, { desc = 'Citewell: fill the placeholders of the file' })

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
vim.lsp.commands['citewell.showUses'] = function(command, context)
  require('citewell.uses').show(command, context)
end
