--- The list with `vim.ui.input` and `vim.ui.select`, which need no plugin.
local M = {}

---@return boolean
function M.is_available()
  return true
end

--- The first papers, with all rows that take a part of the query away.
---@param rows citewell.Row[]
---@param most integer
---@return citewell.Row[]
local function fitting(rows, most)
  local papers, parts = {}, {}
  for _, row in ipairs(rows) do
    table.insert(row.part and parts or papers, row)
  end
  return vim.list_extend(vim.list_slice(papers, 1, math.max(1, most - #parts)), parts)
end

---@param find citewell.Search
---@param words string
local function list(find, words)
  find.search(words, function(rows, problem)
    if #rows == 0 then
      local about = vim.trim(words) == '' and 'this place' or ('“%s”'):format(words)
      local text = problem or ('no papers found for %s'):format(about)
      require('citewell.messages').notify(text, vim.log.levels.WARN)
      return
    end
    local messages, line = require('citewell.messages'), require('citewell.find').line
    local own = messages.is_builtin(vim.ui.select)
    if own then
      -- A list that fills the screen, or a line that wraps, causes a "-- More --" prompt.
      rows = fitting(rows, math.max(1, vim.o.lines - 4))
    end
    vim.ui.select(rows, {
      prompt = rows[1].part and 'No papers found' or 'Cite',
      kind = 'citewell',
      format_item = function(row)
        return own and messages.truncate(line(row), vim.o.columns - 5) or line(row)
      end,
    }, function(row)
      if row then
        find.choose(row)
      end
    end)
  end)
end

---@param find citewell.Search
function M.open(find)
  if find.query ~= '' then
    list(find, find.query)
    return
  end
  vim.ui.input({ prompt = 'Find a paper (empty: for this sentence): ' }, function(words)
    if words then
      list(find, words)
    end
  end)
end

return M
