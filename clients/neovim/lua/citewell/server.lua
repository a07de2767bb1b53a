--- The server's program: where it is, whether it is new enough, and messages if it is not.
local M = {}

--- The oldest server that supports all requests of this plugin.
M.oldest = '0.1.0'

local windows = vim.fn.has('win32') == 1
local levels = vim.log.levels

-- A server that crashes more than TRIES times within WITHIN milliseconds is not restarted.
local TRIES, WITHIN = 3, 180000

---@class citewell.Launch One run of the server's program.
---@field is_ready? boolean The server is initialized.
---@field is_stopping? boolean The plugin is stopping the server.

---@type table<vim.lsp.rpc.PublicClient, citewell.Launch>
local launches = setmetatable({}, { __mode = 'k' })
---@type integer[] Times of recent crashes.
local failures = {}

---@param text string
---@param level? integer
local function notify(text, level)
  require('citewell.messages').notify(text, level)
end

--- Folders to search for the program: PATH, and where installers put programs.
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

--- The path of the program `citewell`; nil if it is in none of the folders.
---@param places string[]
---@return string?
local function program_in(places)
  for _, folder in ipairs(places) do
    local path = folder == '' and 'citewell' or vim.fs.joinpath(folder, 'citewell')
    if vim.fn.executable(path) == 1 then
      return path
    end
  end
end

--- The command that starts the server: `cmd`, else the program of the active Python environment, of
--- `:Citewell install`, on PATH, or in the folders of installers.
---@return string[]
function M.command()
  local given = require('citewell.config').get().cmd
  if given and given[1] then
    return given
  end
  local places = folders()
  if vim.env.VIRTUAL_ENV then
    local program = program_in({ table.remove(places, 1) })
    if program then
      return { program, 'lsp' }
    end
  end
  local python = require('citewell.install').python()
  if vim.fn.executable(python) == 1 then
    return { python, '-P', '-m', 'citewell', 'lsp' }
  end
  return { program_in(places) or 'citewell', 'lsp' }
end

--- The `cmd` of the language client; the bare command while the program does not exist.
---@return string[]|fun(dispatchers: vim.lsp.rpc.Dispatchers, config: vim.lsp.ClientConfig): table
function M.launcher()
  local command = M.command()
  if vim.fn.executable(command[1]) == 0 then
    return command
  end
  return function(dispatchers, config)
    local launch = {}
    local on_exit = dispatchers.on_exit
    dispatchers.on_exit = function(code, signal)
      M.on_exit(code, signal, launch)
      -- Neovim's own message about an exit code takes more than one line.
      on_exit(0, 0)
    end
    local options = { cwd = config.cmd_cwd, env = config.cmd_env, detached = config.detached }
    local rpc = vim.lsp.rpc.start(command, dispatchers, options)
    launches[rpc] = launch
    return rpc
  end
end

--- A command line of the server's program, such as `citewell --version`.
---@param arguments string[]
---@return string[]
function M.cli(arguments)
  local cmd = vim.deepcopy(M.command())
  if cmd[#cmd] == 'lsp' then
    cmd[#cmd] = nil
  end
  return vim.list_extend(cmd, arguments)
end

--- Why the server cannot be started, with hints; nil if it can.
---@return string? message
---@return string[] hints
function M.missing()
  local program = M.command()[1]
  if vim.fn.executable(program) == 1 then
    return nil, {}
  end
  if require('citewell.config').get().cmd then
    local hint = 'correct `cmd` in setup(), or remove it to search for the server'
    return ('`cmd` names `%s`, which is not a program'):format(program), { hint }
  end
  local hints = require('citewell.install').hints()
  hints[#hints + 1] =
    "if it is somewhere else: require('citewell').setup({ cmd = { '/path/to/citewell', 'lsp' } })"
  return 'the server is missing', hints
end

--- Report a missing server; true if it is missing.
---@param again? boolean Repeat the message if it was shown before.
---@return boolean
function M.report_missing(again)
  local message, hints = M.missing()
  if not message then
    return false
  end
  local text = ('%s; %s'):format(message, hints[1])
  local messages = require('citewell.messages')
  if again then
    messages.notify(text, levels.ERROR)
  else
    messages.notify_once(text, levels.WARN)
  end
  return true
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
  local hint = require('citewell.install').upgrade()
  return ('server %s is older than %s: %s'):format(version, M.oldest, hint)
end

--- Show a message of the server; if it names a shell command, put the Neovim command before it.
---@param _ lsp.ResponseError?
---@param message { type: integer, message: string }
function M.on_show_message(_, message)
  local text = message.message:gsub('^Citewell: ', '')
  if text:find('`citewell library add', 1, true) then
    text = ':Citewell library. ' .. text
  end
  local levels_of_type = { levels.ERROR, levels.WARN, levels.INFO, levels.DEBUG, levels.DEBUG }
  local level = levels_of_type[message.type] or levels.INFO
  if level == levels.DEBUG then
    return message
  elseif level == levels.INFO then
    notify(text, level)
  else
    -- A restarted server repeats its messages.
    require('citewell.messages').notify_recent(text, level)
  end
  return message
end

--- Check the version of an initialized server.
---@param client vim.lsp.Client
function M.on_init(client)
  if launches[client.rpc] then
    launches[client.rpc].is_ready = true
  end
  local version = client.server_info and client.server_info.version or '0'
  if M.is_old(version) then
    require('citewell.messages').notify_once(M.too_old(version), levels.WARN)
  end
end

--- Start the server for its buffers, once the stopping clients have exited.
---@param wanted? fun()
local function start(wanted)
  local tries = 0
  local function try()
    tries = tries + 1
    local present = vim.lsp.get_clients({ name = 'citewell', _uninitialized = true })
    if #present > 0 and tries < 50 then
      vim.defer_fn(try, 50)
      return
    end
    for _, client in ipairs(present) do
      client:stop(true)
    end
    if wanted then
      wanted()
    end
    vim.lsp.enable('citewell')
  end
  try()
end

--- Restart a server that crashed, up to TRIES times.
---@param code integer
---@param signal integer
---@param launch citewell.Launch
function M.on_exit(code, signal, launch)
  local is_asked = launch.is_stopping or signal == 15 or (code == 0 and signal == 0)
  if is_asked or vim.v.exiting ~= vim.NIL then
    return
  end
  vim.schedule(function()
    local how = signal ~= 0 and 'signal ' .. signal or 'code ' .. code
    if not launch.is_ready then
      local text = 'the server does not start (%s): :checkhealth citewell'
      require('citewell.messages').notify_once(text:format(how), levels.ERROR)
      return
    end
    local now = vim.uv.now()
    failures = vim.tbl_filter(function(time)
      return now - time < WITHIN
    end, failures)
    failures[#failures + 1] = now
    if #failures > TRIES then
      notify(('the server ended %d times: :Citewell log, :Citewell restart'):format(#failures), levels.ERROR)
    elseif vim.lsp.is_enabled('citewell') then
      start(function()
        notify(('the server ended (%s) and was started again'):format(how), levels.WARN)
      end)
    end
  end)
end

--- Stop the running server, and do something once it is gone.
---@param between? fun()
function M.restart_with(between)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'citewell' })) do
    if launches[client.rpc] then
      launches[client.rpc].is_stopping = true
    end
  end
  failures = {}
  vim.lsp.enable('citewell', false) -- also stops the clients
  start(between)
end

--- Stop the server and start it again; a program that was installed meanwhile is found.
function M.restart()
  if not M.report_missing(true) then
    M.restart_with()
  end
end

return M
