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
  desc = 'Start Citewell, or report why it cannot be started',
  callback = function()
    require('citewell').start()
  end,
})

-- A plugin manager may load the plugin after the FileType event of the first file. Scheduled, so that a
-- `setup()` call that follows at once runs first.
vim.schedule(function()
  require('citewell').start_for_open_buffers()
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
vim.keymap.set('n', '<Plug>(citewell-explore)', function()
  require('citewell').explore()
end, { desc = 'Citewell: search the literature in passes' })
vim.keymap.set('x', '<Plug>(citewell-explore)', ':Citewell explore<CR>', {
  desc = 'Citewell: search the literature for the selection',
  silent = true,
})
vim.keymap.set('n', '<Plug>(citewell-fill)', function()
  require('citewell').fill()
end, { desc = 'Citewell: fill the placeholders of the file' })

-- Default highlight links for the state of each citation; define the groups to override them.
for group, link in pairs({
  citationDefined = 'Identifier',
  citationUndefined = 'DiagnosticError',
  citationPlaceholder = 'Todo',
  citationUnused = 'Comment',
}) do
  vim.api.nvim_set_hl(0, '@lsp.type.' .. group, { link = link, default = true })
end

-- The code lens above an entry lists the places that cite it.
vim.lsp.commands['citewell.showUses'] = function(command, context)
  require('citewell.uses').show(command, context)
end
