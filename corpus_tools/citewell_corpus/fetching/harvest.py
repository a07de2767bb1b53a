"""Following references from seeds, level by level, into a folder that an importer reads.

`works.jsonl` has a line for each work in the order of discovery, with its level; `edges.jsonl` a
line for each work whose references are known. Both only grow, so that a killed harvest continues
where it was; a truncated last line is dropped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.model import Problem, Work
from citewell.sources.adapters.openalex import OpenAlex
from citewell.sources.contract import (
    Ask,
    Failed,
    Fetch,
    Matched,
    NoMatch,
    NonsenseError,
    Source,
    SourceQuery,
    children,
    json_object,
)
from citewell.sources.values import raw, record_line, today, work_of_openalex
from citewell_corpus.processes import Progress

# References of works from sources: OpenAlex fifty works per request, others one by one.

T = TypeVar("T")
BATCH = 50
MOST_REFERENCES = 500
"""Maximum number of references followed from one work."""
_SELECT = (
    "id,doi,title,display_name,publication_year,type,authorships,primary_location,locations,"
    "biblio,cited_by_count,keywords,is_retracted,is_paratext,referenced_works,"
    "abstract_inverted_index"
)


class Node(msgspec.Struct):
    """A work of the graph."""

    work: Work
    references: tuple[str, ...] | None = None
    """Ids of the works that it cites; None: not requested yet."""


class ReferenceGraph(Protocol):
    """A source of the references of works. Every method raises `LibraryError` "fetch-stopped" if
    the source does not respond."""

    async def seeds(self, wanted: Sequence[SourceQuery]) -> list[Node]:
        """The works of references; some may not be found."""
        ...

    async def search(self, text: str, limit: int) -> list[Node]:
        """Works found for words."""
        ...

    async def expand(self, nodes: Sequence[Node], known: Collection[str], room: int) -> list[Node]:
        """Fill in the `references` of the nodes; return the nodes of those not in `known`, at most
        `room`."""
        ...


class SourceGraph:
    """The references from any other source, one request per work."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def seeds(self, wanted: Sequence[SourceQuery]) -> list[Node]:
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
            if isinstance(answer, Matched):
                found.append(Node(answer.works[0]))
        return found

    async def search(self, text: str, limit: int) -> list[Node]:
        answer = await self._source.search(text, limit)
        if isinstance(answer, Failed):
            raise stopped(answer)
        return [Node(work) for work in answer.works] if isinstance(answer, Matched) else []

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
                return answer.works if isinstance(answer, Matched) else ()
        return ()


class OpenAlexGraph(SourceGraph):
    """References from OpenAlex, which includes the ids of all references in each record, so that a
    level costs one request for fifty works."""

    def __init__(self, fetch: Fetch) -> None:
        super().__init__(OpenAlex(fetch))
        self._fetch = fetch

    async def seeds(self, wanted: Sequence[SourceQuery]) -> list[Node]:
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
            found += answer if not isinstance(answer, NoMatch) else []
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
    """The error of a harvest from a source that does not answer."""
    hint = "What was harvested is kept: run the same command again to go on."
    return LibraryError(Problem("fetch-stopped", failed.message, hint))


WORKS = "works.jsonl"
EDGES = "edges.jsonl"
SEARCHED = 20
"""Number of works used as seeds for a query."""


class HarvestLevel(msgspec.Struct):
    """The works and references of one level of a harvest."""

    works: int = 0
    edges: int = 0


class HarvestReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a harvest, over all its runs."""

    folder: str
    works: int
    edges: int
    """Number of references between harvested works."""
    levels: tuple[HarvestLevel, ...]
    """Levels from the seeds on."""
    missing_seeds: int
    done: bool
    """False when it stopped at the maximum number of works, or because the source did not
    answer."""
    problem: Problem | None = None


class Harvest:
    """One harvest: its folder and the content of it."""

    def __init__(self, folder: Path, graph: ReferenceGraph) -> None:
        self._folder, self._graph = folder, graph
        self._nodes: dict[str, Node] = {}
        self._level: dict[str, int] = {}
        self._dois: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        for line in _whole_lines(folder / WORKS):
            work = Work(id=line["id"], title=line["title"], doi=line.get("doi", ""),
                        arxiv=line.get("arxiv", ""))  # fmt: skip
            self._remember(Node(work), line["level"])
        for line in _whole_lines(folder / EDGES):
            if line["id"] in self._nodes:
                self._nodes[line["id"]].references = tuple(line["references"])

    async def run(
        self,
        seeds: Sequence[SourceQuery],
        queries: Sequence[str],
        *,
        depth: int,
        most: int,
        progress: Progress | None = None,
    ) -> HarvestReport:
        """Follow references down to `depth` levels below the seeds, to at most `most` works.

        Never raises for a failing source: the report has the problem.
        """
        problem: Problem | None = None
        missing = 0
        if progress is not None:
            progress.stage("harvest", most)
            progress.advance(len(self._nodes))
        with (self._folder / WORKS).open("ab") as works, (self._folder / EDGES).open("ab") as edges:
            try:
                if not self._nodes:
                    found = await self._graph.seeds(seeds)
                    missing = len(seeds) - len(found)
                    for query in queries:
                        found += await self._graph.search(query, SEARCHED)
                    self._write(works, edges, found[:most], 0)
                for level in range(depth):
                    await self._expand(works, edges, level, most, progress)
            except LibraryError as error:
                problem = error.problem
        return self._report(missing, problem, full=len(self._nodes) >= most)

    async def _expand(
        self, works: BinaryIO, edges: BinaryIO, level: int, most: int, progress: Progress | None
    ) -> None:
        """Add the works cited by those of a level."""
        waiting = [self._nodes[name] for name, at in self._level.items() if at == level]
        for start in range(0, len(waiting), BATCH):
            room = most - len(self._nodes)
            if room <= 0:
                return
            part = waiting[start : start + BATCH]
            if all(self._is_expanded(node) for node in part):
                continue
            unknown = [node for node in part if node.references is None]
            new = await self._graph.expand(part, self._nodes.keys(), room)
            self._write(works, edges, new[:room], level + 1)
            for node in unknown:
                _append(edges, {"id": node.work.id, "references": node.references or ()})
            if progress is not None:
                progress.advance(len(new))

    def _is_expanded(self, node: Node) -> bool:
        """Whether the references of a work are known or could not be found."""
        return node.references is not None and all(one in self._nodes for one in node.references)

    def _write(self, works: BinaryIO, edges: BinaryIO, nodes: Sequence[Node], level: int) -> None:
        for node in nodes:
            if node.work.id in self._nodes or (node.work.doi and node.work.doi in self._dois):
                continue
            record = msgspec.json.decode(record_line(node.work)) | {"level": level}
            _append(works, record)
            if node.references is not None:
                _append(edges, {"id": node.work.id, "references": node.references})
            self._remember(node, level)
        works.flush()
        edges.flush()

    def _remember(self, node: Node, level: int) -> None:
        self._nodes[node.work.id], self._level[node.work.id] = node, level
        if node.work.doi:
            self._dois.add(node.work.doi)

    def _report(self, missing: int, problem: Problem | None, *, full: bool) -> HarvestReport:
        works = Counter(self._level.values())
        edges: Counter[int] = Counter()
        for name, node in self._nodes.items():
            held = sum(one in self._nodes for one in node.references or ())
            edges[self._level[name]] += held
        levels = tuple(HarvestLevel(works[n], edges[n]) for n in range(max(works, default=-1) + 1))
        return HarvestReport(
            folder=str(self._folder),
            works=len(self._nodes),
            edges=sum(edges.values()),
            levels=levels,
            missing_seeds=missing,
            done=problem is None and not full,
            problem=problem,
        )


def _append(stream: BinaryIO, value: dict[str, Any]) -> None:
    stream.write(msgspec.json.encode(value) + b"\n")


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; a truncated line at its end is removed from it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with path.open("r+b") as stream:
            stream.truncate(len(whole))
    return [msgspec.json.decode(line) for line in whole.splitlines()]
