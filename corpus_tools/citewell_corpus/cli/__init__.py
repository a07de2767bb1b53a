"""The commands of `citewell library` and `citewell-corpus`."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run `citewell-corpus` and exit with its code: 0 done, 1 with findings, 2 broken."""
    from citewell.privacy import SAFE_PATH
    from citewell_corpus.cli.app import run

    os.environ.update(SAFE_PATH)

    sys.exit(run(sys.argv[1:]))
