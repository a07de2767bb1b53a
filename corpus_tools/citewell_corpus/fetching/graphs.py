"""References of works from sources: OpenAlex fifty works per request, others one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.model import Problem, Work
from citewell.sources.adapters.openalex import OpenAlex
from citewell.sources.answers import Failed, Found, Nothing, Wanted
from citewell.sources.contract import Ask, Fetch, NonsenseError, Source, children, json_object
from citewell.sources.openalex_work import work_of_openalex
from citewell.sources.values import raw, today

T = TypeVar("T")
BATCH = 50
MOST_REFERENCES = 500
"""References of one work that are followed."""
_SELECT = (
    "id,doi,title,display_name,publication_year,type,authorships,primary_location,locations,"
    "biblio,cited_by_count,is_retracted,is_paratext,referenced_works,abstract_inverted_index"
)


class Node(msgspec.Struct):
    """A work of the graph."""

    work: Work
    references: tuple[str, ...] | None = None
    """Ids of the works that it cites; None: not asked for yet."""


class ReferenceGraph(Protocol):
    """A source of the references of works. Every method raises `LibraryError` "fetch-stopped" if
    the source does not respond."""

    async def seeds(self, wanted: Sequence[Wanted]) -> list[Node]:
        """The works of references, of which some may not be found."""
        ...

    async def search(self, text: str, limit: int) -> list[Node]:
        """Works for words."""
        ...

    async def expand(self, nodes: Sequence[Node], known: Collection[str], room: int) -> list[Node]:
        """Fill in the `references` of the nodes; the nodes of those that are not in `known`, at
        most `room`."""
        ...


class SourceGraph:
    """The references from any other source, one request per work."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def seeds(self, wanted: Sequence[Wanted]) -> list[Node]:
        found: list[Node] = []
        for one in wanted:
            for kind, value in (("doi", one.doi), ("arxiv", one.arxiv)):
                if value and kind in self._source.ids:
                    answer = await self._source.by_id(kind, value)
                    break
            else:
                answer = await self._source.match(one)
            if isinstance(answer, Failed):
                raise stopped(answer)
            if isinstance(answer, Found):
                found.append(Node(answer.works[0]))
        return found

    async def search(self, text: str, limit: int) -> list[Node]:
        answer = await self._source.search(text, limit)
        if isinstance(answer, Failed):
            raise stopped(answer)
        return [Node(work) for work in answer.works] if isinstance(answer, Found) else []

    async def expand(self, nodes: Sequence[Node], known: Collection[str], room: int) -> list[Node]:
        new: dict[str, Node] = {}
        answers = await asyncio.gather(*(self._references(node.work) for node in nodes))
        for node, works in zip(nodes, answers, strict=True):
            node.references = tuple(work.id for work in works)
            for work in works:
                if work.id not in known and work.id not in new and len(new) < room:
                    new[work.id] = Node(work)
        return list(new.values())

    async def _references(self, work: Work) -> tuple[Work, ...]:
        for kind, value in (("doi", work.doi), ("arxiv", work.arxiv)):
            if value and kind in self._source.ids:
                answer = await self._source.references(kind, value, MOST_REFERENCES)
                if isinstance(answer, Failed):
                    raise stopped(answer)
                return answer.works if isinstance(answer, Found) else ()
        return ()


class OpenAlexGraph(SourceGraph):
    """OpenAlex gives the ids of all references with each record, so that a level costs one request
    for fifty works."""

    def __init__(self, fetch: Fetch) -> None:
        super().__init__(OpenAlex(fetch))
        self._fetch = fetch

    async def seeds(self, wanted: Sequence[Wanted]) -> list[Node]:
        nodes = await super().seeds(wanted)
        return await self._records(_identities(node.work.id for node in nodes))

    async def search(self, text: str, limit: int) -> list[Node]:
        nodes = await super().search(text, limit)
        return await self._records(_identities(node.work.id for node in nodes))

    async def expand(self, nodes: Sequence[Node], known: Collection[str], room: int) -> list[Node]:
        wanted = dict.fromkeys(
            name for node in nodes for name in node.references or () if name not in known
        )
        return await self._records(_identities(list(wanted)[:room]))

    async def _records(self, identities: Sequence[str]) -> list[Node]:
        found: list[Node] = []
        for start in range(0, len(identities), BATCH):
            names = "|".join(identities[start : start + BATCH])
            params = (
                ("filter", f"openalex:{names}"), ("per_page", str(BATCH)), ("select", _SELECT),
            )  # fmt: skip
            answer = await self._fetch(OpenAlex, Ask(path="/works", params=params), decode_nodes)
            if isinstance(answer, Failed):
                raise stopped(answer)
            found += answer if not isinstance(answer, Nothing) else []
        return found


def decode_nodes(body: bytes) -> list[Node]:
    """The works of an answer of OpenAlex with the ids of their references."""
    answer = json_object(body)
    if not isinstance(answer.get("results"), list):
        raise NonsenseError("the body has no list of works")
    day = today()
    made = ((work_of_openalex(one, day), one) for one in children(answer, "results"))
    return [Node(work, _cited(record)) for work, record in made if isinstance(work, Work)]


def _cited(record: dict[str, Any]) -> tuple[str, ...]:
    listed = record.get("referenced_works")
    names = (raw(one).rpartition("/")[2] for one in (listed if isinstance(listed, list) else ()))
    found = [f"openalex:{name}" for name in names if name.startswith("W")]
    return tuple(found[:MOST_REFERENCES])


def _identities(names: Iterator[str] | Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.removeprefix("openalex:") for name in names))


def stopped(failed: Failed) -> LibraryError:
    """The error of a harvest whose source does not answer."""
    hint = "What was harvested is kept: run the same command again to go on."
    return LibraryError(Problem("fetch-stopped", failed.message, hint))
