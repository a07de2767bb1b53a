# The one front door: `make help` prints what there is. Each target does its own set-up.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
VENV   ?= .venv
JOBS   ?= 2
TESTS  ?= tests

ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO ?= citewell-demo
VSCODE := clients/vscode
WHEELS := $(VSCODE)/wheel clients/neovim/wheel

# Tools of the environment first, whether or not anybody activated it.
export PATH := $(if $(filter /%,$(VENV)),$(BIN),$(CURDIR)/$(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Child processes and threads of the numeric libraries share the cores with the other tests.
export OMP_NUM_THREADS ?= 2
export TOKENIZERS_PARALLELISM ?= false

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint format docs site nightly wheel vsix mcpb bench clean

help: ## Print this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.demo ## Fill the citations of a bundled paper from 410,000 real ones and compile it
	$(BIN)/citewell demo --out $(DEMO)

test: $(VENV)/.test ## Install what the tests need, lint, check the types and the imports, and run every test
	@sh scripts/system-packages.sh
	@sh scripts/install-axe.sh
	@sh scripts/install-vscode.sh "$(BIN)/python"
	$(MAKE) --no-print-directory check-lint
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --durations=10 $(TESTS)

nightly: $(VENV)/.test ## Run the tests that take long: kills, clusters, training, long loops, races
	$(BIN)/python -m pytest -q -m nightly -n $(JOBS) --dist worksteal $(TESTS)

lint: $(VENV)/.test check-lint ## Lint, check the types and the direction of imports

.PHONY: check-lint
check-lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@sh scripts/lint-lua.sh
	@if [ -e $(VSCODE)/node_modules/.installed ]; then cd $(VSCODE) && npm run --silent lint; \
	  else echo "The VS Code extension is not checked: that needs Node.js 20 and \`make vsix\`."; fi

format: $(VENV)/.test ## Bring the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.base ## Write the pages that are made from the code
	$(BIN)/python scripts/write_docs.py

site: $(VENV)/.test ## Build the documentation as a website in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q -f scripts/site/mkdocs.yml

# The wheels go into the .vsix, and beside the Neovim plugin: what they install is of their own version.
wheel: $(VENV)/.created ## Build the wheels that the editors' clients install: server and starter library
	rm -rf $(WHEELS)
	$(PIP) wheel -q --no-deps -w $(VSCODE)/wheel . ./corpus_tools/starter
	mkdir -p clients/neovim/wheel && cp $(VSCODE)/wheel/*.whl clients/neovim/wheel

vsix: wheel $(VSCODE)/node_modules/.installed ## Package the VS Code extension (needs Node.js 20 or newer)
	cd $(VSCODE) && npm run --silent package

mcpb: wheel ## Package the bundle for Claude Desktop, which makes an environment with uv
	rm -rf build/mcpb && mkdir -p build/mcpb/wheel
	cp clients/mcpb/manifest.json clients/mcpb/pyproject.toml clients/mcpb/server.py build/mcpb
	cp $(VSCODE)/wheel/*.whl build/mcpb/wheel
	cd build/mcpb && python -m zipfile -c ../citewell.mcpb manifest.json pyproject.toml server.py wheel

$(VSCODE)/node_modules/.installed: $(VSCODE)/package-lock.json
	@command -v npm >/dev/null || { echo "Node.js 20 or newer is needed for this." >&2; exit 1; }
	# Not `npm ci`: it refuses a lock without the builds for other systems, which a mirror may lack.
	cd $(VSCODE) && npm install --ignore-scripts --no-save --loglevel=error
	@touch $@

bench: $(VENV)/.test ## Measure latency and recall (see tests/bench)
	sh scripts/bench.sh

clean: ## Remove the environment and everything made
	rm -rf $(VENV) $(WHEELS) clients/examples/agents/.venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# A stamp is newer than pyproject.toml once the environment holds what the target needs, so a
# second run installs nothing.
$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "Citewell needs Python 3.11 or newer: none was found." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Citewell needs Python 3.11 or newer; set PYTHON=/path/to/it." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV) || { echo "Install the venv module (Debian: python3-venv)." >&2; exit 1; }
	@touch $@

$(VENV)/.base: $(VENV)/.created pyproject.toml
	$(PIP) install -q -e .
	@touch $@

$(VENV)/.demo: $(VENV)/.created pyproject.toml corpus_tools/starter/pyproject.toml
	$(PIP) install -q -e . -e ./corpus_tools/starter
	@touch $@

$(VENV)/.test: $(VENV)/.created pyproject.toml scripts/install-test.sh
	sh scripts/install-test.sh "$(BIN)/python"
	@touch $@ $(VENV)/.base
