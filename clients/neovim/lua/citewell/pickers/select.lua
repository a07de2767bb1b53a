--- The list through `vim.ui.input` and `vim.ui.select`, which every Neovim has.
local M = {}

---@return boolean
function M.is_there()
  return true
end

---@param find citewell.Search
---@param words string
local function list(find, words)
  find.search(words, function(rows, problem)
    if #rows == 0 then
      local about = vim.trim(words) == '' and 'this place' or ('“%s”'):format(words)
      vim.notify(
        'Citewell: ' .. (problem or ('no paper was found for %s'):format(about)),
        vim.log.levels.WARN
      )
      return
    end
    vim.ui.select(rows, {
      prompt = 'Cite',
      kind = 'citewell',
      format_item = require('citewell.find').line,
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
