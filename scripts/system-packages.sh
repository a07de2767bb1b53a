#!/bin/sh
# Install the programs that tests need beside Python, with apt, where root or sudo allows it.
# Elsewhere one line names the packages that are missing: the tests for them skip.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
old_neovim() { /usr/bin/nvim --version 2>/dev/null | grep -q '^NVIM v0\.[0-9]\.\|^NVIM v0\.10\.'; }
eglot() { have emacs && emacs --batch --eval "(require 'eglot)" >/dev/null 2>&1; }
tex() { have pdflatex && have bibtex && have biber; }
browser() { # not `chromium`: a function of that name would call itself
  for name in chromium chromium-browser google-chrome; do
    # Ubuntu's chromium may be a wrapper that only asks for its snap.
    if "$name" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

missing=
want() { # the packages, and the test that they are there
  packages=$1
  shift
  "$@" || missing="$missing $packages"
}
want "texlive-latex-base texlive-latex-recommended texlive-bibtex-extra biber" tex
want lua-check have luacheck
want neovim old_neovim # an old one, which must be told so
want "emacs-nox elpa-eglot" eglot
want "chromium fonts-dejavu-core" browser
want curl have curl
want strace have strace
[ -n "$missing" ] || exit 0

skip() { echo "Not installed ($1), tests skip:$missing"; exit 0; }
have apt-get || skip "no apt-get here"
if [ "$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo=sudo; else
  skip "neither root nor sudo without a password"
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq >/dev/null || skip "apt-get has no lists"
# One by one if need be: a package that a distribution lacks must not cost the rest.
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 || {
  failed=
  for package in $missing; do
    $sudo apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
      failed="$failed $package"
  done
  missing=$failed
  [ -z "$missing" ] || skip "apt-get failed"
}
