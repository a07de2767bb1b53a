#!/bin/sh
# In CI, installs with apt what tests need beside Python, where it is missing and we may. Elsewhere it
# only says what is missing: the tests for it then skip.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
old_neovim() { /usr/bin/nvim --version 2>/dev/null | grep -q '^NVIM v0\.[0-9]\.\|^NVIM v0\.10\.'; }
eglot() { have emacs && emacs --batch --eval "(require 'eglot)" >/dev/null 2>&1; }

missing=
want() { # what it is for, packages, and the test that it is there
  what=$1 packages=$2
  shift 2
  "$@" || {
    missing="$missing $packages"
    echo "Not installed: $what (Debian: apt install $packages)."
  }
}
tex() { have pdflatex && have bibtex && have biber; }
want "TeX, to compile papers" \
  "texlive-latex-base texlive-latex-recommended texlive-bibtex-extra biber" tex
want "luacheck, to lint the Neovim plugin" "lua-check" have luacheck
want "an old Neovim, which must be told so" "neovim" old_neovim
want "Emacs with eglot" "emacs-nox elpa-eglot" eglot
[ -n "$missing" ] || exit 0

skip() { echo "$1 The tests for these skip."; exit 0; }
[ "${CI:-}" = true ] || skip "That is well."
have apt-get || skip "There is no apt-get."
if [ "$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo=sudo; else
  skip "There is no right to install them."
fi
export DEBIAN_FRONTEND=noninteractive
# One by one: what a distribution lacks must not cost the rest.
$sudo apt-get update -qq >/dev/null || skip "apt-get has no lists."
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
  for package in $missing; do
    $sudo apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
      echo "$package could not be installed."
  done
