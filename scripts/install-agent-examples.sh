#!/bin/sh
# Install the frameworks of clients/examples/agents into an environment of their own, which the tests of the
# examples use.
set -eu
python=$1
say() { echo "install-agent-examples: $1; the tests of the examples skip" >&2; }
case $python in
  /*) ;;
  */*) python=$PWD/$python ;;
esac
cd "$(dirname "$0")/../clients/examples/agents"
"$python" -m venv .venv && .venv/bin/python -m pip install -q --disable-pip-version-check \
  -r requirements.txt || { rm -rf .venv; say "the index lacks some of the packages"; }
