"""Retraction Watch's list of retracted papers, which Crossref publishes as one CSV file.

https://doi.org/10.13003/c23rw1d9
"""

from __future__ import annotations

from citewell.documents.textfile import decode
from citewell.model import Work
from citewell.sources.contract import Ask, NonsenseError, Source, SourcePolicy
from citewell.sources.formats import record_line
from citewell.sources.values import today
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection
from citewell_corpus.importers.table import works_of_table


class _RetractionWatch(Source):
    name = "retraction-watch"
    title = "Retraction Watch"
    gives = "every retracted paper that Retraction Watch knows, with its notice"
    sends = "nothing but the request for its list"
    policy = SourcePolicy(
        base="https://gitlab.com/crossref/retraction-watch-data/-/raw/main",
        hosts=("gitlab.com",),
        per_second=0.2,
        at_once=1,
        max_bytes=200_000_000,
    )


class RetractionWatchFeed(BaseFeed):
    """One page: the retracted papers of the list."""

    name = "retraction-watch"
    source = _RetractionWatch
    format = "records"
    fields = frozenset()
    needs = frozenset()
    page_size = 80_000

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The file; it has no parts and no dates."""
        return Ask(path="/retraction_watch.csv", accept="text/csv")

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The papers of the file's rows; a row that is no paper is left out."""
        text = decode(body)[0]
        if "OriginalPaperDOI" not in text.split("\n", 1)[0]:
            raise NonsenseError("the list has no column OriginalPaperDOI")
        rows = works_of_table(text, "retraction-watch", "retraction-watch", today())
        works = [record_line(work) for _, work in rows if isinstance(work, Work)]
        if not works:
            raise NonsenseError("the list names no retracted paper")
        return FetchedPage(records=tuple(works), cursor="", total=len(works))
