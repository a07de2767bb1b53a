"""What most feeds share."""

from __future__ import annotations

from typing import ClassVar

from citewell.sources.contract import Source
from citewell_corpus.fetching.contract import Request, Selection


class BaseFeed:
    """A feed of JSON Lines whose source takes names as they are."""

    name: ClassVar[str]
    source: ClassVar[type[Source]]
    format: ClassVar[str]
    extension: ClassVar[str] = ".jsonl"
    fields: ClassVar[frozenset[str]]
    needs: ClassVar[frozenset[str]]
    page_size: ClassVar[int] = 100

    async def resolved(self, selection: Selection, request: Request[str]) -> Selection:
        """The selection as it is."""
        return selection


def years(selection: Selection) -> str:
    """The years as "2018-2022", "2018-" or "-2022"; empty without any."""
    first, last = selection.since or "", selection.until or ""
    return f"{first}-{last}" if first or last else ""
