"""Search for papers by words, authors, venue and years, in pages."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.engine.contract import Engine
from citewell.model import CitewellError, Hit, Problem, Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.model.query import QueryPart
from citewell.operations.operation import Service, operation, public_problems
from citewell.operations.papers import Count, Paper, found_paper, with_citations
from citewell.options import Options
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.find import (
    Found,
    Status,
    digest,
    from_cursor,
    in_sentence,
    status_of,
    to_cursor,
)
from citewell.usecases.weights import OrderWeights, order_weights, with_weights

MAX_DEPTH = 400
"""Maximum number of papers in all pages of one search."""
HEAD = 100
"""Number of papers in the first search. A search for more has more candidates, and therefore
another order: later pages contain the papers missing from the first ones, so that all are parts of
one list."""
_YEARS = Problem(
    "request-invalid",
    "`year` is given together with `year_from` or `year_to`.",
    "Give year, or year_from and year_to.",
)

Year = Annotated[int, Meta(ge=0, le=9999)]
AuthorName = Annotated[str, Meta(max_length=300, description="Such as `LeCun`, `Yann LeCun`.")]
VenueName = Annotated[str, Meta(max_length=300, description="Such as `ACL`, `Nature`.")]


Sort = Annotated[
    Literal["relevance", "newest", "oldest"],
    Meta(description="By year: the best 100, or all of an author or venue."),
]


Weighing = Annotated[
    str,
    Meta(
        max_length=100,
        description="Weights for the order of the 100 most relevant papers: "
        "`relevance=1,authority=.3,recent=.2`.",
    ),
]


class PaperFilters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attributes that the papers of an answer must have; years in any order."""

    author: AuthorName = ""
    venue: VenueName = ""
    kind: Annotated[
        str,
        Meta(
            max_length=60,
            description="An entry type such as article; or survey, dataset, benchmark (by title).",
        ),
    ] = ""
    language: Annotated[
        str,
        Meta(max_length=60, description="This language (code or name), or none stated."),
    ] = ""
    strict_language: Annotated[
        bool, Meta(description="With `language`: not the papers without a stated one.")
    ] = False
    year: Annotated[Year | None, Meta(description="This year only.")] = None
    year_from: Annotated[Year | None, Meta(description="First year.")] = None
    year_to: Annotated[Year | None, Meta(description="Last year.")] = None


