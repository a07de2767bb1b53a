"""The queries of each pass of a literature search. Every method returns its queries in words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from citewell.documents.context import split_sentences
from citewell.engine.contract import Engine
from citewell.engine.online_search import allows
from citewell.features.citing.known_works import all_named
from citewell.model import CitewellError, CitingPaper, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.languages import STOPWORDS
from citewell.model.query import Direction, Reference, TypedQuery, Understood
from citewell.options import Options
from citewell.retrieval.structure import structured
from citewell.retrieval.words import split
from citewell.sources.fields import READ, Field, fields_of
from citewell.sources.registry import titles_of_work
from citewell.usecases.explore.contract import MAX_TEXT, ExploreQuery, PassName, RelevanceJudge
from citewell.usecases.explore.result_list import ResultList
from citewell.usecases.find import in_sentence

# The neighbours of the best papers in the citation graph: one layer, bounded.

STARTS = 10
"""Number of papers with links to follow."""
LINKS = 20
"""Number of papers taken in one direction from one of them."""
DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by", "cocited")


def linked(
    engine: Engine, starts: Sequence[Work], cancel: Cancel
) -> Iterator[tuple[str, list[tuple[Work, str]]]]:
    """For each start and direction with known links: the question in words, and the papers with
    their reasons, the most cited first. Raises `Cancelled`."""
    for start in starts[:STARTS]:
        for direction in DIRECTIONS:
            cancel.check()
            found = engine.related(start.id, direction, LINKS)
            if not found.works:
                continue
            papers = [
                (work, _reason(direction, together))
                for work, together in zip(found.works, found.together, strict=True)
            ]
            yield f"{QUESTIONS[direction]} “{start.title}”", papers


QUESTIONS: dict[Direction, str] = {
    "cites": "cited by",
    "cited_by": "citing",
    "cocited": "cited together with",
}


def _reason(direction: Direction, together: int) -> str:
    if direction != "cocited":
        return ""
    return f"by {together} paper" + ("" if together == 1 else "s")


# Queries for methods, applications and limitations, in the best papers' own words, by rules.

Aspect = Literal["methods", "applications", "limitations"]
MAX_ABSTRACT = 4_000
"""Maximum number of characters read of an abstract."""
MAX_QUERY = 400
"""Maximum number of characters of a query."""
LEAST_WORDS = 6
LEAST_PAPERS = 2
"""Minimum number of best papers with a distinctive word."""
SAME = 0.6
"""Share of its words in an earlier query above which a query is a repetition."""
_CUES: dict[Aspect, re.Pattern[str]] = {
    "methods": re.compile(
        r"\b(?:we (?:propose|introduce|present|develop|design|train|describe)|our (?:method|"
        r"approach|model|algorithm|framework|system)|this (?:paper|work) (?:proposes|introduces|"
        r"presents)|by (?:using|combining|means of)|based on|consists? of|algorithm)\b",
        re.IGNORECASE,
    ),
    "applications": re.compile(
        r"\b(?:appl(?:y|ied|ies|ication|ications|icable)|in practice|real[- ]world|used (?:in|for)|"
        r"(?:tasks?|domains?|settings?) (?:such as|like|including)|such as|benchmarks?|"
        r"downstream|evaluat\w+ on|experiments? on)\b",
        re.IGNORECASE,
    ),
    "limitations": re.compile(
        r"\b(?:however|limit(?:s|ed|ation|ations)|challeng\w+|difficult\w*|fails?|failure|lacks?|"
        r"remains?|suffers?|expensive|costly|cannot|although|despite|unfortunately|bottleneck|"
        r"drawback|still|open (?:problem|question)s?)\b",
        re.IGNORECASE,
    ),
}


class AspectQuery(msgspec.Struct, frozen=True):
    """Words to search for, and the aspect of the best papers that they cover."""

    aspect: str
    text: str


def aspect_queries(
    topic: str, best: Sequence[Work], others: Sequence[Work], queried: Sequence[str]
) -> list[AspectQuery]:
    """For each aspect, the sentence of a best paper's abstract with most distinctive words, unless
    most of its words were `queried` before.

    A word is distinctive if the best papers contain it and the others do not; the topic's own words
    count in full.
    """
    about = set(_words(topic))
    rest = Counter(word for work in others for word in set(_words(_text(work))))
    inside = Counter(word for work in best for word in set(_words(_text(work))))
    weights = {
        word: (count if word in about else min(count, LEAST_PAPERS + 1))
        * math.log((2 + len(others)) / (1 + rest[word]))
        for word, count in inside.items()
        if count >= LEAST_PAPERS
    }
    known = [set(_words(text)) for text in queried]
    found: list[AspectQuery] = []
    for aspect, cues in _CUES.items():
        scored: list[tuple[float, str]] = []
        for work in best:
            for sentence in split_sentences(work.abstract[:MAX_ABSTRACT]):
                text = " ".join(sentence.split())[:MAX_QUERY]
                own = set(_words(text))
                if len(own) < LEAST_WORDS or not cues.search(text):
                    continue
                score = sum(weights.get(word, 0.0) for word in own) / math.sqrt(8 + len(own))
                scored.append((-score, text))
        for _, text in sorted(scored):
            own = set(_words(text))
            if not any(len(own & one) > SAME * len(own) for one in known):
                known.append(own)
                found.append(AspectQuery(aspect, text))
                break
    return found


def new_queries(queries: Sequence[tuple[str, str]], queried: Sequence[str]) -> list[AspectQuery]:
    """The queries, each an aspect and words, without those whose words were mostly `queried`
    before."""
    known = [set(_words(text)) for text in queried]
    found: list[AspectQuery] = []
    for aspect, text in queries:
        own = set(_words(text))
        if own and not any(len(own & one) > SAME * len(own) for one in known):
            known.append(own)
            found.append(AspectQuery(aspect, text))
    return found


def _text(work: Work) -> str:
    return f"{work.title} {work.abstract[:MAX_ABSTRACT]}"


def _words(text: str) -> list[str]:
    words = (word for word in split(text) if word not in STOPWORDS and len(word) > 2)
    return [word.decode() for word in dict.fromkeys(words) if not word.isdigit()]


# Parts of the queries of a literature search.


def filters_of(query: Query, understood: Understood) -> Query:
    """The query's filters and those that its words name, without its words."""
    found = structured(query) if understood.parts else query
    typed = understood.query
    return replace(
        found,
        text="",
        paper=CitingPaper(),
        typed_query=TypedQuery(none_of=typed.none_of, min_citations=typed.min_citations),
    )


