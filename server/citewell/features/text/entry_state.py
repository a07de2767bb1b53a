"""The state of an entry in a sign and a word or two, the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable

from citewell.model.bib import BibEntry
from citewell.model.check import INVENTED, Check, Verdict
from citewell.model.words import VERDICTS, words_of
from citewell.sources.registry import source_titles, titles_of_work

CheckOf = Callable[[BibEntry], Check | None]
"""The verdict on an entry when it is known already; nothing waits for it."""

FindCheck = Callable[[str, BibEntry], Check | None]
"""Returns the check of an entry, given the path of its .bib; None if unknown."""
DOUBTED = INVENTED | {Verdict.NOT_FOUND}
"""Verdicts that an entry is shown with in a list of what to cite."""


def unknown(path: str, entry: BibEntry) -> Check | None:
    """Nothing is known of any entry."""
    return None


def is_invented(check: Check | None) -> bool:
    """True for an entry of which it is known that no such work exists as written; not for one that
    its author has marked as checked."""
    return check is not None and check.verdict in INVENTED and check.mark is None


def doubt(check: Check | None) -> str:
    """The sign and the label of the verdict on an entry that is in doubt, else ""."""
    if check is None or check.verdict not in DOUBTED:
        return ""
    words = words_of(check)
    return f"{words.sign} {words.label}"


def times(count: int) -> str:
    """ "once", "1,200 times"."""
    return "once" if count == 1 else f"{count:,} times"


def source_line(check: Check | None) -> str:
    """Which record was found for an entry, and whether it agrees; empty while that is not known."""
    if check is None or check.verdict is Verdict.UNCHECKED:
        return ""
    sign, words = VERDICTS[check.verdict].sign, VERDICTS[check.verdict].label
    work = check.work
    names = titles_of_work(work) if work is not None else []
    where = ", ".join(names[:2]) or ", ".join(source_titles(check.sources))
    if check.verdict is Verdict.NOT_FOUND or not where:
        return f"{sign} {words}"
    return f"{sign} {words} · {where}"
