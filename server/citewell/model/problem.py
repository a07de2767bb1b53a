"""What can be wrong, in words for the user: values with a code, and the one exception base."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a user should know. Never raised: returned beside the result."""

    code: str
    """Stable, kebab-case, documented: "library-missing", "bib-syntax", "retriever-late"."""
    message: str
    """One sentence that says what is wrong and names the thing."""
    hint: str = ""
    """One sentence that says what to do about it."""
    path: str = ""
    line: int | None = None
    """1-based line in `path`."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}: " if self.path and self.line else ""
        place = place or (f"{self.path}: " if self.path else "")
        return f"{place}{self.message}{' ' + self.hint if self.hint else ''}"


class CitewellError(Exception):
    """A broken environment: the operation cannot go on. Carries the problem to show."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem
