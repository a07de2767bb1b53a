"""What an engine asks the sources for a literature search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.engine.contract import SourcesFound
from citewell.engine.lookup import LookUp
from citewell.engine.signals import LibrarySignals
from citewell.model import Problem, Query, Work
from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from citewell.engine.online import Online
    from citewell.engine.online_search import OnlineSearch
    from citewell.engine.source_search import SourceSearch


class SourceMethods:
    """The methods of the engine that ask the sources."""

    _sources: Online | None
    _online: OnlineSearch | None
    _lookup: LookUp
    _signals: LibrarySignals | None

    def search_sources(
        self,
        query: Query,
        around: Sequence[Work] = (),
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        """Records of the allowed sources that cover the field of a question."""
        found = self._source_search()
        if found is None:
            return SourcesFound(problems=(self._sources_problem(),))
        return found.search(query, around, seconds, cancel or Cancel())

    def follow_citations(
        self,
        works: Sequence[Work],
        *,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> SourcesFound:
        """References and citers of some works."""
        found = self._source_search()
        if found is None:
            return SourcesFound(problems=(self._sources_problem(),))
        return found.links(works, seconds, cancel or Cancel())

    def _source_search(self) -> SourceSearch | None:
        if self._sources is None or self._online is None:
            return None
        from citewell.engine.source_search import SourceSearch

        return SourceSearch(self._sources, self._online, self._lookup.held, self._signals)

    def _sources_problem(self) -> Problem:
        raise NotImplementedError
