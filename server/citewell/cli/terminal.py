"""The one way to the terminal, with the log and progress bars: no control character of a foreign
text gets there.

Commands print with `echo` and `console`. What other programs read (a diff for `patch`,
entries, a report) is escaped only on a terminal; see `echo_exact`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

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


PIPE_WIDTH = 120
"""Columns of a table that goes to a file or a pipe, where `COLUMNS` does not say otherwise."""


def console(*, err: bool = False) -> Console:
    """A rich console that keeps lines whole when its output goes to a file or a pipe.

    `COLUMNS` is the width wherever it goes; with `NO_COLOR` there are no styles at all.
    """
    made_of = visible_console()
    plain = no_color()
    system: Literal["auto"] | None = None if plain else "auto"
    made = made_of(stderr=err, highlight=False, color_system=system, no_color=plain)
    if not made.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        made = made_of(
            stderr=err, highlight=False, color_system=system, no_color=plain, width=PIPE_WIDTH
        )
    return made


def no_color() -> bool:
    """Whether the user wants no colours (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def set_up_logging(verbosity: int) -> None:
    """Log to standard error: errors with -q, else warnings; -v informs, -vv debugs."""
    level = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}.get(verbosity, logging.DEBUG)
    root = logging.getLogger()
    root.setLevel(level)
    for handler in list(root.handlers):
        if isinstance(handler, _LateHandler):
            root.removeHandler(handler)
    root.addHandler(_LateHandler())


class _LateHandler(logging.Handler):
    """Imports rich at the first record: most runs log nothing."""

    inner: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.inner is None:
            from rich.logging import RichHandler

            self.inner = RichHandler(console=console(err=True), show_path=False)
        self.inner.emit(record)


class Bars:
    """The progress of a measurement or of a library's building; nothing where no terminal is."""

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console(err=True),
            transient=True,
        )
        self._task: Any = None

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def stage(self, name: str, total: int) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total or None)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, steps)
