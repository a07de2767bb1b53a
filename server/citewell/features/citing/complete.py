"""The list at a cursor and in the picker: the author's own entries, then papers of the library.

One list serves placeholders and keys. A paper that is already in a .bib of the project is offered
under its key there, so that citing it again never adds a second entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

import msgspec
from msgspec.structs import replace

from citewell.documents.context import query_for
from citewell.documents.keys.index import KeyIndex, KeyMatch
from citewell.documents.project.paper_project import reference_of
from citewell.features.citing.citation import citation_edit, is_key_like, wanted_at, words_at
from citewell.features.citing.completion import (
    Candidate,
    Completion,
    FindCheck,
    InsertionSite,
    doubt,
    entry_candidate,
    is_invented,
    place_for,
    unknown,
    work_candidate,
)
from citewell.features.citing.known_works import entries_identified
from citewell.model import CitingPaper, Evidence, Hit, Problem, Query, Reference, Work
from citewell.model.bib import BibEntry, TextEdit
from citewell.model.display_text import shorten
from citewell.model.document import Document, Placeholder, PlaceholderKind, Span
from citewell.model.identifiers import identifier_of
from citewell.model.words import Certainty, certainty
from citewell.sources.registry import titles_of_work

Own = tuple[str, BibEntry, tuple[Evidence, ...]]
"""Path of a .bib, one of its entries, and the evidence."""
FindWork = Callable[[Work], tuple[str, BibEntry] | None]
"""Returns the entry of the project for a work, with its .bib."""
NewKey = Callable[[Work], str]
FindZotero = Callable[[Work], Work | None]
"""Returns the work from the author's reference manager, with its key there; None if absent."""

UNTYPED_ENTRIES = 5
"""Number of entries before the papers of the library if nothing is typed."""
ENOUGH_KEYS = 5
"""Number of own entries for a word in braces that make a search of the library unnecessary."""
MIN_LETTERS = 3
"""Number of letters below which a word in braces is not searched for in the library."""

SURE_SCORE = 40.0
"""Score of an entry that matches all words; lower ones are guesses at misspelt words."""

MOST_INVENTED = 3
"""Number of own entries known to be fabricated, at the end of a list for typed words."""

_SAMPLE_KEY = "\ue000"
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_SHORT_YEAR = re.compile(r"^([^\W\d_]+) (\d\d)\b")


class CompletionSite:
    """A place for a citation, and the range of the candidates' text."""

    def __init__(
        self, document: Document, placeholder: Placeholder, place: InsertionSite, kept: int
    ) -> None:
        self.document = document
        self.placeholder = placeholder
        self.place = place
        self._kept = kept
        self.key_like = is_key_like(placeholder)
        """Whether the words may be the start of a key of the author's own."""
        self.unless_key = ""
        """A key: if an entry has it, the text after it is a note, and nothing is completed."""

    def asks_library(self, own: int) -> bool:
        """True when papers are needed beside the `own` entries found."""
        if not self.placeholder.query:
            return not self.placeholder.command.startswith("nocite")
        if not self.key_like:
            return True
        return len(self.placeholder.query) >= MIN_LETTERS and own < ENOUGH_KEYS

    def text_for(self, key: str, default_command: str) -> str:
        """The text of a candidate for the range."""
        edit = citation_edit(self.document, self.placeholder, key, default_command)
        return edit.text[self._kept :] + self.place.after


def wanted(document: Document, cursor: int, default_command: str = "") -> CompletionSite | None:
    """The completion site at the cursor, or None."""
    placeholder, unless_key = wanted_at(document, cursor), ""
    if placeholder is None:
        behind = words_at(document, cursor)
        if behind is None:
            return None
        unless_key, placeholder = behind
    edit = citation_edit(document, placeholder, _SAMPLE_KEY, default_command)
    kept = _kept(document.text[edit.span.start : edit.span.end], edit.text)
    shorter = TextEdit(Span(edit.span.start + kept, edit.span.end), edit.text[kept:])
    place = place_for(document, cursor, shorter)
    if place is None:
        return None
    found = CompletionSite(document, placeholder, place, kept)
    found.unless_key = unless_key
    return found


