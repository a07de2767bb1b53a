"""The whole ACL Anthology as the one file that it publishes. https://aclanthology.org"""

from __future__ import annotations

import gzip
import io
import re
import zlib

from citewell.sources.contract import Ask, NonsenseError, Source, SourcePolicy
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection

MAX_UNPACKED = 1 << 30
_ENTRY = re.compile(rb"^(?=@)", re.MULTILINE)


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


class AclAnthologyFeed(BaseFeed):
    """One page: the export with abstracts."""

    name = "acl-anthology"
    source = _Anthology
    format = "bibtex"
    extension = ".bib"
    fields = frozenset()
    needs = frozenset()
    page_size = 120_000

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The file; it has no parts and no dates."""
        return Ask(path="/anthology+abstracts.bib.gz", accept="application/gzip")

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
