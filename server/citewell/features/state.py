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


def times(count: int) -> str:
    """ "once", "1,200 times"."""
    return "once" if count == 1 else f"{count:,} times"
