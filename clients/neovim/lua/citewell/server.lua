--- The server's program: where it is, whether it is new enough, and what to say when it is not.
local M = {}

--- The oldest server that knows all that this plugin asks for.
M.oldest = '0.1.0'

local windows = vim.fn.has('win32') == 1

---@type table<integer, true>
local stopping = {}

--- Folders beside PATH in which installers put programs.
---@return string[]
local function folders()
  local found = {}
  if vim.env.VIRTUAL_ENV then
    found[1] = vim.fs.joinpath(vim.env.VIRTUAL_ENV, windows and 'Scripts' or 'bin')
  end
  found[#found + 1] = '' -- PATH
  found[#found + 1] = vim.env.UV_TOOL_BIN_DIR
  found[#found + 1] = vim.env.PIPX_BIN_DIR
  found[#found + 1] = vim.fs.joinpath(vim.fn.expand('~'), '.local', 'bin')
  found[#found + 1] = vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'mason', 'bin')
  return found
end

--- The program `citewell`; its bare name when it is nowhere.
---@return string
function M.program()
  local given = require('citewell.config').get().cmd
  if given and given[1] then
    return given[1]
  end
  for _, folder in ipairs(folders()) do
    local path = folder == '' and 'citewell' or vim.fs.joinpath(folder, 'citewell')
    if vim.fn.executable(path) == 1 then
      return path
    end
  end
  return 'citewell'
end

--- How the server is started.
---@return string[]
function M.command()
  return require('citewell.config').get().cmd or { M.program(), 'lsp' }
end

--- A command of the same program, such as `citewell --version`.
---@param arguments string[]
---@return string[]
function M.cli(arguments)
  local cmd = vim.deepcopy(M.command())
  if cmd[#cmd] == 'lsp' then
    cmd[#cmd] = nil
  end
  return vim.list_extend(cmd, arguments)
end

--- How the server is installed here, best first.
---@return string[]
function M.install_hints()
  local found = {}
  if vim.fn.executable('uv') == 1 then
    found[#found + 1] = "uv tool install 'citewell[starter]'"
  end
  if vim.fn.executable('pipx') == 1 then
    found[#found + 1] = "pipx install 'citewell[starter]'"
  end
  local python = vim.fn.executable('python3') == 1 or vim.fn.executable('python') == 1
  if #found == 0 and python then
    found[#found + 1] = "python3 -m pip install --user 'citewell[starter]' (Python 3.11 or newer)"
  end
  if #found == 0 then
    found[#found + 1] = 'install uv (https://docs.astral.sh/uv), which brings its own Python, then: '
      .. "uv tool install 'citewell[starter]'"
  end
  return found
end

--- What keeps the server from being started: a sentence and its cures; nil when nothing does.
---@return string? message
---@return string[] cures
function M.missing()
  local program = M.command()[1]
  if vim.fn.executable(program) == 1 then
    return nil, {}
  end
  if require('citewell.config').get().cmd then
    local cure = 'correct `cmd` in setup(), or leave it out: the server is then looked for'
    return ('`%s`, which `cmd` names, is no program'):format(program), { cure }
  end
  local cures = M.install_hints()
  cures[#cures + 1] =
    "if it is somewhere else: require('citewell').setup({ cmd = { '/path/to/citewell', 'lsp' } })"
  return 'the server is not installed', cures
end

--- Say once what is missing.
function M.tell_if_missing()
  local message, cures = M.missing()
  if message then
    local text = ('Citewell: %s. %s. Then :Citewell restart. More: :checkhealth citewell'):format(
      message,
      cures[1]:sub(1, 1):upper() .. cures[1]:sub(2)
    )
    vim.notify_once(text, vim.log.levels.WARN)
  end
end

--- Whether a version, such as "0.1.0", is older than what the plugin needs.
---@param version string
---@return boolean
function M.is_old(version)
  local ok, older = pcall(vim.version.lt, version, M.oldest)
  return ok and older
end

---@param version string
---@return string
function M.too_old(version)
  return table.concat({
    ('the server is version %s, and this plugin needs %s or newer.'):format(version, M.oldest),
    'Upgrade it, for instance with `uv tool upgrade citewell` or',
    '`python3 -m pip install --upgrade citewell`, then :Citewell restart',
  }, ' ')
end

--- Show a message of the server's; where it speaks of a command line, name what stands for it here.
---@param err? lsp.ResponseError
---@param message { type: integer, message: string }
---@param context table
function M.tell(err, message, context)
  if message and message.message:find('`citewell library add', 1, true) then
    message.message = message.message .. ' In Neovim: :Citewell library'
  end
  return vim.lsp.handlers['window/showMessage'](err, message, context)
end

--- A server answered: is it one that we know?
---@param client vim.lsp.Client
function M.greet(client)
  local version = client.server_info and client.server_info.version or '0'
  if M.is_old(version) then
    vim.notify_once('Citewell: ' .. M.too_old(version), vim.log.levels.WARN)
  end
end

--- A server ended. One that was not asked to has failed.
---@param code integer
---@param signal integer
---@param id integer
function M.mourn(code, signal, id)
  if stopping[id] or (code == 0 and signal == 0) or vim.v.exiting ~= vim.NIL then
    stopping[id] = nil
    return
  end
  vim.schedule(function()
    local how = signal ~= 0 and 'signal ' .. signal or 'code ' .. code
    local cure = ':Citewell log shows why; :Citewell restart starts it again'
    vim.notify(('Citewell: the server ended with %s. %s'):format(how, cure), vim.log.levels.ERROR)
  end)
end

--- Stop the server and start it again; a program that was installed meanwhile is found.
function M.restart()
  local message, cures = M.missing()
  if message then
    local text = ('Citewell: %s:\n- %s'):format(message, table.concat(cures, '\n- '))
    vim.notify(text, vim.log.levels.ERROR)
    return
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'citewell' })) do
    stopping[client.id] = true
  end
  vim.lsp.enable('citewell', false) -- also stops the clients
  local tries = 0
  local function start()
    tries = tries + 1
    if #vim.lsp.get_clients({ name = 'citewell' }) > 0 and tries < 50 then
      vim.defer_fn(start, 50)
      return
    end
    for _, client in ipairs(vim.lsp.get_clients({ name = 'citewell' })) do
      client:stop(true)
    end
    vim.lsp.enable('citewell')
  end
  start()
end

return M
