-- Found by `vim.lsp.enable('citewell')` (Neovim 0.11 and later).
return {
  cmd = { 'citewell', 'lsp' },
  filetypes = { 'tex', 'plaintex', 'bib', 'markdown', 'quarto', 'rmd' },
  root_markers = { { 'citewell.toml', '.latexmkrc', '_quarto.yml' }, '.git' },
  settings = { citewell = vim.empty_dict() },
}
