-- Found by `vim.lsp.enable('citewell')` (Neovim 0.11 and later).

---@type vim.lsp.Config
return {
  cmd = require('citewell.server').launcher(),
  filetypes = require('citewell.config').filetypes,
  root_markers = { { 'citewell.toml', '.latexmkrc', '_quarto.yml' }, '.git' },
  settings = { citewell = vim.empty_dict() },
  -- In normal mode the cursor is on the last typed character, not after it.
  capabilities = { experimental = { citewell = { cursorOnCharacter = true } } },
  before_init = function(params, config)
    -- Neovim sends the settings later, but the server's capabilities depend on some of them.
    local settings = (config.settings or {}).citewell
    if params.initializationOptions == nil and settings and next(settings) then
      params.initializationOptions = { citewell = settings }
    end
  end,
  handlers = {
    ['window/showMessage'] = function(...)
      return require('citewell.server').on_show_message(...)
    end,
  },
  on_init = function(client)
    require('citewell.server').on_init(client)
  end,
}
