"""What a completion list holds, and how its edit is placed; shared by papers and keys.

The form is the one that every editor's filter and every editor's way of applying an item agree on:
all items replace the same range, which starts on the cursor's line; the new text has no white
space (one editor cuts it there); nothing but that range changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from citewell.model import Evidence, Problem, Query, Work
from citewell.model.bib import BibEntry, TextEdit
from citewell.model.check import INVENTED, Check, Verdict
from citewell.model.document import Document, Span
from citewell.model.titles import plain_title
from citewell.model.venues import short_venue, shown_venue, venue_ids
from citewell.model.words import VERDICTS, Certainty, words_of
from citewell.sources.registry import source_titles, titles_of_work

# The state of an entry in a sign and a word or two, the same wherever it is shown.

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


_SPACE = re.compile(r"\s")


class Candidate(msgspec.Struct, frozen=True):
    """One thing to cite: a new paper (`work`) or an entry of the project's own (`entry`)."""

    key: str
    text: str
    """What replaces the list's range."""
    title: str
    year: int | None = None
    venue: str = ""
    authors: str = ""
    work: Work | None = None
    """Set when accepting must add an entry to a .bib."""
    entry: BibEntry | None = None
    bib: str = ""
    """Path of the .bib that holds `entry`."""
    evidence: tuple[Evidence, ...] = ()
    check: Check | None = None
    """What is known of `entry`, where that is in doubt."""
    certainty: Certainty = ""
    """How certain `work` is, where a ranker says it."""


def who_and_when(candidate: Candidate) -> str:
    """ "Chen, Manning 2014", which authors know a paper by."""
    return f"{candidate.authors} {candidate.year or ''}".strip()


def where(candidate: Candidate) -> str:
    """ "NeurIPS", as short as a row of a list wants it."""
    name = plain_title(candidate.venue)
    venue = short_venue(name, venue_ids(name)) if name else ""
    # Names of proceedings often hold the year, which the row states already.
    return venue.removesuffix(str(candidate.year or "")).strip()


class Completion(msgspec.Struct, frozen=True):
    """A list of candidates, best first, for one place in a document."""

    span: Span
    """What is replaced. Begins at the same place in each list for this placeholder or key."""
    typed: str
    """The document's text from the span's start to the cursor."""
    tail: str
    """The document's text from the cursor to the span's end: an editor that replaces up to the
    cursor only leaves it behind."""
    candidates: tuple[Candidate, ...] = ()
    problems: tuple[Problem, ...] = ()
    query: Query | None = None
    """What the library was asked; None where it was not."""
    variant: str = ""
    """What made the order of its papers."""


class InsertionSite(msgspec.Struct, frozen=True):
    """Where the text of the candidates goes."""

    span: Span
    typed: str
    tail: str
    after: str
    """What each candidate's text ends with: what stands between the edit and the cursor."""


def place_for(document: Document, cursor: int, edit: TextEdit) -> InsertionSite | None:
    """The range for an edit at a cursor; None where no editor could apply it in one piece."""
    text = document.text
    start, end = edit.span.start, max(edit.span.end, cursor)
    if not start <= cursor or _breaks_line(text, start, end):
        return None
    after = text[edit.span.end : cursor]
    if _SPACE.search(edit.text) or _SPACE.search(after):
        return None
    return InsertionSite(Span(start, end), text[start:cursor], text[cursor:end], after)


def family_names(names: tuple[str, ...], between: str = ", ") -> str:
    """ "Vaswani", "Kipf, Welling", "Devlin et al.": three names stand for more."""
    return between.join(names) if len(names) <= 2 else f"{names[0]} et al."


def work_candidate(
    work: Work, key: str, text: str, evidence: tuple[Evidence, ...] = (), certainty: Certainty = ""
) -> Candidate:
    """A candidate for a paper that is in no .bib of the project yet."""
    return Candidate(
        key=key,
        text=text,
        title=work.title,
        year=work.year,
        venue=shown_venue(work.venue or work.booktitle or work.journal or work.publisher),
        authors=family_names(tuple(a.family or a.given for a in work.authors)),
        work=work,
        evidence=evidence,
        certainty=certainty,
    )


def entry_candidate(
    entry: BibEntry,
    bib: str,
    text: str,
    evidence: tuple[Evidence, ...] = (),
    check: Check | None = None,
) -> Candidate:
    """A candidate for an entry in a .bib of the project; `check` is its check, where known."""
    venue = entry.get("booktitle") or entry.get("journaltitle") or entry.get("journal")
    return Candidate(
        key=entry.key,
        text=text,
        title=entry.get("title"),
        year=entry.body.year,
        venue=venue or entry.get("publisher"),
        authors=family_names(tuple(a.family or a.given for a in entry.body.first_authors(3))),
        entry=entry,
        bib=bib,
        evidence=evidence,
        check=check if doubt(check) else None,
    )


def _breaks_line(text: str, start: int, end: int) -> bool:
    return "\n" in text[start:end] or "\r" in text[start:end]
