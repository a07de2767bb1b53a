--- A literature search: a list of papers that grows with each pass, from which several are cited as one
--- citation.
local M = {}

local client_of = require('citewell.client')
local find = require('citewell.find')
local view = require('citewell.explore_list')
local namespace = vim.api.nvim_create_namespace('citewell.explore')

---@class citewell.ExploreOptions
---@field query? string The question; without one, Citewell asks for it.
---@field selection? boolean Whether the visual selection is the question.

---@type table<string, citewell.Exploration> The lists that wait for passes.
local waiting = {}
local searches = 0

--- A pass was made: the handler of `citewell/explored`.
---@param _ lsp.ResponseError?
---@param found citewell.Explored
function M.on_explored(_, found)
  local list = waiting[found.token]
  if not list or not view.is_open(list) then
    return
  end
  view.take(list, found)
  local last = found.passes[#found.passes]
  list.state = ('%s: %d papers, searching'):format(last and last.name or 'search', list.count)
  view.show_state(list)
end

---@param list citewell.Exploration
---@param wanted table Where the question is, or its words.
local function search(list, wanted)
  list.cancel()
  waiting[list.token] = nil
  searches = searches + 1
  list.token = tostring(searches)
  list.state, list.is_new, list.is_judged = 'searching', true, false
  waiting[list.token] = list
  view.show_state(list)
  local token = list.token
  local arguments = vim.tbl_extend('force', wanted, {
    uri = vim.uri_from_bufnr(list.place.bufnr),
    limit = math.max(20, require('citewell.config').get().limit),
    token = token,
    kept = view.judged_as(list, 'kept'),
    rejected = view.judged_as(list, 'rejected'),
  })
  list.cancel = client_of.execute(list.place.client, 'citewell.explore', { arguments }, function(found, err)
    waiting[token] = nil
    if not view.is_open(list) or list.token ~= token then
      return
    end
    if err or type(found) ~= 'table' then
      list.state = err and view.one_line(err.message) or 'stopped'
      view.show_state(list)
      return
    end
    if list.is_new then
      view.take(list, found)
    end
    view.update(list, found.rows)
    local problem = found.problems[1]
    local text = problem and view.one_line(('%s %s'):format(problem.message, problem.hint)) or nil
    list.state = ('%d papers'):format(list.count)
    if text then
      list.state = list.count == 0 and text or list.state
      require('citewell.messages').notify(text, vim.log.levels.WARN)
    end
    view.show_state(list)
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

--- Go to the line below the cursor, if there is one.
---@param list citewell.Exploration
local function down(list)
  local line = vim.api.nvim_win_get_cursor(list.win)[1]
  local last = vim.api.nvim_buf_line_count(list.bufnr)
  vim.api.nvim_win_set_cursor(list.win, { math.min(line + 1, last), 0 })
end

--- Search for the same question, with the kept papers and without the rejected ones.
---@param list citewell.Exploration
local function search_again(list)
  if list.query ~= '' then
    search(list, { query = list.query })
  end
end

--- Mark the paper under the cursor, or take the understood part or the rejections there away.
---@param list citewell.Exploration
local function toggle(list)
  local item = current(list)
  if item.part then
    if item.part.rest == '' then
      require('citewell.messages').notify('nothing would be left of the question', vim.log.levels.WARN)
    else
      search(list, { query = item.part.rest })
    end
  elseif item.is_rejected then
    list.judged = vim.tbl_filter(function(one)
      return one.verdict ~= 'rejected'
    end, list.judged)
    search_again(list)
  elseif item.row then
    view.toggle_mark(list, vim.api.nvim_win_get_cursor(list.win)[1] - 1, item.row)
    down(list)
    view.show_state(list)
  end
end

---@param verdict citewell.Verdict
---@return fun(list: citewell.Exploration)
local function judge(verdict)
  return function(list)
    local row = current(list).row
    if row then
      view.judge(list, row, verdict)
      if verdict == 'rejected' and view.rank_of(list, row) then
        view.toggle_mark(list, vim.api.nvim_win_get_cursor(list.win)[1] - 1, row)
      end
      view.show_relevance(list)
      view.show_state(list)
      down(list)
    end
  end
end

--- Say what the listed papers are about.
---@param list citewell.Exploration
local function sum_up(list)
  local ids = view.listed(list)
  if #ids == 0 then
    return
  end
  local messages, state = require('citewell.messages'), list.state
  list.state = 'reading the abstracts'
  view.show_state(list)
  client_of.execute(list.place.client, 'citewell.overview', {
    { ids = ids, query = list.query },
  }, function(found, err)
    if view.is_open(list) and list.state == 'reading the abstracts' then
      list.state = state
      view.show_state(list)
    end
    if err or type(found) ~= 'table' then
      messages.notify(err and err.message or 'no overview', vim.log.levels.WARN)
      return
    end
    local problem = found.problems[1]
    if problem then
      messages.notify(('%s %s'):format(problem.message, problem.hint), vim.log.levels.WARN)
    end
    if found.text ~= '' and view.is_open(list) then
      messages.open_window('overview', found.text)
    end
  end, list.place.bufnr)
end

---@param list citewell.Exploration
local function cite(list)
  local item = current(list)
  if #list.marked == 0 and (item.part or item.is_rejected) then
    return toggle(list)
  end
  if #list.marked == 0 and item.row and view.verdict_of(list, item.row) == 'rejected' then
    require('citewell.messages').notify('this paper is rejected', vim.log.levels.WARN)
    return
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
    local relevance = view.relevance(row)
    if relevance ~= '' then
      vim.list_extend(lines, { '', 'answers the question: ' .. relevance })
    end
    vim.list_extend(lines, { '', 'why: ' .. view.one_line(row.why or '') })
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
    if words and vim.trim(words) ~= '' and view.is_open(list) then
      search(list, { query = words })
    end
  end)
end

---@type { [1]: string, [2]: fun(list: citewell.Exploration), [3]: string }[]
local KEYS = {
  { '<Tab>', toggle, 'mark the paper, or take the part of the question away' },
  { '<CR>', cite, 'cite the marked papers, or the one here' },
  { '+', judge('kept'), 'keep the paper: it answers the question' },
  { '-', judge('rejected'), 'reject the paper: it does not' },
  { 'r', search_again, 'search again with the kept papers and without the rejected ones' },
  { 'o', sum_up, 'say what the papers are about' },
  { 'K', preview, 'show the paper' },
  { 'c', change, 'change the question' },
  { 'q', close, 'close the list' },
}

local function show_keys()
  local lines = {}
  for number, action in ipairs(KEYS) do
    lines[number] = ('%-5s  %s'):format(action[1], action[3])
  end
  vim.lsp.util.open_floating_preview(lines, '', { border = 'rounded', focus_id = 'citewell.keys' })
end

table.insert(KEYS, { 'g?', show_keys, 'list the keys' })

---@param list citewell.Exploration
local function map(list)
  for _, action in ipairs(KEYS) do
    vim.keymap.set('n', action[1], function()
      action[2](list)
    end, { buffer = list.bufnr, nowait = true, desc = 'Citewell: ' .. action[3] })
  end
end

---@param place citewell.Place
---@return citewell.Exploration
local function open(place)
  local list = view.open(place)
  map(list)
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = list.bufnr,
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