def own_entries(at: CompletionSite, index: KeyIndex, limit: int) -> tuple[list[Own], list[Own]]:
    """The author's entries to list before the papers of the library, and those to list after them.

    Text typed in braces is searched in keys, titles, authors and years. All words of a query must
    match. If nothing is typed, every entry is offered, the most cited first, but only a few before
    the library's papers for the sentence. An identifier selects its entry, and is not searched as
    words.
    """
    words = at.placeholder.query
    identifier = identifier_of(words)
    if identifier is not None:
        named = entries_identified(index.files.values(), identifier)
        seen = (Evidence("bib", 1, SURE_SCORE, (identifier.kind,)),)
        return [(path, entry, seen) for path, entry in named[:limit]], []
    here = {use.key for citation in at.document.citations for use in citation.keys}
    if at.key_like and not words:
        found = _own(index.search("", limit, here))
        return found[:UNTYPED_ENTRIES], found[UNTYPED_ENTRIES:]
    matches = index.search(words, limit, here) if words else []
    if not at.key_like:
        matches = [match for match in matches if match.score >= SURE_SCORE]
    return _own(matches), []


def _own(matches: Sequence[KeyMatch]) -> list[Own]:
    return [
        (
            match.path,
            match.entry,
            (Evidence("bib", rank, match.score, (match.field,) if match.field else ()),),
        )
        for rank, match in enumerate(matches, 1)
    ]


def search_words(placeholder: Placeholder) -> str:
    """The words to search the library for: a key such as "vaswani2017attention" is split, an
    identifier is not."""
    if not is_key_like(placeholder) or identifier_of(placeholder.query) is not None:
        return placeholder.query
    # "brown20" stays one word: the library decides whether it is an author and a year.
    return _SHORT_YEAR.sub(r"\1\2", " ".join(_PIECES.findall(placeholder.query)))


def complete(
    at: CompletionSite,
    *,
    own: Sequence[Own],
    hits: Sequence[Hit],
    more: Sequence[Own] = (),
    shelved: Sequence[tuple[Work, tuple[Evidence, ...]]] = (),
    find_work: FindWork,
    new_key: NewKey,
    find_zotero: FindZotero = lambda work: None,
    check_of: FindCheck = unknown,
    limit: int,
    default_command: str = "",
    problems: Sequence[Problem] = (),
) -> Completion:
    """The list: own entries in order, matching ones of the reference manager, the other hits, and
    `more` own entries. If nothing is typed, the reference manager's come last. An own entry known
    by `check_of` to be fabricated comes after all real papers; if part of a key is typed, after the
    other own entries."""
    candidates: list[Candidate] = []
    seen: set[str] = set(at.placeholder.other_keys)
    own, more, invented = _invented_apart(at, own, more, check_of)
    kept = limit - len(invented)

    def add(entries: Sequence[Own]) -> None:
        for path, entry, evidence in entries:
            if entry.key not in seen:
                seen.add(entry.key)
                text = at.text_for(entry.key, default_command)
                check = check_of(path, entry)
                candidates.append(entry_candidate(entry, path, text, evidence, check))

    def add_shelved() -> None:
        for work, evidence in shelved:
            if work.bibkey not in seen:
                seen.add(work.bibkey)
                text = at.text_for(work.bibkey, default_command)
                candidates.append(work_candidate(work, work.bibkey, text, evidence))

    add(own)
    if at.placeholder.query:
        add_shelved()
    for hit in hits:
        if len(candidates) >= kept:
            break
        found = find_work(hit.work)
        zotero_library = find_zotero(hit.work) if found is None else None
        if zotero_library is not None:
            if zotero_library.bibkey not in seen:
                seen.add(zotero_library.bibkey)
                text = at.text_for(zotero_library.bibkey, default_command)
                candidates.append(
                    work_candidate(zotero_library, zotero_library.bibkey, text, hit.evidence)
                )
            continue
        key = found[1].key if found is not None else new_key(hit.work)
        if found is not None and key in seen:
            continue
        text = at.text_for(key, default_command)
        if found is not None:
            seen.add(key)
            check = check_of(found[0], found[1])
            candidates.append(entry_candidate(found[1], found[0], text, hit.evidence, check))
        else:
            sure = certainty(hit.confidence, typed=bool(at.placeholder.query))
            candidates.append(work_candidate(hit.work, key, text, hit.evidence, sure))
    add(more)
    if not at.placeholder.query:
        add_shelved()
    del candidates[kept:]
    add(invented)
    place = at.place
    return Completion(
        place.span, place.typed, place.tail, tuple(candidates[:limit]), tuple(problems)
    )


