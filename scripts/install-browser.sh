#!/bin/sh
# In CI, installs what tests drive the web page with: Chromium and its fonts by apt, and axe-core, which
# checks accessibility, with npm into .cache/axe. Elsewhere it installs axe-core alone; the tests for what
# is missing skip.
set -eu
cd "$(dirname "$0")/.."
axe=4.14.1
place=$PWD/.cache/axe

say() { echo "install-browser: $1" >&2; }
browser() {
  for name in chromium chromium-browser google-chrome; do
    # Ubuntu's chromium may be a wrapper that only asks for its snap.
    if "$name" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}
install_chromium() {
  command -v apt-get >/dev/null 2>&1 || { say "no Chromium and no apt-get here"; return; }
  if [ "$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo=sudo; else
    say "no Chromium here and no right to install it"
    return
  fi
  export DEBIAN_FRONTEND=noninteractive
  { $sudo apt-get update -qq &&
    $sudo apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null ||
    say "Chromium could not be installed"
}

if ! browser; then
  if [ "${CI:-}" = true ]; then install_chromium; fi
  browser || say "no Chromium here (Debian: apt install chromium fonts-dejavu-core); the tests in it skip"
fi
if [ ! -f "$place/node_modules/axe-core/axe.min.js" ]; then
  mkdir -p "$place"
  echo '{"private": true}' >"$place/package.json"
  command -v npm >/dev/null 2>&1 &&
    (cd "$place" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error "axe-core@$axe" >/dev/null) ||
    say "axe-core cannot be fetched with npm; the tests of accessibility skip"
fi
