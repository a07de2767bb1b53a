"""DBLP by words, venue, author and years. https://dblp.org/faq/How+to+use+the+dblp+search+API"""

from __future__ import annotations

import datetime
import re

from citewell.sources.adapters.dblp import Dblp, decode_hits
from citewell.sources.contract import Ask, child, json_object
from citewell.sources.values import raw, record_line
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection

MOST = 10_000
"""Maximum number of hits that DBLP returns for one search."""
MOST_YEARS = 30
"""Maximum number of years listed one by one in a search."""
_WORD = re.compile(r"[^\W_]+")


class DblpFeed(BaseFeed):
    """`/search/publ/api`, a thousand publications a page."""

    name = "dblp"
    source = Dblp
    format = "records"
    fields = frozenset({"query", "venues", "authors", "since", "until"})
    needs = frozenset({"query", "venues", "authors"})
    page_size = 1000

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The next page; the cursor is the number of the first hit."""
        words = _WORD.findall(selection.query)
        words += [f"venue:{'_'.join(_WORD.findall(name))}:" for name in selection.venues]
        words += [f"author:{'_'.join(_WORD.findall(name))}:" for name in selection.authors]
        first = max(selection.since or 0, int(changed_since[:4] or "0"))
        last = selection.until or datetime.datetime.now(datetime.UTC).year
        if first and 0 <= last - first <= MOST_YEARS:
            words.append("|".join(f"year:{year}:" for year in range(first, last + 1)))
        params = (
            ("q", " ".join(words)),
            ("format", "json"),
            ("h", str(self.page_size)),
            ("f", cursor or "0"),
        )
        return Ask(path="/search/publ/api", params=params)

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The publications of an answer within the years."""
        hits = child(child(json_object(body), "result"), "hits")
        total, sent = raw(hits.get("@total")), raw(hits.get("@sent"))
        since, until, first = selection.since, selection.until, int(cursor or 0)
        works = [
            work
            for work in decode_hits(body)
            if (not since or (work.year or 0) >= since) and (not until or (work.year or 0) <= until)
        ]
        following = first + (int(sent) if sent.isdigit() else 0)
        held = int(total) if total.isdigit() else 0
        more = first < following < min(held, MOST)
        return FetchedPage(
            records=tuple(record_line(work) for work in works),
            cursor=str(following) if more else "",
            total=min(held, MOST),
        )
