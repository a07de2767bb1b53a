--- Commands on a whole file: fill its placeholders, check its references, and others.
local M = {}

local client_of = require('citewell.client')

---@param message string
---@param level? integer
local function notify(message, level)
  require('citewell.messages').notify(message, level)
end

---@class citewell.OpenPlaceholder
---@field line integer Where it was before the others were filled.
---@field text string
---@field message string Why it is open, and its best papers.

--- The placeholders that are still open, as a quickfix list in reading order.
---@param bufnr integer
---@param open citewell.OpenPlaceholder[]
---@return vim.quickfix.entry[]
local function open_places(bufnr, open)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  local items, row, column = {}, 1, 1
  for _, one in ipairs(open) do
    local text = vim.split(one.text, '\n', { plain = true })[1]
    local at
    -- Entries and declarations may have moved the lines.
    for number = row, #lines do
      at = lines[number]:find(text, number == row and column or 1, true)
      if at then
        row, column = number, at + #text
        break
      end
    end
    local here = { bufnr = bufnr, lnum = at and row or one.line, col = at or 1, type = 'I' }
    items[#items + 1] = vim.tbl_extend('error', here, { text = ('%s: %s'):format(text, one.message) })
  end
  return items
end

--- Fill every placeholder of the current file where the confidence suffices; list the others.
function M.fill()
  local bufnr = vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client then
    return
  end
  local wanted = {
    uri = vim.uri_from_bufnr(bufnr),
    provider = 'placeholder',
    name = 'fill',
    title = 'Fill the placeholders of this file',
    slow = true,
    report = true,
  }
  client_of.execute(client, 'citewell.act', { wanted }, function(answer, err)
    if err then
      notify(err.message, vim.log.levels.ERROR)
    elseif type(answer) == 'table' and answer.summary then
      local items = open_places(bufnr, answer.open)
      vim.fn.setqflist({}, ' ', { title = 'Citewell fill', items = items })
      local list = #items > 0 and ' (:copen)' or ''
      notify(answer.summary .. list, #items > 0 and vim.log.levels.WARN or vim.log.levels.INFO)
    elseif answer then
      notify('no placeholder filled', vim.log.levels.WARN)
    end
  end, bufnr)
end

local kinds = { 'E', 'W', 'I', 'N' }

---@param client vim.lsp.Client
---@param where lsp.Location
---@param text string
---@param kind string
---@return vim.quickfix.entry?
local function entry_at(client, where, text, kind)
  local item = vim.lsp.util.locations_to_items({ where }, client.offset_encoding)[1]
  if item then
    item.text, item.type, item.user_data = text, kind, nil
  end
  return item
end

---@param client vim.lsp.Client
---@param reports table[]
---@return vim.quickfix.entry[]
local function quickfix(client, reports)
  local found = {}
  for _, report in ipairs(reports) do
    for _, diagnostic in ipairs(report.items or {}) do
      local where = { uri = report.uri, range = diagnostic.range }
      local text = ('%s [%s]'):format(diagnostic.message:gsub('\n', ' '), diagnostic.code or '')
      found[#found + 1] = entry_at(client, where, text, kinds[diagnostic.severity or 1])
    end
  end
  table.sort(found, function(one, other)
    if one.filename ~= other.filename then
      return one.filename < other.filename
    end
    return one.lnum < other.lnum
  end)
  return found
end

--- The findings by part with their hints, and the figures; `gF` on a line opens its place.
---@return string
local function review_text(answer)
  local lines, group = { answer.summary }, nil
  for _, row in ipairs(answer.rows) do
    if row.group ~= group then
      group = row.group
      vim.list_extend(lines, { '', group })
    end
    local name = vim.fn.fnamemodify(vim.uri_to_fname(row.uri), ':.')
    local place = ('%s:%d'):format(name, row.range.start.line + 1)
    lines[#lines + 1] = ('%s: %s [%s]'):format(place, row.message, row.code)
    if row.hint ~= '' then
      lines[#lines + 1] = '    ' .. row.hint
    end
  end
  lines[#lines + 1] = ''
  for _, figure in ipairs(answer.figures) do
    lines[#lines + 1] = ('%s: %s'):format(figure[1], figure[2])
  end
  return table.concat(lines, '\n')
end

--- Review all citations of the paper of the current file, as a quickfix list by part.
---@param opts? { text?: boolean } With `text`, as a buffer with hints and figures, too.
function M.review(opts)
  local bufnr = vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client then
    return
  end
  client_of.execute(client, 'citewell.review', { vim.uri_from_bufnr(bufnr) }, function(answer, err)
    if err then
      notify(err.message, vim.log.levels.ERROR)
      return
    end
    local types = { blocking = 'E', ['to correct'] = 'W', note = 'I' }
    local items = {}
    for _, row in ipairs(answer.rows or {}) do
      local text = ('%s: %s [%s]'):format(row.group, row.message, row.code)
      items[#items + 1] = entry_at(client, row, text, types[row.weight])
    end
    vim.fn.setqflist({}, ' ', { title = 'Citewell review', items = items })
    notify('review: ' .. (answer.summary or 'nothing reviewed'))
    if answer.summary and opts and opts.text then
      require('citewell.messages').open_window('review', review_text(answer))
    elseif #items > 0 then
      vim.cmd('botright copen')
    end
  end, bufnr)
end

---@param items vim.quickfix.entry[]
local function show(items)
  vim.fn.setqflist({}, ' ', { title = 'Citewell check', items = items })
  if #items == 0 then
    notify('no problems found in the references')
  else
    vim.cmd('botright copen')
  end
end

--- List the diagnostics: pull those of the workspace, or show those that the server has pushed.
---@param client vim.lsp.Client
---@param bufnr integer
local function list(client, bufnr)
  local provider = client.server_capabilities.diagnosticProvider
  if not (provider and provider.workspaceDiagnostics) then
    local namespace = vim.lsp.diagnostic.get_namespace(client.id)
    local found = vim.diagnostic.get(nil, { namespace = namespace })
    for _, diagnostic in ipairs(found) do
      diagnostic.message = ('%s [%s]'):format(diagnostic.message, diagnostic.code or '')
    end
    show(vim.diagnostic.toqflist(found))
    return
  end
  client:request('workspace/diagnostic', { previousResultIds = {} }, function(err, answer)
    if err or type(answer) ~= 'table' then
      notify('check failed: ' .. (err and err.message or 'no response'), vim.log.levels.ERROR)
      return
    end
    show(quickfix(client, answer.items or {}))
  end, bufnr)
end

--- Check the references of the current file, and list the problems of the workspace.
---@param opts? { online?: boolean } With `online`, also query the allowed sources.
function M.check(opts)
  local bufnr = vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client then
    return
  end
  local uri = vim.uri_from_bufnr(bufnr)
  local online = opts and opts.online
  local command = online and 'citewell.checkOnline' or 'citewell.check'
  client_of.execute(client, command, { uri }, function(answer, err)
    if err then
      notify(err.message, vim.log.levels.ERROR)
    elseif answer then
      list(client, bufnr)
    end
  end, bufnr)
end

--- Show which library is searched, and its problems.
function M.status()
  local bufnr = vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client then
    return
  end
  client_of.execute(client, 'citewell.status', {}, function(answer, err)
    if err or type(answer) ~= 'table' then
      notify(err and err.message or 'the server does not report its status', vim.log.levels.ERROR)
      return
    end
    local version = client.server_info and client.server_info.version or ''
    local lines = { ('server %s, client %d'):format(version, client.id) }
    if answer.works and answer.works > 0 then
      lines[#lines + 1] = ('%d papers in %s'):format(answer.works, answer.library)
    end
    for _, problem in ipairs(answer.problems or {}) do
      lines[#lines + 1] = vim.trim(problem.message .. ' ' .. problem.hint)
    end
    require('citewell.messages').open_window('status', table.concat(lines, '\n'))
  end, bufnr)
end

--- Open the log of the language servers at its end.
function M.log()
  local name = vim.lsp.log and vim.lsp.log.get_filename and vim.lsp.log.get_filename()
    or vim.lsp.get_log_path()
  vim.cmd.tabedit(vim.fn.fnameescape(name))
  vim.cmd('normal! G')
end

return M
