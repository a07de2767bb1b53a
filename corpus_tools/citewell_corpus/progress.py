"""How far a build has come, told to whoever shows it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told of every stage of a build."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins that will take `total` steps; 0 when unknown. Ends the one before."""
        ...

    def advance(self, steps: int) -> None:
        """So many more steps of the stage are done."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> None:
        """Nothing."""

    def advance(self, steps: int) -> None:
        """Nothing."""
