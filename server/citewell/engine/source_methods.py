"""What an engine asks the sources for a literature search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from citewell.corpus.columns import word_hash
from citewell.engine.contract import LinkedPapers, SourcesFound
from citewell.engine.lookup import LookUp
from citewell.engine.online import Online
from citewell.engine.online_search import LIMIT, OnlineSearch, fused
from citewell.engine.signals import LibrarySignals
from citewell.model import Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.sources.answers import Matched, SourceQuery
from citewell.sources.fields import fields_of, keywords_of, sources_for, words_of
from citewell.sources.registry import source_named
from citewell.sources.service import TimeBudget, failures


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

        return SourceSearch(self._sources, self._online, self._lookup.held, self._signals)

    def _sources_problem(self) -> Problem:
        raise NotImplementedError


# The allowed sources as a literature search asks them: those of its field, each in its own form,
# all at once, within one time limit. One that does not answer costs only its own part.

SECONDS = 15.0
"""Time limit for the sources of one pass."""
FOLLOWED = 20
"""Papers whose references and citers are asked for: with both directions 40 lists."""
LINKS = 20
"""Papers taken of one list."""

Held = Callable[[Work], Work | None]


class SourceSearch:
    """Safe to call from any thread."""

    def __init__(self, online: Online, offered: OnlineSearch, held: Held,
                 signals: LibrarySignals | None) -> None:  # fmt: skip
        self._online, self._offered, self._held, self._signals = online, offered, held, signals

    def search(
        self, query: Query, around: Sequence[Work], seconds: float | None, cancel: Cancel
    ) -> SourcesFound:
        """What the sources of the question's field find for it. Raises `Cancelled`."""
        texts = self._texts(query.text, around)
        budget = TimeBudget(SECONDS if seconds is None else seconds)
        answers = self._online.search_each(texts, LIMIT, budget, cancel)
        merged = [one.work for one in fused(answers)]
        self._offered.remember(merged)
        return SourcesFound(
            works=tuple(self._held(work) or work for work in merged),
            queries=tuple(texts.items()),
            problems=tuple(one.problem for one in failures(answers)),
        )

    def links(self, works: Sequence[Work], seconds: float | None, cancel: Cancel) -> SourcesFound:
        """References and citers of the first `FOLLOWED` works with an identifier, `LINKS` of each,
        as far as they arrive in time. Raises `Cancelled`."""
        starts = [work for work in works if work.doi or work.arxiv][:FOLLOWED]
        wanted = [SourceQuery(doi=work.doi, arxiv=work.arxiv) for work in starts]
        budget = TimeBudget(SECONDS if seconds is None else seconds)
        found = self._online.links(wanted, LINKS, budget, cancel)
        lists: list[LinkedPapers] = []
        problems = []
        for start, sides in zip(starts, found, strict=True):
            for direction, answer in sides:
                problems += [one.problem for one in failures([answer])]
                if isinstance(answer, Matched):
                    self._offered.remember(answer.works)
                    linked = tuple(self._held(work) or work for work in answer.works[:LINKS])
                    lists.append(LinkedPapers(start=start.id, direction=direction, works=linked))
        return SourcesFound(links=tuple(lists), problems=tuple(dict.fromkeys(problems)))

    def _texts(self, text: str, around: Sequence[Work]) -> dict[str, str]:
        """What each source that is asked receives."""
        searching: dict[str, frozenset[str]] = {}
        for name in self._online.names:
            source = source_named(name)
            if "search" in source.can:
                searching[name] = source.fields
        # A library of one field holds papers of it for any question, so they count second.
        fields = fields_of([text]) or fields_of(f"{work.title} {work.journal}" for work in around)
        names = sources_for(fields, searching)
        words = words_of(text)
        shares = self._shares(words)
        return {name: keywords_of(text, source_named(name).most_words, shares) for name in names}

    def _shares(self, words: Sequence[str]) -> list[float] | None:
        """Of each word the share of the library's titles that hold it; None without a library."""
        if self._signals is None:
            return None
        hashes, counts, papers = self._signals.title_words()
        if not len(hashes) or not papers:
            return None
        wanted = np.array([word_hash(word) for word in words], np.uint32)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        found = np.where(hashes[at] == wanted, counts[at], 0)
        # A word that no title has is more often a slip than a topic.
        return [float(count) / papers if count else 1.0 for count in found]
