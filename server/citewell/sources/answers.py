"""Answers of a source: records, none, or the reason of a failure. Never an exception."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from citewell.model import Problem, Work


class Reason(StrEnum):
    """Why a source did not answer. None of them says anything about the reference."""

    THROTTLED = "throttled"
    """It asks for patience (429, or 503 with a time)."""
    UNREACHABLE = "unreachable"
    """No connection, no answer in time, or an error of the server's own."""
    REFUSED = "refused"
    """It does not want the request (401, 403, a redirect to a stranger)."""
    NONSENSE = "nonsense"
    """The answer is cut short, too large, or not what the source says it sends."""
    RESTING = "resting"
    """It failed several times in a row and is left alone for a while."""
    UNABLE = "unable"
    """It has no such service."""


class Found(msgspec.Struct, frozen=True):
    """Records, best first."""

    source: str
    works: tuple[Work, ...]


class Nothing(msgspec.Struct, frozen=True):
    """The source answered, and has no such record."""

    source: str


class Failed(msgspec.Struct, frozen=True):
    """The source did not answer: whether it has a record is unknown."""

    source: str
    reason: Reason
    message: str
    """One sentence for the user; holds no key and no address with one."""

    @property
    def problem(self) -> Problem:
        """The failure as a problem for the user."""
        return Problem(
            "source-unanswered",
            self.message,
            "What it could not answer counts as unchecked; try again later.",
        )


Answer = Found | Nothing | Failed


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A reference that a source is asked about: exactly what may be sent of it."""

    doi: str = ""
    arxiv: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    """Family names, the first three at most."""
    year: int | None = None


def of_works(source: str, works: tuple[Work, ...] | list[Work]) -> Found | Nothing:
    """`Found`, or `Nothing` for an empty list."""
    return Found(source, tuple(works)) if works else Nothing(source)
