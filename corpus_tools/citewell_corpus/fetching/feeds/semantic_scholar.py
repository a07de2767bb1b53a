"""Semantic Scholar's bulk search. https://api.semanticscholar.org/api-docs/graph"""

from __future__ import annotations

import msgspec

from citewell.sources.adapters.semantic_scholar import SemanticScholar
from citewell.sources.contract import Ask, NonsenseError, children, json_object
from citewell.sources.values import raw
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection, years

_FIELDS = (
    "paperId,title,abstract,authors,year,publicationDate,venue,publicationVenue,journal,"
    "externalIds,publicationTypes,citationCount,url"
)


class SemanticScholarFeed(BaseFeed):
    """`/paper/search/bulk`, a thousand papers a page. It gives no references."""

    name = "semantic-scholar"
    source = SemanticScholar
    format = "semantic-scholar"
    fields = frozenset({"query", "venues", "since", "until", "cited_at_least"})
    needs = frozenset({"query", "venues"})
    page_size = 1000

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The next page; the cursor is the token of the previous one."""
        params: list[tuple[str, str]] = [("query", selection.query), ("fields", _FIELDS)]
        if selection.venues:
            params.append(("venue", ",".join(selection.venues)))
        if changed_since:
            params.append(("publicationDateOrYear", f"{changed_since}:{selection.until or ''}"))
        elif when := years(selection):
            params.append(("year", when))
        if selection.cited_at_least:
            params.append(("minCitationCount", str(selection.cited_at_least)))
        if cursor:
            params.append(("token", cursor))
        return Ask(path="/paper/search/bulk", params=tuple(params))

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The papers of an answer, verbatim."""
        answer = json_object(body)
        if not isinstance(answer.get("data"), list):
            raise NonsenseError("the body has no list of papers")
        total = answer.get("total")
        return FetchedPage(
            records=tuple(msgspec.json.encode(paper) for paper in children(answer, "data")),
            cursor=raw(answer.get("token"), 10_000),
            total=total if isinstance(total, int) else None,
        )
