--- The list in fzf-lua: a search at each keystroke.
local M = {}

---@return boolean
function M.is_available()
  return (pcall(require, 'fzf-lua'))
end

---@param find citewell.Search
function M.open(find)
  local rows = {} ---@type table<string, citewell.Row>
  local cancel = function() end
  require('fzf-lua').fzf_live(function(given)
    -- Older versions pass the words, newer ones a list whose first item they are.
    local words = type(given) == 'table' and given[1] or given or ''
    return function(add)
      vim.schedule(function()
        cancel()
        cancel = find.search(words, function(found, problem)
          if problem and #found == 0 then
            require('citewell.messages').notify_once(problem, vim.log.levels.WARN)
          end
          for _, row in ipairs(found) do
            local line = require('citewell.find').line(row)
            rows[line] = row
            add(line)
          end
          add(nil)
        end)
      end)
    end
  end, {
    prompt = 'Find a paper> ',
    query = find.query,
    exec_empty_query = true,
    -- Keep the server's order; titles are not file names.
    fzf_opts = { ['--no-sort'] = true, ['--no-multi'] = true },
    file_icons = false,
    git_icons = false,
    preview = function(items)
      local row = items and rows[items[1]]
      return row and table.concat(require('citewell.find').preview(row), '\n') or ''
    end,
    actions = {
      ['default'] = function(selected)
        local row = selected and rows[selected[1]]
        if row then
          find.choose(row)
        end
      end,
    },
  })
end

return M
