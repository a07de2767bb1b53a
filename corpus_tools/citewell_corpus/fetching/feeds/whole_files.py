"""Sources that publish all of their records as one file: the ACL Anthology, https://aclanthology.org,
and the list of Retraction Watch, https://doi.org/10.13003/c23rw1d9.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from typing import ClassVar

from citewell.documents.textfile import decode
from citewell.model import Work
from citewell.sources.contract import Ask, NonsenseError, Source, SourcePolicy
from citewell.sources.values import record_line, today
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection
from citewell_corpus.importers.table import works_of_table

MAX_UNPACKED = 1 << 30
_ENTRY = re.compile(rb"^(?=@)", re.MULTILINE)


class _FileFeed(BaseFeed):
    """A feed of one page, a file without parts and dates."""

    fields = frozenset()
    needs = frozenset()
    file: ClassVar[Ask]

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        return self.file


class _Anthology(Source):
    name = "acl-anthology"
    title = "The ACL Anthology"
    gives = "every paper of computational linguistics with its abstract"
    sends = "nothing but the request for its export"
    policy = SourcePolicy(
        base="https://aclanthology.org",
        hosts=("aclanthology.org",),
        per_second=0.2,
        at_once=1,
        max_bytes=400_000_000,
    )


class AclAnthologyFeed(_FileFeed):
    """One page: the export with abstracts."""

    name = "acl-anthology"
    source = _Anthology
    format = "bibtex"
    extension = ".bib"
    page_size = 120_000
    file = Ask(path="/anthology+abstracts.bib.gz", accept="application/gzip")

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The entries of the file."""
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(body)) as stream:
                data = stream.read(MAX_UNPACKED + 1)
        except (OSError, EOFError, zlib.error):
            raise NonsenseError("the export is no whole gzip file") from None
        if len(data) > MAX_UNPACKED:
            raise NonsenseError("the export is too large")
        entries = [entry.rstrip() for entry in _ENTRY.split(data) if entry.startswith(b"@")]
        if not entries:
            raise NonsenseError("the export has no entries")
        return FetchedPage(records=tuple(entries), cursor="", total=len(entries))


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


class RetractionWatchFeed(_FileFeed):
    """One page: the retracted papers of the list."""

    name = "retraction-watch"
    source = _RetractionWatch
    format = "records"
    page_size = 80_000
    file = Ask(path="/retraction_watch.csv", accept="text/csv")

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The papers in the rows of the file; other rows are left out."""
        text = decode(body)[0]
        if "OriginalPaperDOI" not in text.split("\n", 1)[0]:
            raise NonsenseError("the list has no column OriginalPaperDOI")
        rows = works_of_table(text, "retraction-watch", "retraction-watch", today())
        works = [record_line(work) for _, work in rows if isinstance(work, Work)]
        if not works:
            raise NonsenseError("the list names no retracted paper")
        return FetchedPage(records=tuple(works), cursor="", total=len(works))
