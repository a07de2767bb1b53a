"""Completion lists and the placement of their edits; shared by papers and keys.

The form suits the filters and the edits of all editors: all items replace the same range, which
starts on the cursor's line; the new text has no white space (one editor would cut it there);
nothing but that range changes.
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

# The state of an entry in a sign and a word or two, the same everywhere.

CheckOf = Callable[[BibEntry], Check | None]
"""Returns the verdict on an entry if it is already known, without waiting."""

FindCheck = Callable[[str, BibEntry], Check | None]
"""Returns the check of an entry, given the path of its .bib; None if unknown."""
DOUBTED = INVENTED | {Verdict.NOT_FOUND}
"""Verdicts shown with an entry in a list of papers to cite."""


def unknown(path: str, entry: BibEntry) -> Check | None:
    """Return None: nothing is known of any entry."""
    return None


def is_invented(check: Check | None) -> bool:
    """True for an entry known to describe no work as written, and not marked as checked."""
    return check is not None and check.verdict in INVENTED and check.mark is None


def doubt(check: Check | None) -> str:
    """The sign and the label of the verdict on a doubtful entry, else ""."""
    if check is None or check.verdict not in DOUBTED:
        return ""
    words = words_of(check)
    return f"{words.sign} {words.label}"


def times(count: int) -> str:
    """ "once", "1,200 times"."""
    return "once" if count == 1 else f"{count:,} times"


def source_line(check: Check | None) -> str:
    """The record found for an entry, and whether it agrees; empty while unknown."""
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
    """One paper to cite: a new one (`work`) or an entry of the project (`entry`)."""

    key: str
    text: str
    """The text that replaces the list's range."""
    title: str
    year: int | None = None
    venue: str = ""
    authors: str = ""
    work: Work | None = None
    """Set when accepting must add an entry to a .bib."""
    entry: BibEntry | None = None
    bib: str = ""
    """Path of the .bib with `entry`."""
    evidence: tuple[Evidence, ...] = ()
    check: Check | None = None
    """The check of `entry`, if it is in doubt."""
    certainty: Certainty = ""
    """Certainty of `work`, if a ranker is available."""


def who_and_when(candidate: Candidate) -> str:
    """ "Chen, Manning 2014", the authors' usual name for a paper."""
    return f"{candidate.authors} {candidate.year or ''}".strip()


def where(candidate: Candidate) -> str:
    """The venue in the short form for lists: "NeurIPS"."""
    name = plain_title(candidate.venue)
    venue = short_venue(name, venue_ids(name)) if name else ""
    # Names of proceedings often contain the year, which the row already shows.
    return venue.removesuffix(str(candidate.year or "")).strip()


class Completion(msgspec.Struct, frozen=True):
    """A list of candidates, best first, for one place in a document."""

    span: Span
    """Range to replace. Begins at the same offset in each list for this placeholder or key."""
    typed: str
    """The document's text from the span's start to the cursor."""
    tail: str
    """The document's text from the cursor to the span's end: it remains in an editor that replaces
    text only up to the cursor."""
    candidates: tuple[Candidate, ...] = ()
    problems: tuple[Problem, ...] = ()
    query: Query | None = None
    """The query to the library, or None."""
    variant: str = ""
    """The configuration that ordered its papers."""


class InsertionSite(msgspec.Struct, frozen=True):
    """The range of the candidates' text."""

    span: Span
    typed: str
    tail: str
    after: str
    """End of each candidate's text: the text between the edit and the cursor."""


def place_for(document: Document, cursor: int, edit: TextEdit) -> InsertionSite | None:
    """The range for an edit at a cursor; None if no editor could apply it in one piece."""
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
    """A candidate for a paper without an entry in the project."""
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
    """A candidate for an entry in a .bib of the project, with its check if known."""
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
