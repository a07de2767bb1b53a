--- The window of a literature search: the question, what was understood of it, and the papers.
local M = {}

local find = require('citewell.find')
local namespace = vim.api.nvim_create_namespace('citewell.explore')

local HELP = '<Tab> marks, <CR> cites, + keeps, - rejects, g? lists all keys'
local GROUPS = { kept = 'DiagnosticOk', rejected = 'DiagnosticWarn' }

---@class citewell.ExploredRow: citewell.Row
---@field why string
---@field relevance? number Probability that the paper answers the question.
---@field relevant? boolean Judged relevant.

---@alias citewell.Verdict 'kept'|'rejected' What the author says of a paper.

---@class citewell.ExploredItem One line.
---@field row? citewell.ExploredRow
---@field part? citewell.Part
---@field is_rejected? boolean The line stands for the rejected papers.
---@field extmark? integer That of the words after the line.

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
---@field items table<integer, citewell.ExploredItem> By line.
---@field marked citewell.ExploredRow[] In the order marked.
---@field judged { row: citewell.ExploredRow, verdict: citewell.Verdict }[] In the order judged.
---@field is_judged boolean Papers were judged since the last search.
---@field count integer Papers that are listed.
---@field is_new boolean No pass of the present search has been listed.
---@field state string
---@field token string
---@field cancel fun()

--- An empty list, in a window below the document.
---@param place citewell.Place
---@return citewell.Exploration
function M.open(place)
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
  local column = require('citewell.client').byte_column(place.bufnr, position, place.client.offset_encoding)
  local options = { right_gravity = false }
  return {
    place = place,
    mark = vim.api.nvim_buf_set_extmark(place.bufnr, namespace, position.line, column, options),
    bufnr = bufnr,
    win = win,
    query = '',
    items = {},
    marked = {},
    judged = {},
    is_judged = false,
    count = 0,
    is_new = true,
    state = 'searching',
    token = '',
    cancel = function() end,
  }
end

---@param text string
---@return string
function M.one_line(text)
  return vim.trim((text:gsub('%s+', ' ')))
end

---@param list citewell.Exploration
function M.is_open(list)
  return vim.api.nvim_buf_is_valid(list.bufnr)
end

