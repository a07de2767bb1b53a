--- The list in telescope.nvim: a search at each keystroke, a preview with the abstract.
local M = {}

---@return boolean
function M.is_available()
  return (pcall(require, 'telescope'))
end

---@param row citewell.Row
local function entry_of(row)
  return { value = row, display = require('citewell.find').line(row), ordinal = row.title }
end

--- A telescope finder: a callable that searches for each prompt, with `close`.
---@param find citewell.Search
local function finder(find)
  local cancel = function() end
  return setmetatable({
    close = function()
      cancel()
    end,
  }, {
    __call = function(_, prompt, process_result, process_complete)
      cancel()
      cancel = find.search(prompt or '', function(rows, problem)
        if problem and #rows == 0 then
          require('citewell.messages').notify_once(problem, vim.log.levels.WARN)
        end
        for _, row in ipairs(rows) do
          if process_result(entry_of(row)) then
            return
          end
        end
        process_complete()
      end)
    end,
  })
end

---@param find citewell.Search
function M.open(find)
  local actions = require('telescope.actions')
  local state = require('telescope.actions.state')
  local previewer = require('telescope.previewers').new_buffer_previewer({
    title = 'Paper',
    define_preview = function(self, entry)
      local lines = require('citewell.find').preview(entry.value)
      vim.api.nvim_buf_set_lines(self.state.bufnr, 0, -1, false, lines)
      vim.bo[self.state.bufnr].filetype = 'markdown'
      vim.wo[self.state.winid].wrap = true
    end,
  })
  require('telescope.pickers')
    .new({}, {
      prompt_title = 'Find a paper',
      default_text = find.query,
      debounce = 50,
      finder = finder(find),
      -- Keep the server's order.
      sorter = require('telescope.sorters').highlighter_only({}),
      previewer = previewer,
      attach_mappings = function(prompt)
        actions.select_default:replace(function()
          local entry = state.get_selected_entry()
          actions.close(prompt)
          if entry then
            find.choose(entry.value)
          end
        end)
        return true
      end,
    })
    :find()
end

return M
