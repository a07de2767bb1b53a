#!/bin/sh
# Put a real VS Code (code-server, 400 MB) into .cache/vscode for tests/e2e/vscode, and build the .vsix
# that these tests install. What is there is used again. What cannot be had is named, and the tests skip.
set -eu
cd "$(dirname "$0")/.."
python=$1
editor=4.100.3 # VS Code 1.100.3, the last that runs on Node 20
place=$PWD/.cache/vscode
server=$place/node_modules/code-server
client=$PWD/clients/vscode

skip() { echo "install-vscode: $1; the tests of the VS Code extension skip" >&2; exit 0; }
browser() {
  for name in chromium chromium-browser google-chrome; do
    # Ubuntu's chromium may be a wrapper that only asks for its snap.
    if "$name" --version >/dev/null 2>&1; then command -v "$name"; return 0; fi
  done
  return 1
}
npm_quietly() { npm "$@" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; }

command -v npm >/dev/null 2>&1 || skip "no npm (Node.js 20 or newer) here"
# scripts/system-packages.sh installs it.
browser >/dev/null || skip "no Chromium here (Debian: apt install chromium fonts-dejavu-core)"

if [ "$(cat "$place/installed" 2>/dev/null || true)" != "$editor" ]; then
  rm -rf "$place"
  mkdir -p "$place"
  echo '{"private": true}' >"$place/package.json"
  # No install scripts: they download builds for parts that no test uses (terminal, key ring).
  (cd "$place" && npm_quietly install "code-server@$editor") || skip "code-server cannot be fetched"
  (cd "$server/lib/vscode" && npm_quietly install --omit=dev) || skip "VS Code cannot be completed"
  # The watcher of files is built beforehand for the common systems; without it nothing is told
  # to the extension when a file changes on the disk.
  watcher=$(node -p '`@parcel/watcher-${process.platform}-${process.arch}` +
    (process.platform === "linux" ? "-glibc" : "") + "@" + require(process.argv[1]).version' \
    "$server/lib/vscode/node_modules/@parcel/watcher/package.json")
  (cd "$server/lib/vscode" && npm_quietly install --no-save --omit=dev "$watcher") ||
    skip "$watcher cannot be fetched"
  (cd "$server/lib/vscode/extensions" && npm_quietly install --omit=dev) ||
    skip "VS Code cannot be completed"
  ln -sfn node_modules "$server/lib/vscode/node_modules.asar"
  ln -sf code-linux.sh "$server/lib/vscode/bin/remote-cli/code-server"
  ln -sf browser-linux.sh "$server/lib/vscode/bin/helpers/browser.sh"
  # Hashes passwords; a build would be needed, and no password is asked on the loopback interface.
  echo 'exports.hash = exports.verify = () => { throw new Error("not built") }' \
    >"$place/node_modules/argon2/argon2.js"
  echo "$editor" >"$place/installed"
fi

"$python" -c 'import playwright' 2>/dev/null || skip "the driver of the browser is not installed (extra test)"

# The .vsix, anew when a file of the extension, or of the server whose wheel is in it, is newer.
vsix=$place/citewell.vsix
[ -f "$client/package.json" ] || skip "no extension in clients/vscode"
if [ ! -f "$vsix" ] || [ -n "$(find "$client" server corpus_tools pyproject.toml -name node_modules -prune -o \
  -name dist -prune -o -name wheel -prune -o -name __pycache__ -prune -o -name '*.vsix' -prune -o \
  -type f -newer "$vsix" -print | head -n 1)" ]; then
  make --no-print-directory --silent vsix >/dev/null || skip "the extension cannot be built"
  cp "$client/citewell.vsix" "$vsix"
fi
