-- Found by `vim.lsp.enable('citewell')` (Neovim 0.11 and later).

---@type vim.lsp.Config
return {
  cmd = require('citewell.server').command(),
  filetypes = require('citewell.config').filetypes,
  root_markers = { { 'citewell.toml', '.latexmkrc', '_quarto.yml' }, '.git' },
  settings = { citewell = vim.empty_dict() },
  -- In normal mode the cursor stands on the last letter of what was typed, not behind it.
  capabilities = { experimental = { citewell = { cursorOnCharacter = true } } },
  handlers = {
    ['window/showMessage'] = function(...)
      return require('citewell.server').tell(...)
    end,
  },
  on_init = function(client)
    require('citewell.server').greet(client)
  end,
  on_exit = function(code, signal, id)
    require('citewell.server').mourn(code, signal, id)
  end,
}
