"""Hints within the text: who and when beside a cited key, what the check found beside an entry."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

import msgspec

from citewell.features.citing.completion import family_names
from citewell.features.text.entry_state import CheckOf
from citewell.model.bib import BibEntry, BibFile
from citewell.model.check import Verdict
from citewell.model.display_text import shorten
from citewell.model.document import Document, Span
from citewell.model.words import words_of

MAX_HINTS = 2_000
"""Of one answer: a window shows a hundred lines, and a client that asks for all gets no more."""
MAX_TEXT = 40


class Hint(msgspec.Struct, frozen=True):
    """A few words beside a place in a text, and what a pointer over them says."""

    offset: int
    text: str
    tooltip: str = ""


def citation_hints(
    document: Document, find: Callable[[str], BibEntry | None], span: Span
) -> list[Hint]:
    """Hints with author and year after each cited key in a part of a document.

    Keys without an entry get none: a diagnostic reports them.
    """
    citations = document.citations
    first = bisect_left(citations, span.start, key=lambda citation: citation.span.end)
    found: list[Hint] = []
    for citation in citations[first:]:
        if citation.span.start > span.end or len(found) >= MAX_HINTS:
            break
        if citation.command.startswith("nocite"):
            continue
        for use in citation.keys:
            entry = find(use.key) if span.start <= use.span.end <= span.end else None
            if entry is not None and (text := author_year(entry)):
                found.append(Hint(use.span.end, text, entry.get("title")))
    return found


def author_year(entry: BibEntry) -> str:
    """ "Vaswani et al. 2017": from the entry alone, which costs a few microseconds."""
    names = tuple(author.family or author.given for author in entry.body.authors)
    who = family_names(names, " and ") or entry.get("editor").split(",")[0]
    who = shorten(who, MAX_TEXT, inside_words=True)
    return " ".join(part for part in (who, str(entry.body.year or "")) if part)


def entry_hints(bib: BibFile, check_of: CheckOf, span: Span) -> list[Hint]:
    """What is known of each entry of a part of a .bib, behind its key. Nothing waits for it."""
    found: list[Hint] = []
    for entry in entries_within(bib, span):
        check = check_of(entry)
        if check is None or (check.verdict is Verdict.UNCHECKED and check.mark is None):
            continue
        shown = words_of(check)
        words = shown.label
        findings = [finding.message for finding in check.findings]
        if check.verdict is Verdict.WRONG_DETAIL and findings and check.mark is None:
            fields = dict.fromkeys(finding.field for finding in check.findings if finding.field)
            words = ", ".join(fields) or words
        end = entry.key_span.end
        comma = bib.text[end : end + 1] == ","
        found.append(
            Hint(end + comma, f"{shown.sign} {words}", "\n".join(findings or check.evidence))
        )
        if len(found) >= MAX_HINTS:
            break
    return found


def entries_within(bib: BibFile, span: Span) -> Iterator[BibEntry]:
    """The entries that a part of the file touches: found by bisection, not by looking at all."""
    entries = bib.entries
    first = max(0, bisect_right(entries, span.start, key=lambda entry: entry.start) - 1)
    for index in range(first, len(entries)):
        entry = entries[index]
        if entry.start > span.end:
            return
        if entry.end >= span.start:
            yield entry
