"""The commands. Each lives in its own module, which is imported only when it is called."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run `citewell` with the process's arguments and exit with its code.

    0: done, nothing to report. 1: done, with findings (no paper found, a placeholder left open, a
    problem that `doctor` names). 2: wrong usage or a broken environment. 130: interrupted.
    """
    try:
        from citewell.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while loading the commands or reporting an error
        code = 130
    sys.exit(code)
