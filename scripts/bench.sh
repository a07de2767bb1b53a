#!/bin/sh
# Runs every benchmark in tests/bench, one after the other, each with its default size.
set -eu
# Measured is the library that each script names, and nothing below it.
export CITEWELL_LIBRARY_STARTER=false
for script in tests/bench/*_bench.py; do
  [ -e "$script" ] || { echo "no benchmark in tests/bench"; exit 0; }
  echo "== $script"
  python "$script"
done
