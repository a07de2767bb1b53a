"""Papers by words, author, venue and years, in pages."""

from __future__ import annotations

import msgspec

from citewell.engine.contract import Engine
from citewell.features.navigation.cursor import digest, from_cursor, to_cursor
from citewell.model import CitewellError, Hit, Problem, Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.usecases.find import in_sentence

MAX_DEPTH = 400
"""Papers that one search can be paged through."""
HEAD = 100
"""First papers that are asked for alone. A search for more has more candidates, and therefore
another order: later pages take from it what these lack, so that all are parts of one list."""
_YEARS = Problem(
    "request-invalid",
    "`year` is given together with `year_from` or `year_to`.",
    "Give year, or year_from and year_to.",
)


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of papers, best first."""

    result: SearchResult
    """Of the pages so far, and one paper more where there is one."""
    start: int
    end: int
    name: str
    """Of the search; a cursor belongs to one."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The papers of this page."""
        return self.result.hits[self.start : self.end]

    def next_cursor(self, shown: int | None = None) -> str:
        """The cursor of the page after the first `shown` papers of this one (default: all of
        them); empty where there are no more."""
        end = self.end if shown is None else self.start + shown
        more = self.start < end < len(self.result.hits)
        return to_cursor(self.name, end) if more else ""


def search_query(
    options: Options,
    text: str,
    author: str = "",
    venue: str = "",
    *,
    year: int | None = None,
    year_from: int | None = None,
    year_to: int | None = None,
    kind: str = "",
    language: str = "",
    strict_language: bool = False,
) -> Query:
    """The query of a search for words, or for a sentence with a placeholder (`in_sentence`).

    `year` is both the first and the last year; those may be in any order.
    Raises `CitewellError` when `year` is given with one of the others.
    """
    if year is not None:
        if year_from is not None or year_to is not None:
            raise CitewellError(_YEARS)
        year_from = year_to = year
    if year_from is not None and year_to is not None and year_from > year_to:
        year_from, year_to = year_to, year_from
    query = Query(
        text=text,
        author=author,
        venue=venue,
        year_from=year_from,
        year_to=year_to,
        kind=kind,
        language=language,
        strict_language=strict_language,
    )
    return in_sentence(query, options)


def search_page(
    engine: Engine,
    query: Query,
    count: int,
    cursor: str = "",
    cancel: Cancel | None = None,
    *,
    online_seconds: float = 0.0,
) -> SearchPage:
    """The first `count` papers, or those after `cursor`. The allowed sources get up to
    `online_seconds` to answer.

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
    )
    start = from_cursor(cursor, name)[1] if cursor else 0
    end = min(start + count, MAX_DEPTH)
    # One more than is shown, to know whether there is a next page.
    result = engine.find(query, min(end, HEAD) + 1, tier="full", cancel=cancel)
    if end > HEAD:
        deep = engine.find(query, MAX_DEPTH, tier="full", cancel=cancel)
        head = result.hits[:HEAD]
        shown = {hit.work.id for hit in head}
        rest = (hit for hit in deep.hits if hit.work.id not in shown)
        result = msgspec.structs.replace(deep, hits=(*head, *rest)[: end + 1])
    if online_seconds:
        depth = min(end + 1, MAX_DEPTH)
        (result,) = engine.ask_sources(
            [query], [result], depth, seconds=online_seconds, cancel=cancel
        )
    return SearchPage(result=result, start=start, end=end, name=name)
