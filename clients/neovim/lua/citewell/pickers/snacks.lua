--- The list in snacks.picker: a search at each keystroke, a preview with the abstract.
local M = {}

---@return boolean
function M.is_available()
  local there, snacks = pcall(require, 'snacks')
  return there and type(snacks) == 'table' and snacks.picker ~= nil
end

---@param row citewell.Row
local function item_of(row)
  local show = require('citewell.find')
  return {
    text = show.line(row),
    row = row,
    preview = { text = table.concat(show.preview(row), '\n'), ft = 'markdown', loc = false },
  }
end

---@param find citewell.Search
function M.open(find)
  local show = require('citewell.find')
  require('snacks').picker.pick({
    source = 'citewell',
    title = 'Find a paper',
    live = true,
    search = find.query,
    preview = 'preview',
    finder = function(_, ctx)
      local words = ctx.filter.search
      return function(add)
        local async = require('snacks.picker.util.async').running()
        local cancel = function() end
        async:on(
          'abort',
          vim.schedule_wrap(function()
            cancel()
          end)
        )
        vim.schedule(function()
          cancel = find.search(words, function(rows, problem)
            if problem and #rows == 0 then
              require('citewell.messages').notify_once(problem, vim.log.levels.WARN)
            end
            for _, row in ipairs(rows) do
              add(item_of(row))
            end
            async:resume()
          end)
        end)
        async:suspend()
      end
    end,
    format = function(item)
      return { { show.name(item.row) }, { '  ' }, { show.about(item.row), 'Comment' } }
    end,
    confirm = function(picker, item)
      picker:close()
      if item then
        find.choose(item.row)
      end
    end,
  })
end

return M
