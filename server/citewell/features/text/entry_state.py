"""The state of an entry in a sign and a word or two, the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable

from citewell.model.bib import BibEntry
from citewell.model.check import Check, Verdict

CheckOf = Callable[[BibEntry], Check | None]
"""The verdict on an entry when it is known already; nothing waits for it."""

SIGNS = {
    Verdict.VERIFIED: ("✓", "verified"),
    Verdict.WRONG_DETAIL: ("⚠", "a detail is wrong"),
    Verdict.FABRICATED: ("✗", "does not exist as written"),
    Verdict.NOT_FOUND: ("?", "not in the library"),
    Verdict.UNCHECKED: ("·", "not checked"),
}
"""A sign and a few words for each verdict."""


FindCheck = Callable[[str, BibEntry], Check | None]
"""Returns the check of an entry, given the path of its .bib; None if unknown."""
DOUBTED = frozenset({Verdict.FABRICATED, Verdict.NOT_FOUND})
"""Verdicts that an entry is shown with in a list of what to cite."""


def unknown(path: str, entry: BibEntry) -> Check | None:
    """Nothing is known of any entry."""
    return None


def is_invented(check: Check | None) -> bool:
    """True for an entry of which it is known that no such work exists as written."""
    return check is not None and check.verdict is Verdict.FABRICATED


def doubt(check: Check | None) -> str:
    """A sign and a few words for an entry that is in doubt, else ""."""
    return " ".join(SIGNS[check.verdict]) if check is not None and check.verdict in DOUBTED else ""


def times(count: int) -> str:
    """ "once", "1,200 times"."""
    return "once" if count == 1 else f"{count:,} times"
