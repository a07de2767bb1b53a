"""The commands of `citewell library` and `citewell-corpus`."""

from citewell.interrupts import run_command

__all__ = ["main"]


def main() -> None:
    """Run `citewell-corpus`; exit code 0: done, 1: with findings, 2: broken, 130: interrupted."""
    run_command("citewell_corpus.cli.app")