def _invented_apart(
    at: CompletionSite, own: Sequence[Own], more: Sequence[Own], check_of: FindCheck
) -> tuple[Sequence[Own], Sequence[Own], Sequence[Own]]:
    """The own entries before the papers, those after them, and those that come last."""
    invented = [one for one in own if is_invented(check_of(one[0], one[1]))]
    if not invented:
        return own, more, ()
    keys = {entry.key for _, entry, _ in invented}
    real = [one for one in own if one[1].key not in keys]
    if not at.key_like:
        return real, more, invented[:MOST_INVENTED]
    if at.placeholder.query:
        return [*real, *invented], more, ()
    return real, [*more, *invented], ()


def _kept(old: str, new: str) -> int:
    r"""The length of the common prefix of both texts, such as the `\cite` of a whole command."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    return same


# Rows of a picker of papers for typed words: the author's own entries, then the library's.

MAX_ABSTRACT = 1500
MAX_WORDS = 500
"""Maximum characters of a typed query."""


class PaperRow(msgspec.Struct, frozen=True):
    """One line of the picker, as plain text."""

    id: str
    """Id of the paper in the library; empty for an entry of the author's own."""
    key: str
    """Key of the paper's entry, existing or new."""
    title: str
    authors: str = ""
    """Short: "Chen, Manning"."""
    year: int | None = None
    venue: str = ""
    abstract: str = ""
    known: bool = False
    """Whether a .bib of the project has the paper: citing it adds no entry."""
    source: str = ""
    """The .bib of the entry, or the names of the record's sources."""
    doi: str = ""
    url: str = ""
    retracted: bool = False
    certainty: Certainty = ""
    """"sure", "likely" or "a guess"; empty without a ranker, and for own entries."""


def search_query(
    document: Document | None,
    offset: int | None,
    words: str,
    paper: CitingPaper,
    chosen: Sequence[Reference] = (),
) -> Query:
    """The query: the typed words, and the context of the place, if any.

    Without words, the placeholder at the place, or else its sentence, is the query. `chosen`: the
    papers that the citation will have.
    """
    query = _place_query(document, offset, words, paper)
    titles = tuple(one.title for one in chosen)
    paper = replace(query.paper, references=(*query.paper.references, *chosen))
    return replace(
        query, paper=paper, nearby=(*titles, *query.nearby), present=(*query.present, *titles)
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
    """The works, and the entries with these keys, as references of a paper."""
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
    """Own entries that match all words (at most half of the rows), then papers, each once, then
    matching own entries known to be fabricated."""
    rows: list[PaperRow] = []
    invented: list[PaperRow] = []
    seen: set[str] = set()
    if index is not None and words.strip():
        for path, entry in _own_rows(words, index, max(1, limit // 2)):
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


def _own_rows(words: str, index: KeyIndex, most: int) -> list[tuple[str, BibEntry]]:
    """Own entries that match all words, or are identified by them."""
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
    """The row of a paper of the library; `bib` is the path of the .bib with it, or empty."""
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
