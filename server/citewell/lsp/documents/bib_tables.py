"""What is computed of the bibliographies of a paper. Papers that use the same ones share it: the
tables of 20,000 entries take 12 MB, and an edit of a manuscript must not compute them again."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import is_

from citewell.documents.keys.index import KeyIndex
from citewell.features.citing.insert import with_lower_case
from citewell.features.citing.known_works import KnownWorks
from citewell.model.bib import BibFile


class BibTables:
    """The tables of some bibliographies. Immutable, but for what is computed once."""

    def __init__(self, bibs: tuple[BibFile, ...], before: BibTables | None = None) -> None:
        """`before` holds the tables of nearly the same files; what is still valid is reused."""
        self.bibs = bibs
        self._before = before._index if before is not None else None
        self._index: KeyIndex | None = None
        self._works: KnownWorks | None = None

    @property
    def index(self) -> KeyIndex:
        """The entries by key, title, author and year."""
        if self._index is None:
            if self._before is not None:
                self._index = self._before.refreshed(self.bibs)
            else:
                self._index = KeyIndex.build(self.bibs)
            self._before = None
        return self._index

    @property
    def works(self) -> KnownWorks:
        """The entries by the papers that they describe. A caller that needs them early computes
        them itself rather than wait for the background thread, which pauses for requests."""
        if self._works is None:
            self._works = KnownWorks(self.bibs)
        return self._works

    @cached_property
    def taken(self) -> frozenset[str]:
        """The keys of the entries (`with_lower_case`)."""
        return with_lower_case(key for bib in self.bibs for key in bib.by_key)

    def are_of(self, bibs: tuple[BibFile, ...]) -> bool:
        """True for the very same bibliographies, in the same order."""
        return len(bibs) == len(self.bibs) and all(map(is_, bibs, self.bibs))


def tables_of(
    bibs: tuple[BibFile, ...], before: BibTables | None, others: Iterable[BibTables]
) -> BibTables:
    """The tables of these bibliographies: known ones, else new ones made from those of the same
    paper `before`, else from those of another paper that uses one of the files."""
    known = [before, *others] if before is not None else list(others)
    for one in known:
        if one.are_of(bibs):
            return one
    return BibTables(bibs, before or next((one for one in known if _share(one, bibs)), None))


def _share(one: BibTables, bibs: tuple[BibFile, ...]) -> bool:
    return any(bib is other for bib in bibs for other in one.bibs)
