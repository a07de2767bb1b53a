"""What a picker of papers lists for typed words: the author's own entries, then the library's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import msgspec
from msgspec.structs import replace

from citewell.documents.context import query_for
from citewell.documents.keys.index import KeyIndex
from citewell.documents.project.paper_project import reference_of
from citewell.features.citing.citation import wanted_at
from citewell.features.citing.complete import SURE_SCORE, FindWork, NewKey, search_words
from citewell.features.citing.completion import Candidate, entry_candidate, work_candidate
from citewell.features.citing.known_works import entries_identified
from citewell.features.text.entry_state import FindCheck, doubt, is_invented, unknown
from citewell.model import CitingPaper, Hit, Query, Reference, Work
from citewell.model.bib import BibEntry
from citewell.model.display_text import shorten
from citewell.model.document import Document, Placeholder, PlaceholderKind, Span
from citewell.model.identifiers import identifier_of
from citewell.model.words import Certainty, certainty
from citewell.sources.registry import titles_of_work

MAX_ABSTRACT = 1500
MAX_WORDS = 500
"""Characters of a typed query that count."""


class PaperRow(msgspec.Struct, frozen=True):
    """One line of the picker, as plain text."""

    id: str
    """Of the paper in the library; empty for an entry of the author's own."""
    key: str
    """Cites the paper: the one that its entry has, or that a new entry would get."""
    title: str
    authors: str = ""
    """Short: "Chen, Manning"."""
    year: int | None = None
    venue: str = ""
    abstract: str = ""
    known: bool = False
    """True when a .bib of the project describes the paper: citing it adds no entry."""
    source: str = ""
    """The .bib that holds the entry, or the names of the sources whose record it is."""
    doi: str = ""
    url: str = ""
    retracted: bool = False
    certainty: Certainty = ""
    """"sure", "likely" or "a guess"; empty where no ranker says it, and for own entries."""


def search_query(
    document: Document | None,
    offset: int | None,
    words: str,
    paper: CitingPaper,
    chosen: Sequence[Reference] = (),
) -> Query:
    """The query: the typed words, and the context of the place, if any.

    Without words the placeholder at the place, else its sentence, is what is asked. `chosen`: the
    papers that the citation will have.
    """
    query = _place_query(document, offset, words, paper)
    titles = tuple(one.title for one in chosen)
    paper = replace(query.paper, references=(*query.paper.references, *chosen))
    return replace(
        query,
        paper=paper,
        nearby=(*titles, *query.nearby),
        present=(*query.present, *titles),
    )


def _place_query(
    document: Document | None, offset: int | None, typed: str, paper: CitingPaper
) -> Query:
    words = " ".join(typed[:MAX_WORDS].split())
    unfinished = bool(words) and typed.endswith(words[-1])
    if document is None or offset is None:
        return Query(text=words, paper=paper, unfinished=unfinished)
    here = wanted_at(document, offset)
    if here is None:
        place = Span(offset, offset)
        here = Placeholder(PlaceholderKind.MARKER, place, "", place, "")
    query = query_for(document, replace(here, query=words or search_words(here)), paper=paper)
    return replace(query, unfinished=unfinished)


def asks_nothing(query: Query) -> bool:
    """True when there is neither a word nor a sentence to search for."""
    return not query.text and not query.sentence


def references_of(
    works: Sequence[Work], keys: Sequence[str], index: KeyIndex | None
) -> tuple[Reference, ...]:
    """The works, and the entries of these keys, as a paper cites them."""
    bibs = () if index is None else tuple(index.files.values())
    entries = [bib.by_key[key] for key in keys for bib in bibs if key in bib.by_key]
    return (*map(Reference.of, works), *map(reference_of, entries))


def paper_rows(
    words: str,
    hits: Sequence[Hit],
    *,
    index: KeyIndex | None,
    find_work: FindWork,
    new_key: NewKey,
    check_of: FindCheck = unknown,
    limit: int,
) -> list[PaperRow]:
    """Own entries in which all words fit (half of the rows at most), then papers, each once, then
    the own entries that fit and are known to be invented."""
    rows: list[PaperRow] = []
    invented: list[PaperRow] = []
    seen: set[str] = set()
    if index is not None and words.strip():
        for path, entry in _own(words, index, max(1, limit // 2)):
            if entry.key not in seen:
                seen.add(entry.key)
                check = check_of(path, entry)
                row = _entry_row(entry_candidate(entry, path, ""), doubt(check))
                (invented if is_invented(check) else rows).append(row)
    for hit in hits:
        known = find_work(hit.work)
        if known is not None and known[1].key in seen:
            continue
        if known is not None:
            seen.add(known[1].key)
        key = known[1].key if known is not None else new_key(hit.work)
        sure = certainty(hit.confidence, typed=bool(words.strip()))
        rows.append(work_row(hit.work, key, known[0] if known is not None else "", sure))
    return [*rows[: limit - len(invented)], *invented]


def _own(words: str, index: KeyIndex, most: int) -> list[tuple[str, BibEntry]]:
    """Own entries in which all words fit, or that the words identify."""
    identifier = identifier_of(words)
    if identifier is not None:
        return entries_identified(index.files.values(), identifier)[:most]
    found = index.search(words, most)
    return [(match.path, match.entry) for match in found if match.score >= SURE_SCORE]


def _entry_row(shown: Candidate, doubt: str) -> PaperRow:
    entry = shown.entry
    assert entry is not None
    return PaperRow(
        id="",
        key=shown.key,
        title=" ".join(shown.title.split()),
        authors=shown.authors,
        year=shown.year,
        venue=shown.venue,
        abstract=shorten(entry.get("abstract"), MAX_ABSTRACT),
        known=True,
        source=" · ".join(part for part in (PurePath(shown.bib).name, doubt) if part),
        doi=entry.body.doi,
        url=entry.get("url"),
    )


def work_row(work: Work, key: str, bib: str, sure: Certainty = "") -> PaperRow:
    """The row of a paper of the library; `bib` is the path of the .bib that holds it, or empty."""
    shown = work_candidate(work, key, "")
    return PaperRow(
        id=work.id,
        key=key,
        title=" ".join(work.title.split()),
        authors=shown.authors,
        year=work.year,
        venue=shown.venue,
        abstract=shorten(work.abstract, MAX_ABSTRACT),
        known=bool(bib),
        source=PurePath(bib).name if bib else ", ".join(titles_of_work(work)),
        doi=work.doi,
        url=work.url,
        retracted=work.retracted,
        certainty=sure,
    )
