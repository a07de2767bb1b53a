-- Found by `vim.lsp.enable('citewell')` (Neovim 0.11 and later).

---@type vim.lsp.Config
return {
  cmd = require('citewell.server').launcher(),
  filetypes = require('citewell.config').filetypes,
  root_markers = { { 'citewell.toml', '.latexmkrc', '_quarto.yml' }, '.git' },
  settings = { citewell = vim.empty_dict() },
  capabilities = {
    -- Neovim takes such edits without saying so; they name the version that each file must have.
    workspace = { workspaceEdit = { documentChanges = true } },
    -- Edits of code actions come as `workspace/applyEdit`, which checks those versions.
    textDocument = { codeAction = { dataSupport = false } },
    -- In normal mode the cursor is on the last typed character, not after it.
    experimental = { citewell = { cursorOnCharacter = true } },
  },
  before_init = function(params, config)
    -- Neovim sends the settings later, but the server's capabilities depend on some of them.
    local settings = (config.settings or {}).citewell
    if params.initializationOptions == nil and settings and next(settings) then
      params.initializationOptions = { citewell = settings }
    end
  end,
  handlers = {
    ['workspace/applyEdit'] = function(...)
      return require('citewell.edits').on_apply_edit(...)
    end,
    ['textDocument/rename'] = function(...)
      return require('citewell.edits').on_rename(...)
    end,
    ['citewell/explored'] = function(...)
      return require('citewell.explore').on_explored(...)
    end,
    ['window/showMessage'] = function(...)
      return require('citewell.server').on_show_message(...)
    end,
  },
  on_init = function(client)
    require('citewell.server').on_init(client)
  end,
}