# The passes of a literature search.

EMPTY = Problem(
    "explore-empty", "Empty search.", "Give words, an author, a venue, or papers that you keep."
)
NOTHING_FOUND = Problem(
    "explore-nothing",
    "The library holds no paper that matches.",
    "Use other words, or add papers of the field with `citewell library add`.",
)
CUT = Problem(
    "explore-long",
    f"Only the first {MAX_TEXT:,} characters of the question were searched for.",
    "Ask a shorter question.",
)
ONLY_EXCLUDES = Problem(
    "explore-excludes",
    "The question says only what to leave out, so the papers are in no order of relevance.",
    "Add what they are about.",
)


DEPTH = 400
"""Number of papers from a search for the words."""
SIMILAR = 200
"""Number of papers from a search with one paper as the query."""
BEST = 5
"""Number of papers used as references and as queries."""
CHAINED = 20
"""Number of papers with citations requested from sources."""
ASPECT_PAPERS, COMPARED = 10, 60
"""Number of best papers with words for aspects, and of those they are compared with."""


class Steps:
    """The passes over one engine and one question; results go into `found`."""

    def __init__(
        self, engine: Engine, request: ExploreQuery, cancel: Cancel, judge: RelevanceJudge | None
    ) -> None:
        self._engine = engine
        self._cancel = cancel
        self._is_online = request.online
        self.kept = all_named(engine, request.kept) if request.kept else []
        self._rejected = all_named(engine, request.rejected) if request.rejected else []
        text = " ".join(request.text.split())
        as_typed = Query(
            text=text[:MAX_TEXT],
            literature=True,
            author=request.author,
            venue=request.venue,
            year_from=request.year_from,
            year_to=request.year_to,
            paper=CitingPaper(references=tuple(map(Reference.of, self.kept))),
            exclude=tuple(work.id for work in self._rejected),
        )
        self.query = in_sentence(as_typed, Options())
        self.problems: list[Problem] = [CUT] if len(text) > MAX_TEXT else []
        self.understood = Understood()
        self.fields: frozenset[Field] = frozenset()
        """The fields of the question, after the search for its words; empty if they are unclear."""
        self.found = ResultList(engine, request, self.kept, self._rejected, judge)
        self._filters = self.query
        self._queried = [self.query.text]
        """Words of the queries so far."""
        self.asks_model = False
        """Whether the language model takes part."""

    def make(self, name: PassName) -> list[str]:
        """Make a pass. Raises `CitewellError` if no search could be made, and `Cancelled`."""
        passes: dict[PassName, Callable[[], list[str]]] = {
            "search": self._search,
            "reading": self._as_read_by_model,
            "references": self._with_references,
            "papers": self._with_papers,
            "aspects": self._with_aspects,
            "citations": self._along_citations,
            "sources": self._with_sources,
            "chains": self._along_chains,
        }
        return passes[name]()

    def _search(self) -> list[str]:
        result = self._find(self.query)
        if result.failed and not result.hits:
            raise CitewellError(result.failed[0])
        self.understood = result.understood
        self.found.require(result.conditions)
        self.problems += [*result.problems, *result.dropped]
        if result.hits and self.found.asks_nothing:
            self.problems.append(ONLY_EXCLUDES)
        self._filters = filters_of(self.query, result.understood)
        label = self.query.text or self.query.sentence or "the filters"
        self.found.keep("search", label, result)
        topic = result.understood.query.topic or self.query.text
        self.fields = fields_of(topic, [hit.work for hit in result.hits[:READ]])
        return [label]

    def _as_read_by_model(self) -> list[str]:
        """Search with the model's conditions if the rules recognise more of them than of the
        question."""
        read = self._engine.interpret(self.query.text, cancel=self._cancel)
        self.problems += [] if read.problem is None else [read.problem]
        if not read.text:
            return []
        query = replace(self.query, text=read.text)
        result = self._find(query)
        parts = result.understood.parts
        if len(parts) <= len(self.understood.parts) or not result.hits:
            return []
        self._filters = filters_of(query, result.understood)
        self.understood = Understood(query=result.understood.query, parts=self.understood.parts)
        self.found.require(result.conditions)
        self.found.keep("reading", read.text, result)
        return [read.text]

    def _with_references(self) -> list[str]:
        best = self.found.best(BEST, "references")
        if not best:
            return []
        paper = CitingPaper(references=tuple(map(Reference.of, [*self.kept, *best])))
        query = replace(self.query, paper=paper)
        (result,) = self._batch([query], DEPTH)
        self.found.keep("references", "the words beside the best papers as references", result)
        return [f"beside “{work.title}”" for work in best]

    def _with_papers(self) -> list[str]:
        best = self.found.best(BEST, "papers")
        queries = [
            replace(
                self._filters, text="", paper=CitingPaper(title=work.title, abstract=work.abstract)
            )
            for work in best
        ]
        results = self._batch(queries, SIMILAR) if queries else []
        for work, result in zip(best, results, strict=True):
            self.found.keep("papers", f"like “{work.title}”", result)
        return [f"like “{work.title}”" for work in best]

    def _with_aspects(self) -> list[str]:
        best, others = self.found.head(ASPECT_PAPERS), self.found.head(COMPARED)[ASPECT_PAPERS:]
        found = self._suggested(best) if self.asks_model else []
        found = found or aspect_queries(self.query.text, best, others, self._queried)
        self._queried += [one.text for one in found]
        queries = [replace(self._filters, text=one.text) for one in found]
        results = self._batch(queries, SIMILAR) if queries else []
        for one, result in zip(found, results, strict=True):
            self.found.keep("aspects", f"{one.aspect}: {one.text}", result)
        return [f"{one.aspect}: {one.text}" for one in found]

    def _suggested(self, best: Sequence[Work]) -> list[AspectQuery]:
        """The queries of the language model that are new."""
        found = self._engine.suggest_queries(self.query.text, best, cancel=self._cancel)
        self.problems += [] if found.problem is None else [found.problem]
        return new_queries(found.queries, self._queried)

    def _along_citations(self) -> list[str]:
        queries = []
        best = self.found.best(STARTS, "citations")
        for question, papers in linked(self._engine, best, self._cancel):
            queries.append(question)
            kept = [(work, detail) for work, detail in papers if self._may_add(work)]
            self.found.keep_linked("citations", question, kept)
        return queries

    def _with_sources(self) -> list[str]:
        query = replace(self._filters, text=self.query.text, typed_query=self.understood.query)
        answer = self._engine.search_sources(query, sorted(self.fields), cancel=self._cancel)
        self._report(answer.problems)
        new = [(work, _origin(work)) for work in answer.works if self._may_add(work)]
        self.found.keep_linked("sources", self.query.text, new)
        return [f"{name}: {text}" for name, text in answer.queries]

    def _along_chains(self) -> list[str]:
        """Follow references and citing papers, one layer, from a source that lists them."""
        best = self.found.best(CHAINED, "chains")
        answer = self._engine.follow_citations(best, cancel=self._cancel)
        self._report(answer.problems)
        titles = {work.id: work.title for work in best}
        queries = []
        for one in answer.links:
            question = f"{QUESTIONS[one.direction]} “{titles[one.start]}”"
            papers = [(work, _origin(work)) for work in one.works if self._may_add(work)]
            self.found.keep_linked("chains", question, papers)
            queries.append(question)
        return queries

    def _report(self, problems: Sequence[Problem]) -> None:
        self.problems += [one for one in problems if one not in self.problems]

    def _find(self, query: Query) -> SearchResult:
        """Search for the words. A search in a batch leaves out the sources, which have a separate
        pass and receive other words than the library."""
        if self._is_online and query.text:
            (result,) = self._engine.find_batch([query], DEPTH, tier="full", cancel=self._cancel)
            return result
        return self._engine.find(query, DEPTH, tier="full", cancel=self._cancel)

    def _batch(self, queries: Sequence[Query], k: int) -> list[SearchResult]:
        return self._engine.find_batch(queries, k, cancel=self._cancel, explained=0)

    def _may_add(self, work: Work) -> bool:
        """Whether a linked paper passes the filters. If a filter cannot be read off a record, only
        papers already found may move."""
        typed = self._filters.typed_query
        if typed.none_of or typed.min_citations is not None:
            return work.id in self.found
        return allows(self._filters, work)


def _origin(work: Work) -> str:
    """The sources of the record: "OpenAlex, arXiv"; empty for one of the library."""
    return ", ".join(titles_of_work(work))
