--- Search for a paper and cite the chosen one.
local M = {}

local client_of = require('citewell.client')

---@class citewell.FindOptions
---@field query? string The initial words.
---@field bufnr? integer
---@field picker? string Overrides the configured picker.

---@class citewell.Row One row of the result of `citewell.search`.
---@field id string
---@field key string
---@field title string
---@field authors string
---@field year? integer
---@field venue string
---@field abstract string
---@field known boolean
---@field source string
---@field doi string
---@field url string
---@field retracted boolean
---@field certainty? ''|'sure'|'likely'|'a guess' How certain the paper is.
---@field part? citewell.Part The row takes this part of the query away; it is no paper.

---@class citewell.Part A part of the query that was understood.
---@field kind string
---@field value string
---@field rest string The words without it.

---@class citewell.Place Where to insert the citation.
---@field client vim.lsp.Client
---@field bufnr integer
---@field win integer
---@field position lsp.Position
---@field tick integer
---@field inserting boolean

---@class citewell.Search The argument of a picker.
---@field query string
---@field search fun(words: string, handler: fun(rows: citewell.Row[], problem?: string)): fun() Returns
---a function that cancels the search. Rows that take a part of the query away come last.
---@field choose fun(row: citewell.Row)

---@param value any
---@return string
local function text(value)
  return (value == nil or value == vim.NIL) and '' or tostring(value)
end

--- A part of the query in words: "author: Veličković".
---@param part citewell.Part
---@return string
function M.part_name(part)
  return ('%s: %s'):format((part.kind:gsub('_', ' ')), part.value)
end

--- A row that takes a part of the query away.
---@param part citewell.Part
---@return citewell.Row
local function row_without(part)
  local title = 'Without ' .. M.part_name(part)
  return { id = '', key = '', title = title, doi = '', url = '', abstract = '', known = true, part = part }
end

---@param parts string[]
---@return string
local function joined(parts)
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ''
    end, parts),
    ' · '
  )
end

--- Authors, year and title: "Chen, Manning 2014 · A Fast and Accurate Dependency Parser".
---@param row citewell.Row
---@return string
function M.name(row)
  return joined({ vim.trim(text(row.authors) .. ' ' .. text(row.year)), row.title })
end

