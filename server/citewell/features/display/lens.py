"""What stands above an entry of a .bib: how often it is cited, and which record agrees with it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from citewell.features.text.entry_state import times
from citewell.model.bib import BibEntry, BibFile
from citewell.model.check import Check, Verdict
from citewell.model.document import Span
from citewell.model.words import VERDICTS
from citewell.sources.registry import source_titles, titles_of_work

FEW_ENTRIES = 1_000
"""In a larger file, uncited entries are not marked as such: most of its entries are uncited."""


class Lens(msgspec.Struct, frozen=True):
    """One line above an entry."""

    span: Span
    """The entry's key."""
    title: str
    key: str = ""
    """The key whose uses a click shows; empty when there is nothing to show."""


def entry_lenses(
    bib: BibFile,
    count: Callable[[str], int],
    source_of: Callable[[BibEntry], str] | None = None,
    *,
    citations: bool = True,
) -> list[Lens]:
    """The lenses of a .bib in order. `count` says how often documents cite a key, `source_of` is
    the `source_line` of what is known of an entry."""
    few = len(bib.entries) <= FEW_ENTRIES
    found: list[Lens] = []
    for entry in bib.entries:
        if not entry.key or entry.type == "xdata":
            continue
        cited = count(entry.key) if citations else 0
        if cited:
            found.append(Lens(entry.key_span, f"cited {times(cited)}", entry.key))
        elif citations and few:
            found.append(Lens(entry.key_span, "not cited"))
        source = source_of(entry) if source_of is not None else ""
        if source:
            found.append(Lens(entry.key_span, source))
    return found


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
