-- Found by `vim.lsp.enable('citewell')` (Neovim 0.11 and later).

---@type vim.lsp.Config
return {
  cmd = require('citewell.server').launcher(),
  filetypes = require('citewell.config').filetypes,
  root_markers = { { 'citewell.toml', '.latexmkrc', '_quarto.yml' }, '.git' },
  settings = { citewell = vim.empty_dict() },
  -- In normal mode the cursor stands on the last letter of what was typed, not behind it.
  capabilities = { experimental = { citewell = { cursorOnCharacter = true } } },
  before_init = function(params, config)
    -- Neovim tells a server its settings later; what it offers at all depends on some.
    local settings = (config.settings or {}).citewell
    if params.initializationOptions == nil and settings and next(settings) then
      params.initializationOptions = { citewell = settings }
    end
  end,
  handlers = {
    ['window/showMessage'] = function(...)
      return require('citewell.server').tell(...)
    end,
  },
  on_init = function(client)
    require('citewell.server').greet(client)
  end,
}
