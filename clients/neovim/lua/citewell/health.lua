local M = {}

local function command()
  local config = vim.lsp.config and vim.lsp.config['citewell']
  local cmd = config and config.cmd
  return type(cmd) == 'table' and cmd or { 'citewell', 'lsp' }
end

--- `:checkhealth citewell`
function M.check()
  vim.health.start('citewell')
  if vim.fn.has('nvim-0.11') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim 0.11 or later is needed', { 'See :help citewell-old' })
    return
  end

  local program = command()[1]
  if vim.fn.executable(program) == 0 then
    vim.health.error(
      ('`%s` is not found on PATH'):format(program),
      { 'pip install citewell', "or name it: require('citewell').setup({ cmd = { '/path/to/citewell', 'lsp' } })" }
    )
    return
  end
  vim.health.ok('server: ' .. vim.fn.exepath(program))

  local clients = vim.lsp.get_clients({ name = 'citewell' })
  if #clients == 0 then
    vim.health.info('no buffer uses the server now; open a .tex or .md file')
  end
  for _, client in ipairs(clients) do
    vim.health.ok(
      ('running as client %d in %s, positions in %s'):format(
        client.id,
        client.root_dir or 'no workspace',
        client.offset_encoding
      )
    )
    local reply, failure = client:request_sync(
      'workspace/executeCommand',
      { command = 'citewell.status', arguments = {} },
      20000,
      0
    )
    local status = reply and reply.result
    if not status then
      local reason = failure or (reply and reply.err and reply.err.message) or 'no reason given'
      vim.health.warn('the server does not tell its state: ' .. reason)
    else
      if status.works and status.works > 0 then
        vim.health.ok(('library: %d papers in %s'):format(status.works, status.library))
      end
      for _, problem in ipairs(status.problems or {}) do
        vim.health.warn(problem.message, problem.cure ~= '' and { problem.cure } or nil)
      end
    end
  end
end

return M
