--- Fetching works of a source into the library: what the server suggests, or what is typed.
local M = {}

local client_of = require('citewell.client')
local example = 'arxiv --category cs.CL --since 2024'
local other = 'Something else ...'

---@param message string
---@param level? integer
local function notify(message, level)
  require('citewell.messages').notify(message, level)
end

---@param client vim.lsp.Client
---@param bufnr integer
---@param command string
---@param argument table|string
local function execute(client, bufnr, command, argument)
  client_of.execute(client, command, { argument }, function(_, err)
    if err then
      notify(err.message, vim.log.levels.ERROR)
    end
  end, bufnr)
end

---@param client vim.lsp.Client
---@param bufnr integer
---@param words? string
local function fetch(client, bufnr, words)
  if words and vim.trim(words) ~= '' then
    execute(client, bufnr, 'citewell.fetch', { words = words })
  end
end

---@param client vim.lsp.Client
---@param bufnr integer
local function ask(client, bufnr)
  vim.ui.input({ prompt = 'Fetch: ', default = example }, function(words)
    fetch(client, bufnr, words)
  end)
end

--- Fetch what the arguments of `citewell library fetch` say, or with `paper` the literature around
--- this file, which `never` declines to be offered; without any, ask.
---@param arguments string[]
function M.run(arguments)
  local bufnr = vim.api.nvim_get_current_buf()
  local client = client_of.get(bufnr)
  if not client then
    return
  end
  local uri = vim.uri_from_bufnr(bufnr)
  if arguments[1] == 'paper' then
    execute(client, bufnr, 'citewell.fetch', { uri = uri, paper = true })
    return
  end
  if arguments[1] == 'never' then
    execute(client, bufnr, 'citewell.declineFetch', arguments[2] == 'all' and '' or uri)
    return
  end
  if #arguments > 0 then
    fetch(client, bufnr, table.concat(arguments, ' '))
    return
  end
  client_of.execute(client, 'citewell.fetchSuggestions', { uri }, function(found, err)
    if err or type(found) ~= 'table' or #found == 0 then
      ask(client, bufnr)
      return
    end
    found[#found + 1] = other
    vim.ui.select(found, { prompt = 'Fetch', kind = 'citewell.fetch' }, function(choice)
      if choice == other then
        ask(client, bufnr)
      else
        fetch(client, bufnr, choice)
      end
    end)
  end, bufnr)
end

return M
