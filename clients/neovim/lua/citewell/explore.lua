--- A literature search: a list of papers that grows with each pass, from which several are cited as one
--- citation.
local M = {}

local client_of = require('citewell.client')
local find = require('citewell.find')
local namespace = vim.api.nvim_create_namespace('citewell.explore')

local HELP = '<Tab> marks, <CR> cites, K shows, c changes the question, q closes'

---@class citewell.ExploreOptions
---@field query? string The question; without one, Citewell asks for it.
---@field selection? boolean Whether the visual selection is the question.

---@class citewell.ExploredRow: citewell.Row
---@field why string

---@class citewell.Explored What a pass brought.
---@field token string
---@field query string
---@field rows citewell.ExploredRow[]
---@field understood citewell.Part[]
---@field passes { name: string }[]
---@field problems { message: string, hint: string }[]
---@field ending string

---@class citewell.Exploration One list.
---@field place citewell.Place
---@field mark integer The extmark at the place.
---@field bufnr integer
---@field win integer
---@field query string
---@field items table<integer, { row?: citewell.ExploredRow, part?: citewell.Part }> By line.
---@field marked citewell.ExploredRow[] In the order marked.
---@field count integer Papers that are listed.
---@field is_new boolean No pass of the present search has been listed.
---@field state string
---@field token string
---@field cancel fun()

---@type table<string, citewell.Exploration> The lists that wait for passes.
local waiting = {}
local searches = 0

---@param text string
---@return string
local function one_line(text)
  return vim.trim((text:gsub('%s+', ' ')))
end

---@param list citewell.Exploration
local function is_open(list)
  return vim.api.nvim_buf_is_valid(list.bufnr)
end

---@param list citewell.Exploration
local function show_state(list)
  if vim.api.nvim_win_is_valid(list.win) then
    local marked = #list.marked > 0 and (' · %d marked'):format(#list.marked) or ''
    local text = (' %s%s · %s'):format(list.state, marked, HELP)
    vim.wo[list.win].statusline = (text:gsub('%%', '%%%%'))
  end
end

