"""A reference manager's entries beside those of the paper: found alike, copied when accepted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import msgspec

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.bib.work import entry_work
from citewell.documents.keys.index import KeyIndex
from citewell.features.citing.known_works import KnownWorks
from citewell.model import Evidence, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.work import Provenance

if TYPE_CHECKING:
    from citewell.features.citing.complete import Wanted

SCHEME = "zotero:"
"""Prefix of the id of a work that is in the author's Zotero; its key follows."""
NAME = "Zotero"
MIN_WORDS = 3
"""Number of letters that must be typed before entries are searched for them."""
SURE_SCORE, FAIR_SCORE = 40.0, 20.0
"""Scores of an entry that matches all words, and of one whose key contains what was typed; lower
ones are of guesses at misspelt words."""

Found = tuple[Work, tuple[Evidence, ...]]


class ZoteroLibrary:
    """What a reference manager exported, ready to be looked up. Immutable; any thread may ask."""

    def __init__(self, bib: BibFile, index: KeyIndex, works: KnownWorks) -> None:
        self.bib = bib
        self._index = index
        self._works = works

    @classmethod
    def of(cls, text: str, before: ZoteroLibrary | None = None) -> ZoteroLibrary:
        """The shelf of an export; at the price of what changed since `before`, and the same object
        when nothing did. Takes seconds for tens of thousands of entries."""
        if before is not None and before.bib.text == text:
            return before
        bib = reparse(before.bib, text) if before is not None else parse_bib(text, SCHEME)
        index = before._index.refreshed([bib]) if before is not None else KeyIndex.build([bib])
        index.search("", 1)
        return cls(bib, index, KnownWorks([bib]))

    def __len__(self) -> int:
        return len(self.bib.entries)

    def entry(self, key: str) -> BibEntry | None:
        """The entry of a key."""
        return self.bib.by_key.get(key)

    def find(self, work: Work, taken: Collection[str] = ()) -> Work | None:
        """The work as Zotero records it; None if it is absent or its key is in `taken`."""
        found = self._works.find(work)
        if found is None or found[1].key in taken or found[1].key.lower() in taken:
            return None
        return self.work(found[1])

    def work(self, entry: BibEntry) -> Work:
        """An entry as the work that accepting it cites."""
        notes = entry.body.notes
        known: Work | None = notes.get("shelf")
        if known is None or known.bibkey != entry.key:
            known = notes["shelf"] = msgspec.structs.replace(
                entry_work(self.bib, entry),
                id=SCHEME + entry.key,
                provenance=(Provenance(source=NAME, source_id=entry.key),),
            )
        return known

    def entries_for(
        self,
        at: Wanted,
        limit: int,
        taken: Collection[str],
        find_own: Callable[[Work], object | None],
        *,
        guess: bool = True,
    ) -> list[Found]:
        """The entries that match what was typed and are not in the paper's own .bib files, best
        first.

        `taken` are the keys of those files, as written and in lower case; `find_own` finds a work
        in them. Without `guess`, a misspelt key finds nothing.
        """
        words = at.placeholder.query
        if not at.key_like and len(words) < MIN_WORDS:
            return []
        floor = 0.0 if guess or not words else FAIR_SCORE
        floor = floor if at.key_like else SURE_SCORE
        found: list[Found] = []
        for rank, match in enumerate(self._index.search(words, limit), 1):
            if match.score < floor:
                continue
            key = match.entry.key
            if not key or key in taken or key.lower() in taken:
                continue
            work = self.work(match.entry)
            if find_own(work) is None:
                fields = (match.field,) if match.field else ()
                found.append((work, (Evidence("zotero", rank, match.score, fields),)))
        return found


def key_of(work_id: str) -> str:
    """The key of a work that is in the author's Zotero; empty for any other."""
    return work_id.removeprefix(SCHEME) if work_id.startswith(SCHEME) else ""
