"""The commands. Each lives in its own module, which is imported only when it is called."""

from citewell.interrupts import run_command

__all__ = ["main"]


def main() -> None:
    """Run `citewell` with the process's arguments and exit with its code.

    0: done, nothing to report. 1: done, with findings (no paper found, a placeholder left open, a
    problem that `doctor` names). 2: wrong usage or a broken environment. 130: interrupted.
    """
    run_command("citewell.cli.app")
