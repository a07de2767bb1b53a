"""A literature search in passes over an engine: each pass yields the list so far.

The first pass is one search and is yielded at once. The next ones ask again with what was found:
the best papers as references, the best papers as queries, their citations, and the sources.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from citewell.engine.contract import Engine
from citewell.engine.online_search import allows
from citewell.features.citing.named_works import all_named
from citewell.features.text.evidence import why
from citewell.model import CitewellError, CitingPaper, Hit, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.identifiers import identifier_of
from citewell.model.typed_query import Understood
from citewell.sources.merge import same_works
from citewell.usecases.explore.citation_links import STARTS, linked
from citewell.usecases.explore.contract import (
    MAX_COUNT,
    MAX_ROUNDS,
    MAX_TEXT,
    Ending,
    Exploration,
    Explored,
    ExploreRequest,
    Pass,
    PassName,
    Reason,
)
from citewell.usecases.explore.fusion import Ranked, fused
from citewell.usecases.explore.order import by_preference, preferences
from citewell.usecases.explore.problems import CUT, EMPTY, NOTHING_FOUND
from citewell.usecases.explore.queries import filters_of, references

DEPTH = 400
"""Papers that a search for the words gives."""
SIMILAR = 200
"""Papers that a search with one paper as the query gives."""
BEST = 5
"""Papers that count as references, and that are themselves queries."""
HEAD = 50
"""Papers of the list that `Pass.entered` looks at."""
LITTLE_ENTERED, LITTLE_ADDED = 1, 0.02
"""Where each pass of a round brought at most this many papers into the first `HEAD`, and all of
them added at most this share of the list, there is no further round."""
_LATER = ("papers", "citations")
MAX_REASONS = 8

Wait = Callable[[Query], None]
"""Returns when the sources have answered for a query, or will not in time."""


def explore(
    engine: Engine,
    request: ExploreRequest,
    *,
    cancel: Cancel | None = None,
    wait: Wait | None = None,
) -> Iterator[Exploration]:
    """The list after each pass, best first; `ending` of the last one is not empty.

    Raises `CitewellError` for an empty request, where the request has an id that no record has,
    and where no search could be made; `Cancelled` between and inside passes.
    """
    if not any((request.text.strip(), request.author, request.venue, request.kept)):
        raise CitewellError(EMPTY)
    return _Run(engine, request, cancel or Cancel(), wait).passes()


class _Run:
    """One literature search."""

    def __init__(
        self, engine: Engine, request: ExploreRequest, cancel: Cancel, wait: Wait | None
    ) -> None:
        self._engine = engine
        self._request = request
        self._cancel = cancel
        self._wait = wait
        self._kept = all_named(engine, request.kept) if request.kept else []
        self._rejected = all_named(engine, request.rejected) if request.rejected else []
        text = " ".join(request.text.split())
        self._query = Query(
            text=text[:MAX_TEXT],
            author=request.author,
            venue=request.venue,
            year_from=request.year_from,
            year_to=request.year_to,
            paper=CitingPaper(references=references(self._kept)),
            exclude=tuple(work.id for work in self._rejected),
        )
        self._problems: list[Problem] = [CUT] if len(text) > MAX_TEXT else []
        self._count = min(request.count, MAX_COUNT)
        self._filters = self._query
        self._understood = Understood()
        self._lists: list[Ranked] = []
        self._works: dict[str, Work] = {}
        self._reasons: dict[str, list[Reason]] = {}
        self._ranked: tuple[Explored, ...] = ()
        """All that was found, best first; passes start from its head, however short the list."""
        self._papers: tuple[Explored, ...] = ()
        self._passes: list[Pass] = []
        self._started: set[tuple[PassName, str]] = set()
        """From which papers a pass has started."""
        self._snapshot = ""
        self._sources: frozenset[str] = frozenset()
        """Names of the sources that searches ask."""

    def passes(self) -> Iterator[Exploration]:
        """The list after each pass."""
        status = self._engine.status()
        self._snapshot = status.snapshot
        self._sources = frozenset(status.sources)
        steps = self._steps()
        offline_over = False
        for number, (name, turn) in enumerate(steps):
            if offline_over and name != "sources":
                continue
            self._cancel.check()
            begin = time.perf_counter()
            queries, found = self._make(name)
            record = self._changed(name, turn, queries, found, begin)
            self._passes.append(record)
            rest = [step for step, _ in steps[number + 1 :]]
            if not self._papers and not self._kept:
                offline_over = True
            if name == "citations" and self._is_little(turn):
                offline_over = True
            ending: Ending = ""
            if offline_over and not self._papers and not self._problems:
                self._problems.append(NOTHING_FOUND)
            if not rest:
                ending = "complete"
            elif offline_over and "sources" not in rest:
                ending = "little"
            yield self._state(ending)
            if ending:
                return

    def _steps(self) -> list[tuple[PassName, int]]:
        query = self._query
        has_words = bool(query.text)
        steps: list[tuple[PassName, int]] = []
        if has_words or query.author or query.venue:
            steps.append(("search", 1))
        for turn in range(1, min(max(self._request.rounds, 0), MAX_ROUNDS) + 1):
            # A second round of references brings nothing that the first one has not.
            if turn == 1 and has_words and identifier_of(query.text) is None:
                steps.append(("references", 1))
            steps += [("papers", turn), ("citations", turn)]
        if self._request.online and has_words:
            steps.append(("sources", 1))
        return [step for step in steps if step[0] not in self._request.without]

    def _make(self, name: PassName) -> tuple[list[str], set[str]]:
        """Make a pass: its queries in words, and the ids that it found."""
        before = len(self._lists)
        queries: list[str] = []
        if name == "search":
            queries = self._search()
        elif name == "references":
            queries = self._with_references()
        elif name == "papers":
            queries = self._with_papers()
        elif name == "citations":
            queries = self._along_citations()
        else:
            queries = self._with_sources()
        return queries, {name for one in self._lists[before:] for name in one.ids}

    # -- the passes ------------------------------------------------------------------------------

    def _search(self) -> list[str]:
        result = self._engine.find(self._query, DEPTH, tier="full", cancel=self._cancel)
        if result.failed and not result.hits:
            raise CitewellError(result.failed[0])
        self._understood = result.understood
        self._problems += [*result.problems, *result.dropped]
        self._filters = filters_of(self._query, result.understood)
        label = self._query.text or "the filters"
        # What the sources answered to an earlier search for these words is listed by their pass.
        held = [hit for hit in result.hits if not self._is_of_source(hit)]
        result = replace(result, hits=tuple(held))
        self._keep("search", label, result)
        return [label]

    def _with_references(self) -> list[str]:
        best = self._best(BEST, "references")
        if not best:
            return []
        paper = CitingPaper(references=references([*self._kept, *best]))
        query = replace(self._query, paper=paper)
        (result,) = self._batch([query], DEPTH)
        self._keep("references", "the words beside the best papers as references", result)
        return [f"beside “{work.title}”" for work in best]

    def _with_papers(self) -> list[str]:
        best = self._best(BEST, "papers")
        queries = [
            replace(
                self._filters,
                text="",
                paper=CitingPaper(title=work.title, abstract=work.abstract),
            )
            for work in best
        ]
        results = self._batch(queries, SIMILAR) if queries else []
        for work, result in zip(best, results, strict=True):
            self._keep("papers", f"like “{work.title}”", result)
        return [f"like “{work.title}”" for work in best]

    def _along_citations(self) -> list[str]:
        queries = []
        for question, papers in linked(self._engine, self._best(STARTS, "citations"), self._cancel):
            queries.append(question)
            kept: list[str] = []
            for work, detail in papers:
                if not self._may_add(work):
                    continue
                kept.append(work.id)
                self._works.setdefault(work.id, work)
                self._add_reason(work.id, Reason("citations", question, len(kept), detail))
            self._lists.append(Ranked("citations", tuple(kept)))
        return queries

    def _with_sources(self) -> list[str]:
        if self._wait is not None:
            self._wait(self._query)
        result = self._engine.find(self._query, DEPTH, tier="full", cancel=self._cancel)
        held = {work.id for one in self._lists for work in self._of(one)}
        new = [hit for hit in result.hits if hit.work.id not in held]
        self._problems += [one for one in result.dropped if one not in self._problems]
        self._keep("sources", self._query.text, SearchResult(hits=tuple(new)))
        return [self._query.text]

    # -- what they share -------------------------------------------------------------------------

    def _batch(self, queries: Sequence[Query], k: int) -> list[SearchResult]:
        return self._engine.find_batch(queries, k, cancel=self._cancel, explained=0)

    def _keep(self, name: PassName, query: str, result: SearchResult) -> None:
        for rank, hit in enumerate(result.hits, start=1):
            self._works.setdefault(hit.work.id, hit.work)
            detail = why(hit) if hit.evidence else ""
            self._add_reason(hit.work.id, Reason(name, query, rank, detail))
        self._lists.append(Ranked(name, tuple(hit.work.id for hit in result.hits)))

    def _is_of_source(self, hit: Hit) -> bool:
        """Whether only sources found the paper."""
        found_by = {one.retriever for one in hit.evidence}
        return bool(found_by) and found_by <= self._sources

    def _of(self, ranked: Ranked) -> list[Work]:
        return [self._works[name] for name in ranked.ids]

    def _add_reason(self, name: str, reason: Reason) -> None:
        reasons = self._reasons.setdefault(name, [])
        if len(reasons) < MAX_REASONS:
            reasons.append(reason)

    def _best(self, count: int, name: PassName) -> list[Work]:
        """The best papers so far from which no such pass has started."""
        every = [*self._kept, *(one.work for one in self._ranked)]
        found = list({work.id: work for work in every}.values())
        new = [work for work in found[:count] if (name, work.id) not in self._started]
        if not new:
            new = [work for work in found if (name, work.id) not in self._started][:count]
        self._started |= {(name, work.id) for work in new}
        return new

    def _may_add(self, work: Work) -> bool:
        """Whether a linked paper passes the filters. Where a filter cannot be read off a record,
        only papers that a search has found may move."""
        typed = self._filters.typed_query
        if typed.none_of or typed.min_citations is not None:
            return work.id in self._works
        return allows(self._filters, work)

    # -- the list --------------------------------------------------------------------------------

    def _changed(
        self, name: PassName, turn: int, queries: list[str], found: set[str], begin: float
    ) -> Pass:
        """Order the list again; the record of the pass."""
        before = [one.work.id for one in self._papers]
        self._ranked, total = self._ordered()
        self._papers = self._ranked[: self._count]
        cut = total - sum(1 + len(one.editions) for one in self._papers)
        after = [one.work.id for one in self._papers]
        return Pass(
            name=name,
            round=turn,
            queries=tuple(queries),
            found=len(found),
            added=len(set(after) - set(before)),
            entered=len(set(after[:HEAD]) - set(before[:HEAD])),
            cut=cut,
            milliseconds=round((time.perf_counter() - begin) * 1e3, 1),
        )

    def _is_little(self, turn: int) -> bool:
        """Whether the passes of a round changed so little that another one does not pay."""
        made = [one for one in self._passes if one.round == turn and one.name in _LATER]
        return all(one.entered <= LITTLE_ENTERED for one in made) and (
            sum(one.added for one in made) <= LITTLE_ADDED * self._count
        )

    def _ordered(self) -> tuple[tuple[Explored, ...], int]:
        """Every work that was found, best first, and the number of their records."""
        ids = fused(self._lists)
        unwanted = {work.id for work in self._rejected}
        first = [*self._rejected, *self._kept]
        known = {work.id for work in first}
        works = [*first, *(self._works[name] for name in ids if name not in known)]
        groups = same_works(works)
        listed = [group for group in groups if not any(work.id in unwanted for work in group)]
        kept = {work.id for work in self._kept}
        chosen = [group for group in listed if any(work.id in kept for work in group)]
        others = [group for group in listed if not any(work.id in kept for work in group)]
        editions = {group[0].id: tuple(group[1:]) for group in listed}
        wanted = preferences(self._understood.query, self._request.order)
        now = datetime.date.today().year
        order, moved = by_preference(self._engine, [group[0] for group in others], wanted, now)
        own = [group[0] for group in chosen]
        papers = []
        for work in (*own, *order):
            reasons = [Reason("kept", "the request")] if work.id in kept else []
            reasons += self._reasons.get(work.id, ())
            reasons += [moved[work.id]] if work.id in moved else []
            papers.append(Explored(work, tuple(reasons), editions[work.id]))
        return tuple(papers), len(works)

    def _state(self, ending: Ending) -> Exploration:
        return Exploration(
            papers=self._papers,
            passes=tuple(self._passes),
            understood=self._understood,
            ending=ending,
            snapshot=self._snapshot,
            problems=tuple(dict.fromkeys(self._problems)),
        )
