"""Open Library: books by ISBN and by title. https://openlibrary.org/developers/api"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citewell.model import Provenance, Work
from citewell.sources import values
from citewell.sources.contract import (
    MATCHES,
    Answer,
    Ask,
    Failed,
    Matched,
    NoMatch,
    NonsenseError,
    Source,
    SourcePolicy,
    SourceQuery,
    children,
    json_object,
    records,
)

_FIELDS = "key,title,subtitle,author_name,first_publish_year,publisher"


class OpenLibrary(Source):
    """Editions of books by ISBN, fifty at a time; books by title."""

    name = "open-library"
    title = "Open Library"
    gives = "books and their editions"
    sends = "ISBNs; titles and first authors of references; search words"
    policy = SourcePolicy(
        base="https://openlibrary.org", hosts=("openlibrary.org",), per_second=1.0, at_once=2
    )
    ids = frozenset({"isbn"})
    can = frozenset({"match", "search"})
    most_words = 6
    batch = 50

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        names = ",".join(f"ISBN:{value}" for value in values)
        params = (("bibkeys", names), ("format", "json"), ("jscmd", "data"))
        got = await self._fetch(type(self), Ask(path="/api/books", params=params), decode_editions)
        if isinstance(got, Failed | NoMatch):
            return [got] * len(values)
        return [
            Matched(self.name, (got[value],)) if value in got else NoMatch(self.name)
            for value in values
        ]

    async def _match(self, wanted: SourceQuery) -> Answer:
        # Its index has titles without their subtitles.
        params = [("title", wanted.title.split(":")[0]), ("limit", str(MATCHES))]
        if wanted.authors:
            params.append(("author", wanted.authors[0]))
        return await self._books(*params)

    async def _query(self, text: str, limit: int) -> Answer:
        return await self._books(("q", text), ("limit", str(limit)))

    async def _books(self, *params: tuple[str, str]) -> Answer:
        request = Ask(path="/search.json", params=(*params, ("fields", _FIELDS)))
        return await self.works(request, decode_search)


def decode_editions(body: bytes) -> dict[str, Work]:
    """The editions of `/api/books`, by ISBN."""
    day = values.today()
    found = {}
    items = json_object(body)
    for name, record in items.items():
        if name.startswith("ISBN:") and isinstance(record, dict):
            work = work_of_edition(record, day)
            if isinstance(work, Work):
                found[name.removeprefix("ISBN:")] = work
    if items and not found:
        raise NonsenseError("no record could be read")
    return found


def decode_search(body: bytes) -> list[Work]:
    """The books of `/search.json`."""
    return records(children(json_object(body), "docs"), work_of_book)


def work_of_edition(record: dict[str, Any], day: str) -> Work | str:
    """The work of one edition, or the reason why it is none."""
    people = record.get("authors")
    names = [one.get("name") for one in people if isinstance(one, dict)] if people else []
    publishers = record.get("publishers")
    publisher = publishers[0] if isinstance(publishers, list) and publishers else {}
    return _book(
        record, names, values.year(record.get("publish_date")),
        values.text(values.mapping(publisher).get("name")), day,
    )  # fmt: skip


def work_of_book(record: dict[str, Any], day: str) -> Work | str:
    """The work of one book with all its editions, or the reason why it is none.

    The year is that of the first edition; a publisher is given only if it is the only one.
    """
    names = record.get("author_name")
    publishers = record.get("publisher")
    only = publishers[0] if isinstance(publishers, list) and len(publishers) == 1 else ""
    return _book(
        record, names if isinstance(names, list) else [],
        values.year(record.get("first_publish_year")), values.text(only), day,
    )  # fmt: skip


def _book(
    record: dict[str, Any], names: Sequence[object], year: int | None, publisher: str, day: str
) -> Work | str:
    key = values.raw(record.get("key")).removeprefix("/")
    title = values.title(record.get("title"))
    if not key:
        return "The record has no key."
    if not title:
        return "The record has no title."
    if subtitle := values.title(record.get("subtitle")):
        title = f"{title}: {subtitle}"
    identifier = f"open-library:{key}"
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(names),
        year=year,
        kind="book",
        publisher=publisher,
        url=f"https://openlibrary.org/{key}",
        same_as=(identifier,),
        provenance=(Provenance(source="open-library", source_id=key, retrieved=day),),
    )
