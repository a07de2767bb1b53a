"""Crossref by words, venue and years, with deep paging.

https://www.crossref.org/documentation/retrieve-metadata/rest-api/
"""

from __future__ import annotations

from citewell.model import Work
from citewell.sources.adapters.crossref import Crossref, work_of_crossref
from citewell.sources.contract import Ask, NonsenseError, child, children, json_object
from citewell.sources.values import raw, record_line, today
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection


class CrossrefFeed(BaseFeed):
    """`/works` with a cursor, two hundred works a page."""

    name = "crossref"
    source = Crossref
    format = "records"
    fields = frozenset({"query", "venues", "authors", "since", "until"})
    needs = frozenset({"query", "venues", "authors"})
    page_size = 200

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The next page; a later round requests works indexed since."""
        filters = []
        if selection.since:
            filters.append(f"from-pub-date:{selection.since}")
        if selection.until:
            filters.append(f"until-pub-date:{selection.until}")
        if changed_since:
            filters.append(f"from-index-date:{changed_since}")
        params = [("rows", str(self.page_size)), ("cursor", cursor or "*")]
        if selection.query:
            params.append(("query.bibliographic", selection.query))
        if selection.venues:
            params.append(("query.container-title", " ".join(selection.venues)))
        if selection.authors:
            params.append(("query.author", " ".join(selection.authors)))
        if filters:
            params.append(("filter", ",".join(filters)))
        return Ask(path="/works", params=tuple(params))

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The works of a response; invalid records are left out."""
        message = child(json_object(body), "message")
        if not isinstance(message.get("items"), list):
            raise NonsenseError("the body has no list of works")
        items, day = children(message, "items"), today()
        works = [work_of_crossref(item, day) for item in items]
        total = message.get("total-results")
        return FetchedPage(
            records=tuple(record_line(work) for work in works if isinstance(work, Work)),
            # Crossref always returns a cursor: a page without items is the last one.
            cursor=raw(message.get("next-cursor"), 10_000) if items else "",
            total=total if isinstance(total, int) else None,
        )
