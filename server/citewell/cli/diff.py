"""A unified diff in colour, and plain where colour is not wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.cli.terminal import echo_exact

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def show_diff(console: Console, diff: str) -> None:
    """Print a diff: in colour on a terminal, else byte for byte, so that `patch` can read it."""
    if not console.is_terminal:
        echo_exact(diff)
        return
    from rich.text import Text

    for line in diff.split("\n")[:-1]:
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        console.print(Text(line.rstrip("\r"), style=style), soft_wrap=True)
