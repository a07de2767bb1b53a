"""Answers of a source: records, none, or the reason of a failure. Never an exception."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Literal

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


class Matched(msgspec.Struct, frozen=True):
    """Records, best first."""

    source: str
    works: tuple[Work, ...]


class NoMatch(msgspec.Struct, frozen=True):
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


Answer = Matched | NoMatch | Failed


class SourceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A reference that a source is asked about: exactly what may be sent of it."""

    doi: str = ""
    arxiv: str = ""
    isbn: str = ""
    """Of a book as a whole, with 13 digits."""
    title: str = ""
    authors: tuple[str, ...] = ()
    """Family names, the first three at most."""
    year: int | None = None


def of_works(source: str, works: tuple[Work, ...] | list[Work]) -> Matched | NoMatch:
    """`Matched`, or `NoMatch` for an empty list."""
    return Matched(source, tuple(works)) if works else NoMatch(source)


# Counts of this process: how each request to a source was answered, for the metrics of a server.
#
# The other caches of a search process hold what one search computes several times. No setting
# sizes them, and what they miss is read from mapped files: nothing that an operator could act
# upon.

Outcome = Literal["hit", "revalidated", "miss", "uncached", "failed"]
"""`hit`: from the cache on disk. `revalidated`: from there, after the source confirmed that nothing
has changed. `miss`: from the source. `uncached`: from the source, without a look at the cache.
`failed`: there was no answer, or it was no longer waited for."""
Listener = Callable[[str, Outcome], None]

_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Call `listener` with the source's name and the outcome of each request from now on, on the
    thread that asks the sources."""
    _listeners.append(listener)


def count(source: str, outcome: Outcome) -> None:
    """Count one request to a source, tries that were repeated included."""
    for listener in _listeners:
        listener(source, outcome)
