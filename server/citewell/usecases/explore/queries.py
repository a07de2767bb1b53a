"""Parts of the queries of a literature search."""

from __future__ import annotations

from msgspec.structs import replace

from citewell.model import CitingPaper, Query
from citewell.model.typed_query import TypedQuery, Understood
from citewell.retrieval.structure import structured


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
