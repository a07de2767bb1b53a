--- `:Citewell install`: a Python environment for the server, from the wheel or clone of the plugin.
local M = {}

-- Set to true once the package is on the Python package index: messages then name it, and it is
-- installed from there if the plugin has no wheel or clone.
local IS_PUBLISHED = false

local PACKAGE = 'citewell'
-- The starter library is a distribution of its own.
local STARTER = 'citewell-starter'
local MINUTES = 20
local MEANS = { 'uv', 'python3', 'python', 'python3.13', 'python3.12', 'python3.11', 'py' }

local windows = vim.fn.has('win32') == 1
local is_running = false

---@param text string
---@param level? integer
local function notify(text, level)
  require('citewell.messages').notify(text, level)
end

---@return string
local function folder()
  return vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'citewell', 'venv')
end

---@param environment string
---@return string
local function python_of(environment)
  local parts = windows and { 'Scripts', 'python.exe' } or { 'bin', 'python' }
  return vim.fs.joinpath(environment, unpack(parts))
end

--- The Python of the environment, which may not exist.
---@return string
function M.python()
  return python_of(folder())
end

--- The folder of the plugin, symbolic links resolved.
---@return string
local function plugin()
  local here = debug.getinfo(1, 'S').source:gsub('^@', '')
  local real = vim.uv.fs_realpath(here) or here
  return vim.fn.fnamemodify(real, ':p:h:h:h')
end

