"""Papers by words, authors, venue and years, in pages."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.features.navigation.cursor import digest, from_cursor, to_cursor
from citewell.http.contract import Endpoint, Service, public_problems
from citewell.http.wire import Count, Paper, found_paper
from citewell.model import Problem, Query
from citewell.model.cancel import Cancel
from citewell.usecases.find import Status, status_of

MAX_DEPTH = 400
"""Papers that one search can be paged through."""
Year = Annotated[int, Meta(ge=1000, le=2999)]


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words, an author, a venue, years: at least one of the first three; years in any order."""

    query: Annotated[
        str, Meta(max_length=2_000, description="Words, a title or a topic, as plain text.")
    ] = ""
    author: Annotated[str, Meta(max_length=300)] = ""
    venue: Annotated[str, Meta(max_length=300)] = ""
    year: Annotated[Year | None, Meta(description="This year only; overrides the other years.")] = (
        None
    )
    year_from: Year | None = None
    year_to: Year | None = None
    k: Count = 10
    limit: Annotated[Count | None, Meta(description="Alias of `k`.")] = None
    cursor: Annotated[
        str, Meta(max_length=100, description="The `next_cursor` of the previous page.")
    ] = ""
    abstracts: Annotated[bool, Meta(description="Include the abstracts.")] = False


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of papers, best first."""

    status: Status | Literal["nothing_asked"]
    papers: tuple[Paper, ...]
    next_cursor: Annotated[
        str, Meta(description="Cursor of the next page; none on the last one.")
    ] = ""
    problems: tuple[Problem, ...] = ()


def search(service: Service, request: SearchRequest, cancel: Cancel) -> SearchAnswer:
    """Search the library. For more, ask again with the answer's `next_cursor`. `nothing_found`: the
    library holds no such paper, or a filter left none (`problems` say so); `not_checked`: a part of
    the search did not answer."""
    if not (request.query.strip() or request.author.strip() or request.venue.strip()):
        return SearchAnswer(status="nothing_asked", papers=(), problems=(_NOTHING,))
    since, until, k = request.year_from, request.year_to, request.limit or request.k
    if request.year is not None:
        since = until = request.year
    if since is not None and until is not None:
        since, until = min(since, until), max(since, until)
    name = digest(request.query, request.author, request.venue, since, until)
    offset = from_cursor(request.cursor, name)[1] if request.cursor else 0
    query = Query(
        text=request.query,
        author=request.author,
        venue=request.venue,
        year_from=since,
        year_to=until,
    )
    end = min(offset + k, MAX_DEPTH)
    # One more than is shown tells whether there is a next page.
    wanted = min(end + 1, MAX_DEPTH)
    result = service.engine.find(query, wanted, tier="full", cancel=cancel)
    hits = result.hits[offset:end]
    return SearchAnswer(
        status=status_of([result]),
        papers=tuple(found_paper(hit, abstract=request.abstracts) for hit in hits),
        next_cursor=to_cursor(name, end) if len(result.hits) > end else "",
        problems=public_problems((*result.problems, *result.dropped)),
    )


_NOTHING = Problem(
    "request-invalid", "Empty search.", "Give at least one of query, author and venue."
)

SEARCH = Endpoint(
    name="search",
    method="POST",
    path="/v1/search",
    summary="Papers by words, authors, venue and years",
    request=SearchRequest,
    response=SearchAnswer,
    answer=search,
    queue="search",
)
SEARCH_BY_ADDRESS = Endpoint(
    name="search_by_address",
    method="GET",
    path="/v1/search",
    summary="The same search, with query parameters",
    request=SearchRequest,
    response=SearchAnswer,
    answer=search,
    queue="search",
)
