"""OpenAlex by topic, venue, author and institution, with references and citation counts.

Cursor paging: https://developers.openalex.org/guides/page-through-results
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
from citewell.sources.values import raw, today
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Request, Selection
from citewell_corpus.fetching.run import unknown_name

_SELECT = (
    "id,doi,title,display_name,publication_year,type,authorships,primary_location,locations,"
    "biblio,cited_by_count,language,keywords,is_retracted,is_paratext,referenced_works,"
    "abstract_inverted_index"
)
_ENTITIES = {
    # field of the selection -> path, filter, letter of the identifiers
    "topics": ("/topics", "topics.id", "T"),
    "venues": ("/sources", "primary_location.source.id", "S"),
    "authors": ("/authors", "authorships.author.id", "A"),
    "institutions": ("/institutions", "authorships.institutions.id", "I"),
}
BATCH = 50
"""Identifiers that one filter takes."""
_LATEST = 2
"""Years before this one in which a work is among the latest."""
_LATEST_PAGES = 20
"""Pages of the latest works."""
_SYNTAX = re.compile(r"[^\w\s-]+")


class OpenAlexFeed(BaseFeed):
    """`/works` with filters, a hundred works a page."""

    name = "openalex"
    source = OpenAlex
    format = "openalex"
    needs = frozenset({"query", "topics", "venues", "authors", "institutions", "works"})
    fields = needs | {"since", "until", "cited_at_least"}
    page_size = 100

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
        round asks for what was published since."""
        parts, number, _, cursor = _place(selection, cursor)
        part = parts[number]
        filters = [
            f"{name}:{'|'.join(values)}"
            for field, (_, name, _) in _ENTITIES.items()
            if (values := getattr(part, field))
        ]
        if part.works:
            filters.append(f"openalex:{'|'.join(part.works)}")
        if part.query:
            words = " ".join(_SYNTAX.sub(" ", part.query).split())
            filters.append(f"title_and_abstract.search:{words}")
        if part.since:
            filters.append(f"publication_year:>{part.since - 1}")
        if part.until:
            filters.append(f"publication_year:<{part.until + 1}")
        if part.cited_at_least:
            filters.append(f"cited_by_count:>{part.cited_at_least - 1}")
        if changed_since:
            filters.append(f"from_publication_date:{changed_since}")
        params = (
            ("filter", ",".join(filters)),
            ("per_page", str(self.page_size)),
            ("select", _SELECT),
            *(() if part.works else (("cursor", cursor or "*"),)),
            *(() if part.works or not selection.works else (("sort", "cited_by_count:desc"),)),
        )
        return Ask(path="/works", params=params)

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The works of an answer, as OpenAlex wrote them; those that are named are not repeated."""
        answer = json_object(body)
        meta = child(answer, "meta")
        if not isinstance(answer.get("results"), list):
            raise NonsenseError("the body has no list of works")
        works = children(answer, "results")
        total = meta.get("count")
        parts, number, pages, _ = _place(selection, cursor)
        following = raw(meta.get("next_cursor"), 10_000) if works else ""
        if selection.works:
            is_limited = bool(parts[number].venues) and pages + 1 == _LATEST_PAGES
            if following and not parts[number].works and not is_limited:
                following = f"{number}.{pages + 1}:{following}"
            else:
                following = f"{number + 1}.0:" if number + 1 < len(parts) else ""
        if not parts[number].works:
            known = frozenset(selection.works)
            works = [work for work in works if raw(work.get("id")).rpartition("/")[2] not in known]
        is_last = number + 1 == len(parts)
        return FetchedPage(
            records=tuple(msgspec.json.encode(work) for work in works),
            cursor=following,
            total=total if is_last and isinstance(total, int) else None,
        )


def _place(selection: Selection, cursor: str) -> tuple[list[Selection], int, int, str]:
    """The parts of a selection that are asked for one after the other, the number of the part that
    a cursor is in, its pages so far, and the source's own cursor there."""
    if not selection.works:
        return [selection], 0, 0, cursor
    named, whole = selection.works, msgspec.structs.replace(selection, works=())
    parts = [Selection(works=named[at : at + BATCH]) for at in range(0, len(named), BATCH)]
    if whole.topics and whole.venues:
        parts.append(msgspec.structs.replace(whole, since=int(today()[:4]) - _LATEST))
    if whole.topics:
        parts.append(msgspec.structs.replace(whole, venues=()))
    place, _, own = cursor.partition(":")
    number, _, pages = (place or "0.0").partition(".")
    return parts, int(number), int(pages), own


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
