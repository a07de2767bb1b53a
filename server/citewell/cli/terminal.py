"""The one way to the terminal: no control character of a foreign text gets there.

Commands print with `echo` and `session.console`. What other programs read (a diff for `patch`,
entries, a report) is escaped only on a terminal; see `echo_exact`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console


def echo(text: str, *, err: bool = False) -> None:
    """One line for a reader."""
    from citewell.model.display_text import visible

    click.echo(visible(text), err=err)


def echo_exact(text: str) -> None:
    """A text for a program, byte for byte; with control characters written out on a terminal."""
    from citewell.model.display_text import visible

    # Without `color` click takes colours out of what goes to no terminal: they may be the text's.
    click.echo(visible(text) if sys.stdout.isatty() else text, nl=False, color=True)


def visible_console() -> type[Console]:
    """A rich console that colours and moves the cursor itself; what it prints cannot."""
    from rich.console import Console
    from rich.segment import Segment

    from citewell.model.display_text import visible

    class VisibleConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield Segment(visible(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            # Rich would end the process and its standard output, a language server's included,
            # where its log is closed.
            self.quiet = True
            if not self.stderr:
                raise BrokenPipeError

    return VisibleConsole