class SearchRequest(PaperFilters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words, author, venue, kind, language, years: at least one of the first four."""

    query: Annotated[
        str, Meta(max_length=2_000, description="Words, a title or a topic, as plain text.")
    ] = ""
    k: Count = 10
    sort: Sort = "relevance"
    weights: Weighing = ""
    limit: Annotated[Count | None, Meta(description="Alias of `k`.")] = None
    cursor: Annotated[str, Meta(max_length=100, description="The last page's `next_cursor`.")] = ""
    abstracts: Annotated[bool, Meta(description="Include the abstracts.")] = False
    online_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=ONLINE_SECONDS,
            description="Wait up to this long for the allowed sources, which get the words of "
            "`query`; 0: what they have answered so far.",
        ),
    ] = 0.0


SearchStatus = Literal[Status, "nothing_asked"]


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of papers, best first."""

    status: SearchStatus
    papers: tuple[Paper, ...]
    next_cursor: Annotated[
        str, Meta(description="Cursor of the next page; none on the last one.")
    ] = ""
    understood: Annotated[
        tuple[QueryPart, ...],
        Meta(description="Parts of `query` that were understood: `query[start:end]`, by kind."),
    ] = ()
    field: Annotated[
        str, Meta(description="Field of the question, or unclear: computing, biomedicine ...")
    ] = ""
    problems: tuple[Problem, ...] = ()


_INTEGER = {"type": "integer"}
ONE_OF_TWO_WAYS = {
    "not": {
        "required": ["year"],
        "properties": {"year": _INTEGER},
        "anyOf": [
            {"required": [name], "properties": {name: _INTEGER}}
            for name in ("year_from", "year_to")
        ],
    }
}


@operation(
    "Papers by words, authors, venue and years",
    queue=lambda request: "online" if request.online_seconds else "search",
    schema_keywords=ONE_OF_TWO_WAYS,
)
def search(service: Service, request: SearchRequest, cancel: Cancel) -> SearchAnswer:
    """Search the library. For more, ask again with the answer's `next_cursor`. `nothing_found`: the
    library holds no such paper, or a filter left none (`problems` say so); `not_checked`: a part of
    the search did not answer."""
    query = query_of(request, service.options)
    if query is None:
        return SearchAnswer(status="nothing_asked", papers=(), problems=(EMPTY_SEARCH,))
    page = page_of(service, request, cancel, query=query)
    return SearchAnswer(
        status=status_of([page.result]),
        papers=tuple(
            found_paper(hit, abstract=request.abstracts, typed=request.query, cited=cited)
            for hit, cited in with_citations(page.hits, service.engine)
        ),
        next_cursor=page.next_cursor(),
        understood=page.result.understood.parts,
        field=Found(query=query, result=page.result).field,
        problems=public_problems((*page.result.problems, *page.result.dropped)),
    )


EMPTY_SEARCH = Problem(
    "request-invalid", "Empty search.", "Give at least one of query, author and venue."
)


def years_of(first: int | None, last: int | None) -> tuple[int | None, int | None]:
    """The first and the last year of two in any order."""
    return (
        (last, first) if first is not None and last is not None and first > last else (first, last)
    )


def filtered(query: Query, request: PaperFilters) -> Query:
    """The query with the filters of a request. Raises `CitewellError` when `year` is given with one
    of the others."""
    years = (request.year_from, request.year_to)
    if request.year is not None:
        if years != (None, None):
            raise CitewellError(_YEARS)
        years = (request.year, request.year)
    first, last = years_of(*years)
    names = ("author", "venue", "kind", "language", "strict_language")
    same = {name: getattr(request, name) for name in names}
    return msgspec.structs.replace(query, year_from=first, year_to=last, **same)


def query_of(request: SearchRequest, options: Options) -> Query | None:
    """The query of a search for words, or for a sentence with a placeholder (`in_sentence`); None
    for an empty request. Raises as `filtered` does."""
    query = filtered(Query(text=request.query), request)
    given = (request.query, request.author, request.venue, request.kind)
    return in_sentence(query, options) if any(one.strip() for one in given) else None


def page_of(
    service: Service, request: SearchRequest, cancel: Cancel, *, query: Query
) -> SearchPage:
    """The requested page for a query. Raises as `search_page` does."""
    return search_page(
        service.engine,
        query,
        request.limit or request.k,
        request.cursor,
        cancel,
        online_seconds=request.online_seconds,
        sort=request.sort,
        weights=order_weights(request.weights),
    )


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of papers, best first."""

    result: SearchResult
    """The result of the pages so far, with one paper more if there is one."""
    start: int
    end: int
    name: str
    """Name of the search; a cursor belongs to one."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The papers of this page."""
        return self.result.hits[self.start : self.end]

    def next_cursor(self, shown: int | None = None) -> str:
        """The cursor of the page after the first `shown` papers of this one (default: all of them);
        empty on the last page."""
        end = self.end if shown is None else self.start + shown
        more = self.start < end < len(self.result.hits)
        return to_cursor(self.name, end) if more else ""


def search_page(
    engine: Engine,
    query: Query,
    count: int,
    cursor: str = "",
    cancel: Cancel | None = None,
    *,
    online_seconds: float = 0.0,
    sort: Literal["relevance", "newest", "oldest"] = "relevance",
    weights: OrderWeights | None = None,
) -> SearchPage:
    """The first `count` papers, or those after `cursor`. The allowed sources get up to
    `online_seconds` to answer. In an order by year, papers without one come last.

    Raises `Cancelled`, and `CitewellError` for a cursor of another search.
    """
    name = digest(
        query.text,
        query.author,
        query.venue,
        query.year_from,
        query.year_to,
        *((query.sentence,) if query.sentence else ()),
        *(
            (query.kind, query.language, query.strict_language)
            if query.kind or query.language
            else ()
        ),
        *((sort,) if sort != "relevance" else ()),
        *((weights,) if weights else ()),
    )
    start = from_cursor(cursor, name)[1] if cursor else 0
    end = min(start + count, MAX_DEPTH)
    dated = sort != "relevance"
    # One more than shown, to know whether there is a next page.
    depth = (HEAD if query.text or query.sentence else MAX_DEPTH) if dated else min(end, HEAD) + 1
    depth = max(depth, HEAD + 1) if weights else depth
    result = engine.find(query, depth, tier="full", cancel=cancel)
    if end > HEAD and not dated:
        deep = engine.find(query, MAX_DEPTH, tier="full", cancel=cancel)
        head = result.hits[:HEAD]
        shown = {hit.work.id for hit in head}
        rest = (hit for hit in deep.hits if hit.work.id not in shown)
        result = msgspec.structs.replace(deep, hits=(*head, *rest)[: end + 1])
    if online_seconds:
        depth = depth if dated else min(end + 1, MAX_DEPTH)
        (result,) = engine.ask_sources(
            [query], [result], depth, seconds=online_seconds, cancel=cancel
        )
    result = with_weights(engine, result, weights)
    if dated:
        hits = sorted(result.hits, key=lambda hit: hit.work.year or 0, reverse=sort == "newest")
        hits.sort(key=lambda hit: hit.work.year is None)
        result = msgspec.structs.replace(result, hits=tuple(hits))
    return SearchPage(result=result, start=start, end=end, name=name)
