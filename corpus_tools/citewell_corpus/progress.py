"""The progress interface of a build."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of a build."""

    def stage(self, name: str, total: int) -> None:
        """Start a stage of `total` steps (0: unknown), which ends the previous one."""
        ...

    def advance(self, steps: int) -> None:
        """Advance the stage by `steps`."""
        ...


class SilentProgress:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> None:
        """Nothing."""

    def advance(self, steps: int) -> None:
        """Nothing."""
