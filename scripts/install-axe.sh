#!/bin/sh
# Put axe-core, which checks the accessibility of the web page, into .cache/axe with npm.
# The tests that need it skip where npm cannot fetch it.
set -eu
cd "$(dirname "$0")/.."
axe=4.14.1
place=$PWD/.cache/axe

[ ! -f "$place/node_modules/axe-core/axe.min.js" ] || exit 0
mkdir -p "$place"
echo '{"private": true}' >"$place/package.json"
command -v npm >/dev/null 2>&1 &&
  (cd "$place" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error "axe-core@$axe" >/dev/null) ||
  echo "install-axe: axe-core cannot be fetched with npm; the tests of accessibility skip" >&2
