"""The interface and the base of feeds: the works of a source page by page, as lines
that an importer reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol, TypeVar

import msgspec

from citewell.sources.contract import Ask, Failed, NoMatch, Source

T = TypeVar("T")

Request = Callable[[type[Source], Ask, Callable[[bytes], T]], Awaitable[T | NoMatch | Failed]]
"""Sends one request of a source; see `citewell.sources.web.client.Web`."""


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A selection of a source's works. Names within a field are alternatives."""

    query: str = ""
    topics: tuple[str, ...] = ()
    venues: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Categories of arXiv: "cs.CL"."""
    since: int | None = None
    """First year."""
    until: int | None = None
    """Last year."""
    cited_at_least: int = 0
    works: tuple[str, ...] = ()
    """Identifiers of works of the source. They come first; then the latest works on the topics in
    the venues, then those on the topics in any venue, each the most cited first."""
    most: int = 0
    """Works after which a round ends; 0: with the last one."""

    @property
    def used(self) -> frozenset[str]:
        """The names of the fields that choose works."""
        fields = (name for name in self.__struct_fields__ if name != "most")
        return frozenset(name for name in fields if getattr(self, name))


class FetchedPage(msgspec.Struct, frozen=True):
    """One answer: its records and the cursor of the next one."""

    records: tuple[bytes, ...]
    """Lines of the feed's format, without line ends."""
    cursor: str
    """Cursor for the next request; empty after the last page."""
    total: int | None = None
    """Number of works in the selection, if the source reports it."""


class Feed(Protocol):
    """The bulk interface of one source. Holds no state."""

    name: str
    source: type[Source]
    """Its rules for requests: address, rate, keys."""
    format: str
    """Name of the importer that reads the lines."""
    extension: str
    """Suffix of the files with the lines: ".jsonl"."""
    fields: frozenset[str]
    """The supported fields of a `Selection`."""
    needs: frozenset[str]
    """Fields of which at least one is required: a source has too many works to fetch all."""
    page_size: int
    """Number of works in a full page."""

    async def resolved(self, selection: Selection, request: Request[str]) -> Selection:
        """The selection with names replaced by the source's own identifiers. Raises `LibraryError`
        "fetch-unknown" for an unknown name."""
        ...

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The request for a page. `cursor` is empty for the first one; `changed_since`, an ISO 8601
        date or empty, excludes older records if the source supports that."""
        ...

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """Decode the answer to `ask` with this selection and cursor. Raises `NonsenseError` for an
        invalid one."""
        ...


class BaseFeed:
    """A feed of JSON Lines from a source that accepts names."""

    name: ClassVar[str]
    source: ClassVar[type[Source]]
    format: ClassVar[str]
    extension: ClassVar[str] = ".jsonl"
    fields: ClassVar[frozenset[str]]
    needs: ClassVar[frozenset[str]]
    page_size: ClassVar[int] = 100

    async def resolved(self, selection: Selection, request: Request[str]) -> Selection:
        """The selection unchanged."""
        return selection


def years(selection: Selection) -> str:
    """The years as "2018-2022", "2018-" or "-2022"; empty without any."""
    first, last = selection.since or "", selection.until or ""
    return f"{first}-{last}" if first or last else ""
