"""Papers by words, authors, venue and years, in pages."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.model import Problem, Query
from citewell.model.cancel import Cancel
from citewell.model.query import QueryPart
from citewell.operations.operation import Service, operation, public_problems
from citewell.operations.papers import Count, Paper, found_paper, with_citations
from citewell.options import Options
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.find import Status, status_of
from citewell.usecases.search import SearchPage, search_page, search_query

Year = Annotated[int, Meta(ge=0, le=9999)]


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words, author, venue, kind, language, years: at least one of the first four; years in any
    order."""

    query: Annotated[
        str, Meta(max_length=2_000, description="Words, a title or a topic, as plain text.")
    ] = ""
    author: Annotated[str, Meta(max_length=300)] = ""
    venue: Annotated[str, Meta(max_length=300)] = ""
    kind: Annotated[
        str,
        Meta(
            max_length=60,
            description="Only this kind: an entry type such as article, or survey, dataset, "
            "benchmark (by title).",
        ),
    ] = ""
    language: Annotated[
        str,
        Meta(max_length=60, description="Only this language (code or name), or none stated."),
    ] = ""
    strict_language: Annotated[
        bool, Meta(description="With `language`: not the papers without a stated one.")
    ] = False
    year: Annotated[Year | None, Meta(description="This year only, without the other two.")] = None
    year_from: Year | None = None
    year_to: Year | None = None
    k: Count = 10
    limit: Annotated[Count | None, Meta(description="Alias of `k`.")] = None
    cursor: Annotated[
        str, Meta(max_length=100, description="The `next_cursor` of the previous page.")
    ] = ""
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


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of papers, best first."""

    status: Status | Literal["nothing_asked"]
    papers: tuple[Paper, ...]
    next_cursor: Annotated[
        str, Meta(description="Cursor of the next page; none on the last one.")
    ] = ""
    understood: Annotated[
        tuple[QueryPart, ...],
        Meta(description="Parts of `query` that were understood: `query[start:end]`, by kind."),
    ] = ()
    problems: tuple[Problem, ...] = ()


_INTEGER = {"type": "integer"}
_ONE_OF_TWO_WAYS = {
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
    schema_keywords=_ONE_OF_TWO_WAYS,
)
def search(service: Service, request: SearchRequest, cancel: Cancel) -> SearchAnswer:
    """Search the library. For more, ask again with the answer's `next_cursor`. `nothing_found`: the
    library holds no such paper, or a filter left none (`problems` say so); `not_checked`: a part of
    the search did not answer."""
    query = query_of(request, service.options)
    if query is None:
        return SearchAnswer(status="nothing_asked", papers=(), problems=(_NOTHING,))
    page = page_of(service, request, cancel, query=query)
    return SearchAnswer(
        status=status_of([page.result]),
        papers=tuple(
            found_paper(hit, abstract=request.abstracts, typed=request.query, cited=cited)
            for hit, cited in with_citations(page.hits, service.engine)
        ),
        next_cursor=page.next_cursor(),
        understood=page.result.understood.parts,
        problems=public_problems((*page.result.problems, *page.result.dropped)),
    )


_NOTHING = Problem(
    "request-invalid", "Empty search.", "Give at least one of query, author and venue."
)


def query_of(request: SearchRequest, options: Options) -> Query | None:
    """The query of a search; None where the request asks for nothing. Raises `CitewellError` for
    years that exclude each other."""
    given = (request.query, request.author, request.venue, request.kind)
    if not any(one.strip() for one in given):
        return None
    return search_query(
        options,
        request.query,
        request.author,
        request.venue,
        year=request.year,
        year_from=request.year_from,
        year_to=request.year_to,
        kind=request.kind,
        language=request.language,
        strict_language=request.strict_language,
    )


def page_of(
    service: Service, request: SearchRequest, cancel: Cancel, *, query: Query
) -> SearchPage:
    """The page of the query that is asked for."""
    return search_page(
        service.engine,
        query,
        request.limit or request.k,
        request.cursor,
        cancel,
        online_seconds=request.online_seconds,
    )