--- What follows authors, year and title: the venue, where the paper is known, and how certain it is.
---@param row citewell.Row
---@return string
function M.about(row)
  if row.part then
    return ('search for “%s”'):format(row.part.rest)
  end
  local parts = { text(row.venue) }
  if row.known then
    table.insert(parts, 1, ('in %s as %s'):format(row.source, row.key))
  end
  if row.retracted then
    parts[#parts + 1] = 'RETRACTED'
  else
    parts[#parts + 1] = text(row.certainty)
  end
  return joined(parts)
end

--- One line for a list.
---@param row citewell.Row
---@return string
function M.line(row)
  local about = M.about(row)
  return M.name(row) .. (about ~= '' and ' — ' .. about or '')
end

--- The preview of a paper, as Markdown lines.
---@param row citewell.Row
---@return string[]
function M.preview(row)
  local lines = { '# ' .. row.title, '', M.line(row) }
  local link = row.doi ~= '' and 'https://doi.org/' .. row.doi or row.url
  if link ~= '' then
    vim.list_extend(lines, { '', link })
  end
  if row.abstract ~= '' then
    lines[#lines + 1] = ''
    vim.list_extend(lines, vim.split(row.abstract, '\n', { plain = true }))
  end
  if not row.known then
    vim.list_extend(lines, { '', ('key: %s · source: %s'):format(row.key, row.source) })
  end
  return lines
end

---@param place citewell.Place
---@param words string
---@param handler fun(rows: citewell.Row[], problem?: string)
---@return fun() cancel
local function search(place, words, handler)
  local wanted = {
    query = words,
    uri = vim.uri_from_bufnr(place.bufnr),
    position = place.position,
    limit = require('citewell.config').get().limit,
  }
  return client_of.execute(place.client, 'citewell.search', { wanted }, function(answer, err)
    if err or type(answer) ~= 'table' then
      handler({}, err and err.message or nil)
      return
    end
    local problem = answer.problems[1]
    for _, part in ipairs(answer.understood or {}) do
      if part.rest ~= '' then
        answer.rows[#answer.rows + 1] = row_without(part)
      end
    end
    handler(answer.rows, problem and ('%s %s'):format(problem.message, problem.hint) or nil)
  end, place.bufnr)
end

--- Cite papers at a place, in one citation.
---@param place citewell.Place
---@param rows citewell.Row[]
function M.cite(place, rows)
  local papers = vim.tbl_map(function(row)
    return { work = row.id, key = row.id == '' and row.key or '' }
  end, rows)
  local wanted = { uri = vim.uri_from_bufnr(place.bufnr), position = place.position }
  if #papers > 1 then
    wanted.papers = papers
  else
    wanted = vim.tbl_extend('force', wanted, papers[1])
  end
  if vim.api.nvim_buf_get_changedtick(place.bufnr) ~= place.tick then
    require('citewell.messages').notify('the text has changed; find the paper again', vim.log.levels.WARN)
    return
  end
  client_of.execute(place.client, 'citewell.insertPaper', { wanted }, function(answer)
    if type(answer) ~= 'table' or not answer.applied then
      return
    end
    if answer['end'] and vim.api.nvim_win_is_valid(place.win) then
      local at = answer['end']
      local column = client_of.byte_column(place.bufnr, at, place.client.offset_encoding)
      vim.api.nvim_set_current_win(place.win)
      local last = place.inserting and column or math.max(0, column - 1)
      pcall(vim.api.nvim_win_set_cursor, place.win, { at.line + 1, last })
      if place.inserting then
        vim.cmd(column >= #vim.api.nvim_get_current_line() and 'startinsert!' or 'startinsert')
      end
    end
  end, place.bufnr)
end

--- The position to insert at. In normal mode the cursor is on a character; the citation goes after it.
---@param win integer
---@param client vim.lsp.Client
---@return lsp.Position
local function position_of(win, client)
  local row, column = unpack(vim.api.nvim_win_get_cursor(win))
  local line = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), row - 1, row, false)[1] or ''
  local letter = vim.fn.matchstr(line:sub(column + 1), [[^\k]])
  if vim.api.nvim_get_mode().mode:sub(1, 1) ~= 'i' then
    column = column + #letter
  end
  local ok, character = pcall(vim.str_utfindex, line, client.offset_encoding, column, false)
  return { line = row - 1, character = ok and character or column }
end

---@return string
local function picker()
  local wanted = require('citewell.config').get().picker
  if wanted ~= 'auto' then
    return wanted --[[@as string]]
  end
  for _, name in ipairs({ 'snacks', 'telescope', 'fzf-lua' }) do
    if require('citewell.pickers.' .. name).is_available() then
      return name
    end
  end
  return 'select'
end

--- The picker that `:Citewell find` uses now.
M.picker = picker

--- Where a citation goes that is asked for now: at the cursor. Leaves insert mode.
---@param bufnr integer
---@param client vim.lsp.Client
---@return citewell.Place
function M.place(bufnr, client)
  local win = vim.api.nvim_get_current_win()
  local place = {
    client = client,
    bufnr = bufnr,
    win = win,
    position = position_of(win, client),
    tick = vim.api.nvim_buf_get_changedtick(bufnr),
    inserting = vim.api.nvim_get_mode().mode:sub(1, 1) == 'i',
  }
  if place.inserting then
    vim.cmd('stopinsert')
  end
  return place
end

--- Search for a paper and cite the chosen one at the cursor.
---@param opts? citewell.FindOptions
function M.find(opts)
  opts = opts or {}
  local bufnr = opts.bufnr or vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client or not client_of.supports(client, 'citewell.search') then
    return
  end
  local place = M.place(bufnr, client)
  local name = opts.picker or picker()
  local module = require('citewell.pickers.' .. name)
  if not module.is_available() then
    local message = ('the picker `%s` is not installed'):format(name)
    require('citewell.messages').notify(message, vim.log.levels.ERROR)
    return
  end
  local function open(query)
    module.open({
      query = query,
      search = function(words, handler)
        return search(place, words, handler)
      end,
      choose = function(row)
        if row.part then
          open(row.part.rest)
        else
          M.cite(place, { row })
        end
      end,
    })
  end
  open(opts.query or '')
end

return M
