"""OpenAlex by topic, venue, author and institution, with references and citation counts.

Cursor paging: https://docs.openalex.org/how-to-use-the-api/get-lists-of-entities/paging
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.model import Problem
from citewell.sources.adapters.openalex import OpenAlex
from citewell.sources.contract import Ask, Failed, NonsenseError, child, children, json_object
from citewell.sources.values import raw
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Request, Selection
from citewell_corpus.fetching.run import unknown_name

_SELECT = (
    "id,doi,title,display_name,publication_year,type,authorships,primary_location,locations,"
    "biblio,cited_by_count,language,is_retracted,is_paratext,referenced_works,abstract_inverted_index"
)
_ENTITIES = {
    # field of the selection -> path, filter, letter of the identifiers
    "topics": ("/topics", "topics.id", "T"),
    "venues": ("/sources", "primary_location.source.id", "S"),
    "authors": ("/authors", "authorships.author.id", "A"),
    "institutions": ("/institutions", "authorships.institutions.id", "I"),
}
_SYNTAX = re.compile(r"[^\w\s-]+")


class OpenAlexFeed(BaseFeed):
    """`/works` with filters, two hundred works a page."""

    name = "openalex"
    source = OpenAlex
    format = "openalex"
    fields = frozenset(
        {"query", "topics", "venues", "authors", "institutions", "since", "until", "cited_at_least"}
    )
    needs = frozenset({"query", "topics", "venues", "authors", "institutions"})
    page_size = 200

    async def resolved(self, selection: Selection, request: Request[str]) -> Selection:
        """Names of topics, venues, authors and institutions as OpenAlex's identifiers."""
        found: dict[str, tuple[str, ...]] = {}
        for field, (path, _, letter) in _ENTITIES.items():
            found[field] = tuple(
                [
                    name.upper() if re.fullmatch(letter + r"\d+", name.upper())
                    else await _identifier(path, letter, field, name, request)
                    for name in getattr(selection, field)
                ]
            )  # fmt: skip
        return msgspec.structs.replace(selection, **found)

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The next page. OpenAlex gives the date of a change to paying users only, so that a later
        round requests works published since."""
        filters = [
            f"{name}:{'|'.join(values)}"
            for field, (_, name, _) in _ENTITIES.items()
            if (values := getattr(selection, field))
        ]
        if selection.query:
            words = " ".join(_SYNTAX.sub(" ", selection.query).split())
            filters.append(f"title_and_abstract.search:{words}")
        if selection.since:
            filters.append(f"publication_year:>{selection.since - 1}")
        if selection.until:
            filters.append(f"publication_year:<{selection.until + 1}")
        if selection.cited_at_least:
            filters.append(f"cited_by_count:>{selection.cited_at_least - 1}")
        if changed_since:
            filters.append(f"from_publication_date:{changed_since}")
        params = (
            ("filter", ",".join(filters)),
            ("per_page", str(self.page_size)),
            ("cursor", cursor or "*"),
            ("select", _SELECT),
        )
        return Ask(path="/works", params=params)

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The works of an answer, verbatim."""
        answer = json_object(body)
        meta = child(answer, "meta")
        if not isinstance(answer.get("results"), list):
            raise NonsenseError("the body has no list of works")
        works = children(answer, "results")
        total = meta.get("count")
        return FetchedPage(
            records=tuple(msgspec.json.encode(work) for work in works),
            cursor=raw(meta.get("next_cursor"), 10_000) if works else "",
            total=total if isinstance(total, int) else None,
        )


async def _identifier(path: str, letter: str, field: str, name: str, request: Request[str]) -> str:
    """The identifier of the first entity that OpenAlex finds for a name."""

    def decode(body: bytes) -> str:
        results: list[dict[str, Any]] = children(json_object(body), "results")
        return raw(results[0].get("id")).rpartition("/")[2] if results else ""

    decoder: Callable[[bytes], str] = decode
    params = (("search", name), ("per_page", "1"), ("select", "id,display_name"))
    found = await request(OpenAlex, Ask(path=path, params=params), decoder)
    if isinstance(found, Failed):
        raise LibraryError(Problem("fetch-stopped", found.message, "Try again later."))
    if not isinstance(found, str) or not re.fullmatch(letter + r"\d+", found):
        raise unknown_name("OpenAlex", field.removesuffix("s"), name)
    return found
