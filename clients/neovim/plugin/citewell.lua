if vim.g.loaded_citewell then
  return
end
vim.g.loaded_citewell = true

vim.api.nvim_create_user_command('CitewellRestart', function()
  require('citewell').restart()
end, { desc = 'Restart the Citewell language server' })
