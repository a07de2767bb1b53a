"""What each pass of a literature search asks. Every method gives its queries in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from citewell.engine.contract import Engine
from citewell.engine.online_search import allows
from citewell.features.citing.named_works import all_named
from citewell.model import CitewellError, CitingPaper, Hit, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.typed_query import Understood
from citewell.usecases.explore.citation_links import STARTS, linked
from citewell.usecases.explore.contract import MAX_TEXT, ExploreRequest, PassName
from citewell.usecases.explore.problems import CUT
from citewell.usecases.explore.queries import filters_of, references
from citewell.usecases.explore.result_list import ResultList

DEPTH = 400
"""Papers that a search for the words gives."""
SIMILAR = 200
"""Papers that a search with one paper as the query gives."""
BEST = 5
"""Papers that count as references, and that are themselves queries."""

Wait = Callable[[Query], None]
"""Returns when the sources have answered for a query, or will not in time."""


class Steps:
    """The passes over one engine and one question; what they find goes into `found`."""

    def __init__(
        self, engine: Engine, request: ExploreRequest, cancel: Cancel, wait: Wait | None
    ) -> None:
        self._engine = engine
        self._cancel = cancel
        self._wait = wait
        self.kept = all_named(engine, request.kept) if request.kept else []
        self._rejected = all_named(engine, request.rejected) if request.rejected else []
        text = " ".join(request.text.split())
        self.query = Query(
            text=text[:MAX_TEXT],
            literature=True,
            author=request.author,
            venue=request.venue,
            year_from=request.year_from,
            year_to=request.year_to,
            paper=CitingPaper(references=references(self.kept)),
            exclude=tuple(work.id for work in self._rejected),
        )
        self.problems: list[Problem] = [CUT] if len(text) > MAX_TEXT else []
        self.understood = Understood()
        self.found = ResultList(engine, request, self.kept, self._rejected)
        self._filters = self.query
        self.sources: frozenset[str] = frozenset()
        """Names of the sources that searches ask."""

    def make(self, name: PassName) -> list[str]:
        """Make a pass. Raises `CitewellError` where no search could be made, and `Cancelled`."""
        if name == "search":
            return self._search()
        if name == "references":
            return self._with_references()
        if name == "papers":
            return self._with_papers()
        if name == "citations":
            return self._along_citations()
        return self._with_sources()

    def _search(self) -> list[str]:
        result = self._engine.find(self.query, DEPTH, tier="full", cancel=self._cancel)
        if result.failed and not result.hits:
            raise CitewellError(result.failed[0])
        self.understood = result.understood
        self.problems += [*result.problems, *result.dropped]
        self._filters = filters_of(self.query, result.understood)
        label = self.query.text or "the filters"
        # What the sources answered to an earlier search for these words is listed by their pass.
        held = [hit for hit in result.hits if not self._is_of_source(hit)]
        self.found.keep("search", label, replace(result, hits=tuple(held)))
        return [label]

    def _with_references(self) -> list[str]:
        best = self.found.best(BEST, "references")
        if not best:
            return []
        paper = CitingPaper(references=references([*self.kept, *best]))
        query = replace(self.query, paper=paper)
        (result,) = self._batch([query], DEPTH)
        self.found.keep("references", "the words beside the best papers as references", result)
        return [f"beside “{work.title}”" for work in best]

    def _with_papers(self) -> list[str]:
        best = self.found.best(BEST, "papers")
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
            self.found.keep("papers", f"like “{work.title}”", result)
        return [f"like “{work.title}”" for work in best]

    def _along_citations(self) -> list[str]:
        queries = []
        best = self.found.best(STARTS, "citations")
        for question, papers in linked(self._engine, best, self._cancel):
            queries.append(question)
            kept = [(work, detail) for work, detail in papers if self._may_add(work)]
            self.found.keep_linked("citations", question, kept)
        return queries

    def _with_sources(self) -> list[str]:
        if self._wait is not None:
            self._wait(self.query)
        result = self._engine.find(self.query, DEPTH, tier="full", cancel=self._cancel)
        new = [hit for hit in result.hits if hit.work.id not in self.found]
        self.problems += [one for one in result.dropped if one not in self.problems]
        self.found.keep("sources", self.query.text, SearchResult(hits=tuple(new)))
        return [self.query.text]

    def _batch(self, queries: Sequence[Query], k: int) -> list[SearchResult]:
        return self._engine.find_batch(queries, k, cancel=self._cancel, explained=0)

    def _is_of_source(self, hit: Hit) -> bool:
        """Whether only sources found the paper."""
        found_by = {one.retriever for one in hit.evidence}
        return bool(found_by) and found_by <= self.sources

    def _may_add(self, work: Work) -> bool:
        """Whether a linked paper passes the filters. Where a filter cannot be read off a record,
        only papers that a search has found may move."""
        typed = self._filters.typed_query
        if typed.none_of or typed.min_citations is not None:
            return work.id in self.found
        return allows(self._filters, work)
