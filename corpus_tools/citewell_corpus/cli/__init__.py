"""The commands of `citewell library` and `citewell-corpus`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run `citewell-corpus` and exit with its code: 0 done, 1 with findings, 2 broken."""
    from citewell_corpus.cli.app import run

    sys.exit(run(sys.argv[1:]))
