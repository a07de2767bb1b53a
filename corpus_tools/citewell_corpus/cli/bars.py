"""Progress on standard error: a bar that goes away, or lines of long stages; then one line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from citewell_corpus.processes import Progress

if TYPE_CHECKING:
    from rich.console import Console

STEP_SECONDS = 2.0
"""Interval of progress lines, for logs and the editors that read them."""
LONG_SECONDS = 60.0
"""Minimum remaining seconds of a stage that are shown."""


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


class _ProgressLines:
    """Writes the progress of a long build, one line at a time."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = self._last_echo = time.monotonic()
        self._total = self._done = 0

    def stage(self, name: str, total: int) -> None:
        self._stage, self._total, self._done = name, total, 0
        self._began = time.monotonic()
        self._report(name)

    def advance(self, steps: int) -> None:
        """Advance the stage by `steps`."""
        self._done += steps
        self._report(f"{self._stage}: {self._state()}")

    def _report(self, line: str) -> None:
        """Write a line, unless the last one has just been written."""
        now = time.monotonic()
        if now - self._last_echo >= STEP_SECONDS:
            self._last_echo = now
            click.echo(line, err=True)

    def _state(self) -> str:
        """The finished share of the stage, and the estimated rest."""
        if not self._total:
            return f"{self._done:,}"
        share = min(1.0, self._done / self._total)
        left = (time.monotonic() - self._began) * (1 - share) / share if share else 0.0
        rest = f", about {_duration(left)} left" if left > LONG_SECONDS else ""
        return f"{int(100 * share)}%{rest}"


@contextmanager
def bars() -> Iterator[Progress]:
    """Show the stages of a build in the context, and their durations at the end."""
    from rich.console import Console

    began = time.monotonic()
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with _shown(console) as stages:
            yield stages
    else:
        yield _ProgressLines()
    click.echo(f"Done in {time.monotonic() - began:.1f} s.", err=True)


@contextmanager
def _shown(console: Console) -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as shown:
        stages = _Bars(shown)
        yield stages
        stages.finish()


class _Bars:
    def __init__(self, shown: object) -> None:
        from rich.progress import Progress as Bars

        assert isinstance(shown, Bars)
        self._shown = shown
        self._task: int | None = None

    def stage(self, name: str, total: int) -> None:
        self.finish()
        self._task = self._shown.add_task(name, total=total or None)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._shown.advance(self._task, steps)  # type: ignore[arg-type]

    def finish(self) -> None:
        """Fill the last bar: a finished stage is complete, whatever its count."""
        if self._task is None:
            return
        task = self._shown.tasks[self._task]
        total = task.total or 1
        self._shown.update(task.id, total=total, completed=total)
        self._task = None
