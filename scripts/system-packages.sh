#!/bin/sh
# In CI, installs TeX with apt when it is missing and we may. Elsewhere it only says what is missing:
# the tests that compile a paper then skip.
set -eu
missing=
for program in pdflatex bibtex biber; do
  command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
[ -n "$missing" ] || exit 0

packages="texlive-latex-base texlive-latex-recommended texlive-bibtex-extra biber"
if [ "${CI:-}" != true ]; then
  echo "Not installed:$missing. Tests that compile a paper skip (Debian: apt install $packages)."
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "Not installed:$missing, and there is no apt-get: tests that compile a paper skip."
  exit 0
fi
if [ "$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo=sudo; else
  echo "Not installed:$missing, and no right to install: tests that compile a paper skip."
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
{ $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends $packages; } \
  >/dev/null || echo "TeX could not be installed: tests that compile a paper skip."
