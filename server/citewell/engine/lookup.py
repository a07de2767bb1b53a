"""Records by what names them: an id, a DOI, a title.

A source that is asked gives records of its own; one that the library holds too is shown as the
library has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.corpus.library import Library
from citewell.engine.relations import TELLING_TITLE
from citewell.model import Work

if TYPE_CHECKING:
    from citewell.engine.online_search import OnlineSearch

_MOST_KNOWN = 5_000
"""Records of sources whose fellow in the library is remembered."""


class LookUp:
    """Over one library, or none, and what sources offered. Safe to call from any thread."""

    def __init__(self, library: Library | None, online: OnlineSearch | None) -> None:
        self._library = library
        self._online = online
        self._known: dict[str, Work | None] = {}

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        """Records by id, in order, of the library or of a source that has been asked; else None."""
        online = self._online
        offered = [None if online is None else online.work(identifier) for identifier in ids]
        if self._library is None:
            return offered
        rows = self._library.rows_of(ids)
        known = [int(row) for row in rows if row >= 0]
        works = dict(zip(known, self._library.works(known, whole=True), strict=True))
        return [works.get(int(row), other) for row, other in zip(rows, offered, strict=True)]

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this DOI, arXiv id, normalised title or source key."""
        if self._library is None:
            return []
        return self._library.lookup(doi=doi, arxiv=arxiv, title=title, bibkey=bibkey)

    def held(self, work: Work) -> Work | None:
        """The library's own record of a work; looked up once, for a list is made at each letter."""
        if work.id not in self._known:
            if len(self._known) > _MOST_KNOWN:
                self._known = {}
            self._known[work.id] = self._look_for(work)
        return self._known[work.id]

    def _look_for(self, work: Work) -> Work | None:
        found = self.lookup(doi=work.doi) if work.doi else []
        if not found and work.arxiv:
            found = self.lookup(arxiv=work.arxiv)
        if found:
            return found[0]
        same = self.lookup(title=work.title) if len(work.title) >= TELLING_TITLE else []
        families = {author.family for author in work.authors}
        return next((w for w in same if families & {a.family for a in w.authors}), None)
