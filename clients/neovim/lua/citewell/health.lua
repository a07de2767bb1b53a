--- `:checkhealth citewell`: the editor, the server, its library, completion and the picker.
local M = {}

local SECONDS = 20

-- Before Neovim 0.10 the functions had other names, before 0.8 another module.
local health = vim.health or require('health')

local function check_editor()
  local version = vim.version()
  local here = ('%d.%d.%d'):format(version.major, version.minor, version.patch)
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. here)
    return true
  end
  local report = health.error or health.report_error
  report(('Neovim 0.11 or newer is required; this is %s'):format(here), { 'See :help citewell-old' })
  return false
end

---@return boolean
local function check_program()
  local server = require('citewell.server')
  local message, hints = server.missing()
  if message then
    health.error(message, hints)
    return false
  end
  local command = server.cli({ '--version' })
  local started, run = pcall(vim.system, command, { text = true })
  local done = started and run:wait(SECONDS * 1000) or nil
  local version = done and (done.stdout or ''):match('citewell%s+(%S+)')
  local path = vim.fn.exepath(command[1])
  if not version then
    local why = done and vim.trim((done.stderr or '') .. (done.stdout or '')) or tostring(run)
    health.error(('the server at %s does not start: %s'):format(path, why:sub(-400)), {
      'its Python may have been removed: ' .. require('citewell.install').hints()[1],
    })
    return false
  end
  if server.is_old(version) then
    health.error(server.too_old(version))
    return false
  end
  health.ok(('server %s: %s'):format(version, path))
  return true
end

---@param status table
local function show_status(status)
  if status.works and status.works > 0 then
    health.ok(('library: %d papers in %s'):format(status.works, status.library))
  end
  for _, problem in ipairs(status.problems or {}) do
    local hint = problem.hint ~= '' and { problem.hint } or {}
    if problem.code == 'library-missing' then
      hint[#hint + 1] = ':Citewell library lists the starter library, your own files and Zotero'
    end
    health.warn(problem.message, hint)
  end
end

local function check_clients()
  local clients = vim.lsp.get_clients({ name = 'citewell' })
  if #clients == 0 then
    health.info('no buffer uses the server; open a LaTeX or Markdown file and run this check again')
  end
  for _, client in ipairs(clients) do
    health.ok(
      ('running as client %d in %s, positions in %s'):format(
        client.id,
        client.root_dir or 'no workspace',
        client.offset_encoding
      )
    )
    local params = { command = 'citewell.status', arguments = {} }
    local reply, failure = client:request_sync('workspace/executeCommand', params, SECONDS * 1000, 0)
    if reply and reply.result then
      show_status(reply.result)
    else
      local reason = failure or (reply and reply.err and reply.err.message) or 'no response'
      health.warn('the server does not report its status: ' .. reason, { ':Citewell restart' })
    end
  end
end

local function check_completion()
  local completion = require('citewell.completion')
  if not completion.is_enabled() then
    health.info('completion: ' .. (completion.engine() or 'disabled by `completion` in setup()'))
    return
  end
  local shown = {}
  for _, client in ipairs(vim.lsp.get_clients({ name = 'citewell' })) do
    for bufnr in pairs(client.attached_buffers) do
      local problem = completion.problem(bufnr)
      if problem then
        health.warn(('completion in %s: %s'):format(vim.fn.bufname(bufnr), problem), {
          'do not set it for this buffer, or add `noselect`',
        })
      else
        shown[completion.option(bufnr)] = true
      end
    end
  end
  local values = vim.tbl_keys(shown)
  local more = #values > 0 and (", 'completeopt' in its buffers: %s"):format(table.concat(values, ' ')) or ''
  health.ok("completion: Neovim's built-in" .. more)
end

local function check_around()
  local config = require('citewell.config')
  for _, problem in ipairs(config.problems(config.get())) do
    health.error('setup: ' .. problem, { 'See :help citewell.setup()' })
  end
  check_completion()
  health.info('picker: ' .. require('citewell.find').picker())
end

--- `:checkhealth citewell`
function M.check()
  local start = health.start or health.report_start
  start('citewell')
  if not check_editor() then
    return
  end
  if check_program() then
    check_clients()
  end
  check_around()
end

return M
