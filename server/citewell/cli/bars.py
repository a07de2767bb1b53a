"""Progress bars on standard error for commands that take long."""

from __future__ import annotations

from typing import Any

from citewell.cli.session import console


class Bars:
    """A `Reporter`, and the progress of a library's building; nothing where no terminal is."""

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

    def stage(self, name: str, total: int | None) -> None:
        self.begin(name, total or 0)

    def begin(self, what: str, total: int) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=total or None)

    def advance(self, n: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, n)
