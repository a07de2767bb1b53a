"""The completion list at a cursor: the author's own entries first, then papers of the library.

One list serves placeholders and keys alike. A found paper that a .bib of the project already holds
is offered under the key that it has there, so that citing it again never adds a second entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from citewell.documents.keys.index import KeyIndex, KeyMatch
from citewell.features.citing.citation import citation_edit, is_key_like, wanted_at, words_at
from citewell.features.citing.completion import (
    Candidate,
    Completion,
    InsertionSite,
    entry_candidate,
    place_for,
    work_candidate,
)
from citewell.features.citing.known_works import entries_identified
from citewell.features.text.entry_state import FindCheck, is_invented, unknown
from citewell.model import Evidence, Hit, Problem, Work
from citewell.model.bib import BibEntry, TextEdit
from citewell.model.document import Document, Placeholder, Span
from citewell.model.identifiers import identifier_of
from citewell.model.words import certainty

Own = tuple[str, BibEntry, tuple[Evidence, ...]]
"""Path of a .bib, one of its entries, and why it fits."""
FindWork = Callable[[Work], tuple[str, BibEntry] | None]
"""The entry of the project that describes a work, with its .bib."""
NewKey = Callable[[Work], str]
FindZotero = Callable[[Work], Work | None]
"""The work as recorded in the author's reference manager, with its key there; None if absent."""

UNTYPED_ENTRIES = 5
"""Entries before the papers of the library, where nothing is typed."""
ENOUGH_KEYS = 5
"""With this many own entries for a word in braces, the library is not searched as well."""
MIN_LETTERS = 3
"""Number of letters below which a word in braces is not searched for in the library."""

SURE_SCORE = 40.0
"""Score of an entry that matches all words; lower ones are of guesses at misspelt words."""

MOST_INVENTED = 3
"""Own entries that are known to be invented, at the end of a list for typed words."""

_SAMPLE_KEY = "\ue000"
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_SHORT_YEAR = re.compile(r"^([^\W\d_]+) (\d\d)\b")


class CompletionSite:
    """A place at which something is to be cited, and where the text of each candidate goes."""

    def __init__(
        self, document: Document, placeholder: Placeholder, place: InsertionSite, kept: int
    ) -> None:
        self.document = document
        self.placeholder = placeholder
        self.place = place
        self._kept = kept
        self.key_like = is_key_like(placeholder)
        """The words may be the beginning of a key of the author's own."""
        self.unless_key = ""
        """A key: if an entry has it, the text after it is its notes, and nothing is completed."""

    def asks_library(self, own: int) -> bool:
        """True when papers are wanted in addition to the `own` entries that were found."""
        if not self.placeholder.query:
            return not self.placeholder.command.startswith("nocite")
        if not self.key_like:
            return True
        return len(self.placeholder.query) >= MIN_LETTERS and own < ENOUGH_KEYS

    def text_for(self, key: str, default_command: str) -> str:
        """What replaces the place's span for a candidate."""
        edit = citation_edit(self.document, self.placeholder, key, default_command)
        return edit.text[self._kept :] + self.place.after


def wanted(document: Document, cursor: int, default_command: str = "") -> CompletionSite | None:
    """What is to be cited at the cursor; None where nothing is."""
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

    Text typed in braces is searched for in keys, titles, authors and years. All words of a query
    must match. Where nothing is typed, every entry is offered, the most cited first, but only a few
    of them before what the library finds for the sentence. An identifier selects the entry that has
    it, and is not searched for as words.
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
    """The words to search the library for: a key such as "vaswani2017attention" is taken apart, an
    identifier is not."""
    if not is_key_like(placeholder) or identifier_of(placeholder.query) is not None:
        return placeholder.query
    # "brown20" stays one word: whether it is an author and a year, the library knows.
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
    """The list: own entries in their order, those of the reference manager that fit, the hits that
    are not among them, and `more` of one's own. Where nothing is typed, what the reference manager
    has comes last. An own entry of which `check_of` knows that no such work exists comes after all
    real papers; where part of a key is typed, after the other own entries."""
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
    """The own entries before the papers, those behind them, and those that come last of all."""
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
    """How much of its beginning an edit leaves as it is: the `\\cite` of a whole command."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    return same
