-- luacheck of the plugin: `luacheck .` in this folder.
std = 'luajit'
cache = false
max_line_length = 110
-- What Neovim brings; its fields are not listed, for luacheck's own list is of an older one.
globals = { 'vim' }
