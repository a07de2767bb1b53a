#!/bin/sh
# Installs Citewell with the starter library into a new environment: the build step of Containerfile,
# which a test runs as well. Usage: install.sh FOLDER [EXTRAS]
set -eu
folder=$1
extras=${2:-http,online}
source=$(cd "$(dirname "$0")/.." && pwd)
python3=${PYTHON:-python3}

"$python3" -m venv "$folder"
"$folder/bin/python" -m pip install -q --disable-pip-version-check --no-cache-dir \
  "$source[$extras]" "$source/corpus_tools/starter"
"$folder/bin/python" -m pip uninstall -q -y --disable-pip-version-check pip
# Nothing is written after the build, so nothing is compiled later.
"$folder/bin/python" -m compileall -q -j 0 "$folder/lib" >/dev/null || true
cp "$source/containers/healthcheck.py" "$folder/healthcheck.py"
