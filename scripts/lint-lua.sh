#!/bin/sh
# Check the form and the names of the Neovim plugin. stylua is fetched with npm; what is not there is
# named, and its check is left out.
set -eu
cd "$(dirname "$0")/.."
plugin=clients/neovim
place=.cache/lua
stylua=$(command -v stylua || echo "$place/node_modules/.bin/stylua")

if ! [ -x "$stylua" ] && command -v npm >/dev/null 2>&1; then
  mkdir -p "$place"
  echo '{"private": true}' >"$place/package.json"
  (cd "$place" && npm install --no-audit --no-fund --loglevel=error @johnnymorganz/stylua-bin@2.5.2) \
    >/dev/null || echo "lint-lua: stylua cannot be fetched" >&2
fi
if [ -x "$stylua" ]; then "$stylua" --check "$plugin"; else
  echo "lint-lua: no stylua here (npm install @johnnymorganz/stylua-bin)" >&2
fi
if command -v luacheck >/dev/null 2>&1; then (cd "$plugin" && luacheck -q .); else
  echo "lint-lua: no luacheck here (Debian: apt install lua-check)" >&2
fi