---@param folder_of string
---@param name string
---@return string?
local function newest(folder_of, name)
  local wheels = vim.fn.glob(vim.fs.joinpath(folder_of, 'wheel', name .. '-*.whl'), true, true)
  table.sort(wheels)
  return wheels[#wheels]
end

--- What to install: the requirements for pip, of the server and of the starter library, and a
--- description of where they come from; nil if there is nothing.
---@return string[]? requirements
---@return string? origin
function M.source()
  local root = plugin()
  local wheel, starter = newest(root, 'citewell'), newest(root, 'citewell_starter')
  if wheel then
    return { ('%s @ %s'):format(PACKAGE, vim.uri_from_fname(wheel)), starter }, 'the wheel of the plugin'
  end
  local clone = vim.fs.dirname(vim.fs.dirname(root))
  local project = vim.fs.joinpath(clone, 'pyproject.toml')
  if vim.fn.filereadable(project) == 1 then
    local text = table.concat(vim.fn.readfile(project, '', 60), '\n')
    if text:find('name = "citewell"', 1, true) then
      starter = vim.fs.joinpath(clone, 'corpus_tools', 'starter')
      return {
        ('%s @ %s'):format(PACKAGE, vim.uri_from_fname(clone)),
        ('%s @ %s'):format(STARTER, vim.uri_from_fname(starter)),
      },
        'the clone ' .. clone
    end
  end
  if IS_PUBLISHED then
    return { PACKAGE, STARTER }, 'the index of Python packages'
  end
end

---@return boolean
local function has_means()
  return vim.iter(MEANS):any(function(name)
    return vim.fn.executable(name) == 1
  end)
end

--- Hints on installing the server here, best first. The first fits into one line.
---@return string[]
function M.hints()
  local found = {}
  local requirement, origin = M.source()
  if requirement and has_means() then
    found[1] = 'run :Citewell install'
    found[2] = ('it creates a Python environment from %s'):format(origin)
  elseif requirement then
    found[1] = 'install uv, then :Citewell install'
    found[2] = 'uv installs Python itself: https://docs.astral.sh/uv'
  else
    found[1] = 'see :help citewell-start'
    found[2] = "clone Citewell's repository and run `uv tool install CLONE --with CLONE/corpus_tools/starter`"
      .. ' or `python3 -m pip install CLONE CLONE/corpus_tools/starter` (Python 3.11 or newer), where CLONE'
      .. ' is its folder'
  end
  return found
end

--- Hint on upgrading an old server.
---@return string
function M.upgrade()
  return M.source() and ':Citewell install' or 'install the version that ships with this plugin'
end

---@class citewell.Step
---@field title string
---@field command string[]

--- The first usable program: a Python that is new enough, or uv, which finds or installs one.
---@return string?
local function means()
  for _, name in ipairs(MEANS) do
    if vim.fn.executable(name) == 1 then
      if name == 'uv' then
        return name
      end
      local ok, run =
        pcall(vim.system, { name, '-I', '-c', 'import sys; sys.exit(sys.version_info < (3, 11))' })
      if ok and run:wait(10000).code == 0 then
        return name
      end
    end
  end
end

---@param with string
---@param environment string
---@param requirements string[]
---@return citewell.Step[]
local function steps(with, environment, requirements)
  local python = python_of(environment)
  local check = { title = 'testing it', command = { python, '-P', '-m', 'citewell', '--version' } }
  if with == 'uv' then
    return {
      {
        title = 'creating a Python environment',
        command = { 'uv', 'venv', '--no-project', '--python', '>=3.11', environment },
      },
      {
        title = 'installing the server and its dependencies',
        command = vim.list_extend({ 'uv', 'pip', 'install', '--python', python }, requirements),
      },
      check,
    }
  end
  local pip = { python, '-m', 'pip', '--disable-pip-version-check', 'install', '--no-input' }
  vim.list_extend(pip, requirements)
  return {
    { title = 'creating a Python environment', command = { with, '-m', 'venv', environment } },
    { title = 'installing the server and its dependencies', command = pip },
    check,
  }
end

---@param text string
---@return string
local function last_line(text)
  local lines = vim.split(vim.trim(text), '\n', { plain = true })
  for number = #lines, 1, -1 do
    if lines[number]:lower():find('error', 1, true) then
      return vim.trim(lines[number])
    end
  end
  return vim.trim(lines[#lines] or '')
end

--- Report a failed step with a hint. The previous installation is unchanged.
---@param step citewell.Step
---@param output string
local function failed(step, output)
  is_running = false
  local hint = 'run :Citewell install again'
  if output:find('ensurepip', 1, true) then
    hint = "install uv, or Python's venv module (Debian: python3-venv), and " .. hint
  elseif output:find('No space left', 1, true) then
    hint = 'free disk space, and ' .. hint
  else
    hint = 'check the connection to the package index, and ' .. hint
  end
  local text = 'not installed, nothing was changed: %s. Failed while %s: %s\n%s'
  notify(text:format(hint, step.title, last_line(output), vim.trim(output)), vim.log.levels.ERROR)
end

---@param staged string
---@param version string
local function put_in_place(staged, version)
  local target, old = folder(), folder() .. '.old'
  require('citewell.server').restart_with(function()
    vim.fn.delete(old, 'rf')
    local had = vim.uv.fs_stat(target) ~= nil
    local ok, why = true, nil
    if had then
      ok, why = vim.uv.fs_rename(target, old)
    end
    if ok then
      ok, why = vim.uv.fs_rename(staged, target)
      if not ok and had then
        vim.uv.fs_rename(old, target)
      end
    end
    vim.fn.delete(ok and old or staged, 'rf')
    is_running = false
    if not ok then
      local text = 'not installed, the old server was kept: %s. Run :Citewell install again'
      notify(text:format(why), vim.log.levels.ERROR)
    elseif require('citewell.config').get().cmd then
      local message = 'server %s is installed, but `cmd` in setup() names another'
      notify(message:format(version), vim.log.levels.WARN)
    else
      notify(('server %s is installed; next: :Citewell library'):format(version))
    end
  end)
end

---@param list citewell.Step[]
---@param number integer
---@param staged string
local function run(list, number, staged)
  local step = list[number]
  local messages = require('citewell.messages')
  local stop = messages.progress_while(('%s (step %d of %d)'):format(step.title, number, #list))
  local function ended(code, output)
    stop()
    if code ~= 0 then
      vim.fn.delete(staged, 'rf')
      failed(step, output)
    elseif list[number + 1] then
      run(list, number + 1, staged)
    else
      put_in_place(staged, output:match('citewell%s+(%S+)') or '')
    end
  end
  local options =
    { text = true, stdin = false, timeout = MINUTES * 60000, env = { NO_COLOR = '1', PYTHONSAFEPATH = '1' } }
  local ok, why = pcall(
    vim.system,
    step.command,
    options,
    vim.schedule_wrap(function(done)
      ended(done.code, (done.stdout or '') .. (done.stderr or ''))
    end)
  )
  if not ok then
    ended(1, tostring(why))
  end
end

--- Install or reinstall the server; the old one runs until the new one is ready.
function M.run()
  if is_running then
    notify('an installation is already running', vim.log.levels.WARN)
    return
  end
  local requirements = M.source()
  if not requirements then
    local text = 'the plugin has no wheel or clone to install from; ' .. M.hints()[1]
    notify(text, vim.log.levels.ERROR)
    return
  end
  local with = means()
  if not with then
    notify('install uv or Python 3.11, then :Citewell install', vim.log.levels.ERROR)
    return
  end
  is_running = true
  local staged = folder() .. '.new'
  vim.fn.delete(staged, 'rf')
  vim.fn.mkdir(vim.fs.dirname(staged), 'p')
  run(steps(with, staged, requirements), 1, staged)
end

return M