--- Replace the lines from `first` (0-based) to the end.
---@param list citewell.Exploration
---@param first integer
---@param lines string[]
local function write(list, first, lines)
  vim.bo[list.bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(list.bufnr, first, -1, false, lines)
  vim.bo[list.bufnr].modifiable = false
end

---@param list citewell.Exploration
---@param row citewell.ExploredRow
---@return integer? rank among the marked papers
local function rank_of(list, row)
  for rank, one in ipairs(list.marked) do
    if one.id == row.id then
      return rank
    end
  end
end

---@param list citewell.Exploration
---@param line integer 0-based
---@param row citewell.ExploredRow
local function colour(list, line, row)
  local start = 4 + #one_line(row.title)
  local last = #vim.api.nvim_buf_get_lines(list.bufnr, line, line + 1, false)[1]
  local options = { end_col = last, hl_group = 'Comment' }
  vim.api.nvim_buf_set_extmark(list.bufnr, namespace, line, math.min(start, last), options)
end

--- List more papers below those that are listed.
---@param list citewell.Exploration
---@param rows citewell.ExploredRow[]
local function add(list, rows)
  if #rows == 0 then
    return
  end
  local first = vim.api.nvim_buf_line_count(list.bufnr)
  local lines = {}
  for number, row in ipairs(rows) do
    list.items[first + number] = { row = row }
    lines[number] = ('[%s] %s'):format(rank_of(list, row) and 'x' or ' ', one_line(find.line(row)))
  end
  write(list, first, lines)
  for number, row in ipairs(rows) do
    colour(list, first + number - 1, row)
  end
  list.count = list.count + #rows
end

--- Show the question and what was understood of it, above the papers that stay marked.
---@param list citewell.Exploration
---@param query string
---@param parts citewell.Part[]
local function show_question(list, query, parts)
  list.query, list.items, list.count = query, {}, 0
  local lines = { 'Question: ' .. query }
  for _, part in ipairs(parts) do
    lines[#lines + 1] = '[x] ' .. one_line(find.part_name(part))
    list.items[#lines] = { part = part }
  end
  lines[#lines + 1] = ''
  write(list, 0, lines)
  vim.api.nvim_buf_set_extmark(list.bufnr, namespace, 0, 0, { end_col = #lines[1], hl_group = 'Title' })
  add(list, vim.list_slice(list.marked))
end

--- List what a search brought: for its first pass also the question and its parts.
---@param list citewell.Exploration
---@param found citewell.Explored
local function take(list, found)
  local is_new = list.is_new
  if is_new then
    list.is_new = false
    show_question(list, found.query, found.understood or {})
  end
  local top = vim.api.nvim_buf_line_count(list.bufnr)
  add(
    list,
    vim.tbl_filter(function(row)
      return rank_of(list, row) == nil
    end, found.rows)
  )
  if is_new and vim.api.nvim_win_is_valid(list.win) then
    local line = math.min(top + 1, vim.api.nvim_buf_line_count(list.bufnr))
    vim.api.nvim_win_set_cursor(list.win, { line, 0 })
  end
end

--- A pass was made: the handler of `citewell/explored`.
---@param _ lsp.ResponseError?
---@param found citewell.Explored
function M.on_explored(_, found)
  local list = waiting[found.token]
  if not list or not is_open(list) then
    return
  end
  take(list, found)
  local last = found.passes[#found.passes]
  list.state = ('%s: %d papers, searching'):format(last and last.name or 'search', list.count)
  show_state(list)
end

---@param list citewell.Exploration
---@param wanted table Where the question is, or its words.
local function search(list, wanted)
  list.cancel()
  waiting[list.token] = nil
  searches = searches + 1
  list.token = tostring(searches)
  list.state, list.is_new = 'searching', true
  waiting[list.token] = list
  show_state(list)
  local token = list.token
  local arguments = vim.tbl_extend('force', wanted, {
    uri = vim.uri_from_bufnr(list.place.bufnr),
    limit = math.max(20, require('citewell.config').get().limit),
    token = token,
  })
  list.cancel = client_of.execute(list.place.client, 'citewell.explore', { arguments }, function(found, err)
    waiting[token] = nil
    if not is_open(list) or list.token ~= token then
      return
    end
    if err or type(found) ~= 'table' then
      list.state = err and one_line(err.message) or 'stopped'
      show_state(list)
      return
    end
    if list.is_new then
      take(list, found)
    end
    local problem = found.problems[1]
    local text = problem and one_line(('%s %s'):format(problem.message, problem.hint)) or nil
    list.state = ('%d papers'):format(list.count)
    if text then
      list.state = list.count == 0 and text or list.state
      require('citewell.messages').notify(text, vim.log.levels.WARN)
    end
    show_state(list)
  end, list.place.bufnr)
end

---@param list citewell.Exploration
local function current(list)
  return list.items[vim.api.nvim_win_get_cursor(list.win)[1]] or {}
end

---@param list citewell.Exploration
local function close(list)
  if vim.api.nvim_win_is_valid(list.win) then
    vim.api.nvim_win_close(list.win, true)
  end
end

--- Mark the paper under the cursor, or take the understood part there away.
---@param list citewell.Exploration
local function toggle(list)
  local item = current(list)
  if item.part then
    if item.part.rest == '' then
      require('citewell.messages').notify('nothing would be left of the question', vim.log.levels.WARN)
    else
      search(list, { query = item.part.rest })
    end
  elseif item.row then
    local rank = rank_of(list, item.row)
    if rank then
      table.remove(list.marked, rank)
    else
      list.marked[#list.marked + 1] = item.row
    end
    local line = vim.api.nvim_win_get_cursor(list.win)[1] - 1
    vim.bo[list.bufnr].modifiable = true
    vim.api.nvim_buf_set_text(list.bufnr, line, 1, line, 2, { rank and ' ' or 'x' })
    vim.bo[list.bufnr].modifiable = false
    pcall(
      vim.api.nvim_win_set_cursor,
      list.win,
      { math.min(line + 2, vim.api.nvim_buf_line_count(list.bufnr)), 0 }
    )
    show_state(list)
  end
end

---@param list citewell.Exploration
local function cite(list)
  local item = current(list)
  if #list.marked == 0 and item.part then
    return toggle(list)
  end
  local rows = #list.marked > 0 and list.marked or { item.row }
  if #rows == 0 then
    return
  end
  local place = list.place
  -- The author may have written since the list was opened.
  local at = vim.api.nvim_buf_get_extmark_by_id(place.bufnr, namespace, list.mark, {})
  if #at == 0 then
    return
  end
  local line = vim.api.nvim_buf_get_lines(place.bufnr, at[1], at[1] + 1, false)[1] or ''
  local ok, character = pcall(vim.str_utfindex, line, place.client.offset_encoding, at[2], false)
  place.position = { line = at[1], character = ok and character or at[2] }
  place.tick = vim.api.nvim_buf_get_changedtick(place.bufnr)
  close(list)
  find.cite(place, rows)
end

---@param list citewell.Exploration
local function preview(list)
  local row = current(list).row
  if row then
    local lines = find.preview(row)
    vim.list_extend(lines, { '', 'found by: ' .. one_line(row.why or '') })
    vim.lsp.util.open_floating_preview(
      lines,
      'markdown',
      { border = 'rounded', focus_id = 'citewell.explore' }
    )
  end
end

---@param list citewell.Exploration
local function change(list)
  vim.ui.input({ prompt = 'Question: ', default = list.query }, function(words)
    if words and vim.trim(words) ~= '' and is_open(list) then
      search(list, { query = words })
    end
  end)
end

---@param list citewell.Exploration
local function map(list)
  for key, action in pairs({
    ['<Tab>'] = { toggle, 'mark the paper, or take the part of the question away' },
    ['<CR>'] = { cite, 'cite the marked papers, or the one here' },
    K = { preview, 'show the paper' },
    c = { change, 'change the question' },
    q = { close, 'close the list' },
  }) do
    vim.keymap.set('n', key, function()
      action[1](list)
    end, { buffer = list.bufnr, nowait = true, desc = 'Citewell: ' .. action[2] })
  end
end

---@param place citewell.Place
---@return citewell.Exploration
local function open(place)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].modifiable = false
  vim.cmd('botright split')
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, bufnr)
  vim.api.nvim_buf_set_name(bufnr, ('citewell://explore/%d'):format(bufnr))
  vim.bo[bufnr].filetype = 'citewell-explore'
  for name, value in pairs({
    wrap = true,
    linebreak = true,
    breakindent = true,
    cursorline = true,
    number = false,
  }) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
  vim.api.nvim_win_set_height(win, math.max(5, math.floor(vim.o.lines / 2)))
  local position = place.position
  local column = client_of.byte_column(place.bufnr, position, place.client.offset_encoding)
  local options = { right_gravity = false }
  local list = {
    place = place,
    mark = vim.api.nvim_buf_set_extmark(place.bufnr, namespace, position.line, column, options),
    bufnr = bufnr,
    win = win,
    query = '',
    items = {},
    marked = {},
    count = 0,
    is_new = true,
    state = 'searching',
    token = '',
    cancel = function() end,
  }
  map(list)
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    once = true,
    callback = function()
      list.cancel()
      waiting[list.token] = nil
      pcall(vim.api.nvim_buf_del_extmark, place.bufnr, namespace, list.mark)
    end,
  })
  return list
end

--- The visual selection as an LSP range.
---@param client vim.lsp.Client
---@return lsp.Range
local function selection(client)
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local function position(row, column)
    local line = vim.fn.getline(row)
    local ok, character =
      pcall(vim.str_utfindex, line, client.offset_encoding, math.min(column, #line), false)
    return { line = row - 1, character = ok and character or column }
  end
  local last = vim.fn.getline(to[2])
  local column = math.min(to[3], #last)
  local is_of_lines = vim.fn.visualmode() == 'V'
  local after = is_of_lines and #last or column > 0 and column + vim.str_utf_end(last, column) or 0
  return { start = position(from[2], is_of_lines and 0 or from[3] - 1), ['end'] = position(to[2], after) }
end

--- Search the literature, and cite the papers that the author chooses at the cursor.
---@param opts? citewell.ExploreOptions
function M.explore(opts)
  opts = opts or {}
  local bufnr = vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client or not client_of.supports(client, 'citewell.explore') then
    return
  end
  local range = opts.selection and selection(client) or nil
  local place = find.place(bufnr, client)
  local function start(wanted)
    search(open(place), wanted)
  end
  if range then
    start({ range = range })
  elseif vim.trim(opts.query or '') ~= '' then
    start({ query = opts.query })
  else
    vim.ui.input({ prompt = 'Explore (empty: this paragraph): ' }, function(words)
      if words then
        start(vim.trim(words) ~= '' and { query = words } or { position = place.position })
      end
    end)
  end
end

return M