---@param list citewell.Exploration
function M.show_state(list)
  if vim.api.nvim_win_is_valid(list.win) then
    local parts = { list.state }
    if #list.marked > 0 then
      parts[#parts + 1] = ('%d marked'):format(#list.marked)
    end
    local kept, rejected = #M.judged_as(list, 'kept'), #M.judged_as(list, 'rejected')
    if list.is_judged then
      parts[#parts + 1] = ('%d kept, %d rejected: r searches again'):format(kept, rejected)
    end
    parts[#parts + 1] = HELP
    local text = ' ' .. table.concat(parts, ' · ')
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
function M.rank_of(list, row)
  for rank, one in ipairs(list.marked) do
    if one.id == row.id then
      return rank
    end
  end
end

--- Mark a paper, or take its mark away; `line` is 0-based.
---@param list citewell.Exploration
---@param line integer
---@param row citewell.ExploredRow
function M.toggle_mark(list, line, row)
  local rank = M.rank_of(list, row)
  if rank then
    table.remove(list.marked, rank)
  else
    list.marked[#list.marked + 1] = row
  end
  vim.bo[list.bufnr].modifiable = true
  vim.api.nvim_buf_set_text(list.bufnr, line, 1, line, 2, { rank and ' ' or 'x' })
  vim.bo[list.bufnr].modifiable = false
end

--- Ids of the papers that the author kept, or rejected.
---@param list citewell.Exploration
---@param verdict citewell.Verdict
---@return string[]
function M.judged_as(list, verdict)
  local ids = {}
  for _, one in ipairs(list.judged) do
    if one.verdict == verdict then
      ids[#ids + 1] = one.row.id
    end
  end
  return ids
end

---@param list citewell.Exploration
---@param row citewell.ExploredRow
---@return citewell.Verdict?
function M.verdict_of(list, row)
  for _, one in ipairs(list.judged) do
    if one.row.id == row.id then
      return one.verdict
    end
  end
end

--- Keep or reject a paper; the same verdict again takes it back.
---@param list citewell.Exploration
---@param row citewell.ExploredRow
---@param verdict citewell.Verdict
function M.judge(list, row, verdict)
  local before = M.verdict_of(list, row)
  list.judged = vim.tbl_filter(function(one)
    return one.row.id ~= row.id
  end, list.judged)
  if before ~= verdict then
    table.insert(list.judged, { row = row, verdict = verdict })
  end
  list.is_judged = true
end

--- How likely a paper answers the question: "relevant 24%", "3%"; empty where it is not judged.
---@param row citewell.ExploredRow
---@return string
function M.relevance(row)
  local share = ''
  if type(row.relevance) == 'number' then
    share = row.relevance < 0.01 and '<1%' or ('%d%%'):format(math.floor(row.relevance * 100 + 0.5))
  end
  return vim.trim((row.relevant and 'relevant ' or '') .. share)
end

--- Show behind each paper whether the author kept or rejected it, and how likely it answers the question.
---@param list citewell.Exploration
function M.show_relevance(list)
  for line, item in pairs(list.items) do
    if item.row then
      local verdict = M.verdict_of(list, item.row)
      local relevance = M.relevance(item.row)
      local words = {}
      if verdict then
        words[#words + 1] = { ' · ' .. verdict, GROUPS[verdict] }
      end
      if relevance ~= '' and verdict ~= 'kept' then
        words[#words + 1] = { ' · ' .. relevance, item.row.relevant and 'DiagnosticHint' or 'Comment' }
      end
      item.extmark = vim.api.nvim_buf_set_extmark(list.bufnr, namespace, line - 1, 0, {
        id = item.extmark,
        virt_text = words,
        virt_text_pos = 'eol',
        line_hl_group = verdict == 'rejected' and 'Comment' or nil,
      })
    end
  end
end

---@param list citewell.Exploration
---@param line integer 0-based
---@param row citewell.ExploredRow
local function colour(list, line, row)
  local start = 4 + #M.one_line(find.name(row))
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
    lines[number] = ('[%s] %s'):format(M.rank_of(list, row) and 'x' or ' ', M.one_line(find.line(row)))
  end
  write(list, first, lines)
  for number, row in ipairs(rows) do
    colour(list, first + number - 1, row)
  end
  list.count = list.count + #rows
  M.show_relevance(list)
end

--- Show the question and what was understood of it, above the papers that stay marked.
---@param list citewell.Exploration
---@param query string
---@param parts citewell.Part[]
local function show_question(list, query, parts)
  list.query, list.items, list.count = query, {}, 0
  local lines = { 'Question: ' .. query }
  for _, part in ipairs(parts) do
    lines[#lines + 1] = '[x] ' .. M.one_line(find.part_name(part))
    list.items[#lines] = { part = part }
  end
  local rejected = #M.judged_as(list, 'rejected')
  if rejected > 0 then
    lines[#lines + 1] = ('[-] %d rejected paper%s'):format(rejected, rejected == 1 and '' or 's')
    list.items[#lines] = { is_rejected = true }
  end
  lines[#lines + 1] = ''
  write(list, 0, lines)
  vim.api.nvim_buf_set_extmark(list.bufnr, namespace, 0, 0, { end_col = #lines[1], hl_group = 'Title' })
  add(list, vim.list_slice(list.marked))
end

--- Ids of the papers that are listed and not rejected, from the top.
---@param list citewell.Exploration
---@return string[]
function M.listed(list)
  local ids = {}
  for line = 1, vim.api.nvim_buf_line_count(list.bufnr) do
    local row = (list.items[line] or {}).row
    if row and M.verdict_of(list, row) ~= 'rejected' then
      ids[#ids + 1] = row.id
    end
  end
  return ids
end

--- Show what all passes say of the papers that are listed; none of them moves.
---@param list citewell.Exploration
---@param rows citewell.ExploredRow[]
function M.update(list, rows)
  local found = {}
  for _, row in ipairs(rows) do
    found[row.id] = row
  end
  for _, item in pairs(list.items) do
    if item.row then
      local row = found[item.row.id] or { why = '' }
      item.row.why, item.row.relevance, item.row.relevant = row.why, row.relevance, row.relevant
    end
  end
  M.show_relevance(list)
end

--- List what a search brought: for its first pass also the question and its parts.
---@param list citewell.Exploration
---@param found citewell.Explored
function M.take(list, found)
  local is_new = list.is_new
  if is_new then
    list.is_new = false
    show_question(list, found.query, found.understood or {})
  end
  local top = vim.api.nvim_buf_line_count(list.bufnr)
  add(
    list,
    vim.tbl_filter(function(row)
      return M.rank_of(list, row) == nil
    end, found.rows)
  )
  if is_new and vim.api.nvim_win_is_valid(list.win) then
    local line = math.min(top + 1, vim.api.nvim_buf_line_count(list.bufnr))
    vim.api.nvim_win_set_cursor(list.win, { line, 0 })
  end
end

return M
