"""The allowed sources behind one client: the same question to all of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from citewell.model.direction import Direction
from citewell.sources.answers import Answer, Failed, Nothing, Reason, Wanted
from citewell.sources.budget import Budget, LastResponses
from citewell.sources.contract import Ask, Fetch, Source
from citewell.sources.registry import SOURCES, source_named

T = TypeVar("T")

ARXIV_DOI = "10.48550/arxiv."
LINKS_AT_ONCE = 4
"""Number of works whose citations are requested concurrently."""
MATCHES_AT_ONCE = 12
"""Number of references matched concurrently; the sources' own rate limits apply as well."""


class SourceAnswers(msgspec.Struct, frozen=True):
    """The sources' answers about one reference, by kind of question."""

    doi: tuple[Answer, ...] = ()
    arxiv: tuple[Answer, ...] = ()
    title: tuple[Answer, ...] = ()

    @property
    def all(self) -> tuple[Answer, ...]:
        return (*self.doi, *self.arxiv, *self.title)


class Sources:
    """Some sources. Every method answers with values; only `CancelledError` is raised."""

    def __init__(self, names: Sequence[str], fetch: Fetch) -> None:
        self.last_responses = LastResponses()

        async def listening(
            source: type[Source], ask: Ask, decode: Callable[[bytes], T]
        ) -> T | Nothing | Failed:
            answer = await fetch(source, ask, decode)
            if not isinstance(answer, Failed):
                self.last_responses.note(source.name)
            return answer

        self.by_name: Mapping[str, Source] = {name: source_named(name)(listening) for name in names}

    async def by_ids(
        self, wanted: Sequence[Wanted], budget: Budget | None = None
    ) -> list[SourceAnswers]:
        """What every source knows by the DOIs and arXiv identifiers, in order."""
        doi, arxiv = await asyncio.gather(
            self._all_by("doi", [one.doi for one in wanted], budget),
            self._all_by("arxiv", [one.arxiv for one in wanted], budget),
        )
        return [SourceAnswers(doi=d, arxiv=a) for d, a in zip(doi, arxiv, strict=True)]

    async def notices(
        self, dois: Sequence[str], budget: Budget | None = None
    ) -> list[tuple[Answer, ...]]:
        """The records of DOIs from one source that reports retractions; empty if there is none."""
        tellers = (name for name, row in SOURCES.items() if row.has_notices)
        name = next((name for name in tellers if name in self.by_name), None)
        if name is None:
            return [() for _ in dois]
        return await self._by("doi", dois, [self.by_name[name]], budget)

    async def match(
        self,
        wanted: Sequence[Wanted],
        done: Callable[[int], None] | None = None,
        budget: Budget | None = None,
    ) -> list[SourceAnswers]:
        """What every source has under the titles, in order; `done(1)` after each."""
        turn = asyncio.Semaphore(MATCHES_AT_ONCE)
        able = [source for source in self.by_name.values() if "match" in source.can]

        async def one(reference: Wanted) -> SourceAnswers:
            async with turn:
                answers = await asyncio.gather(
                    *(
                        self._within(budget, source, partial(source.match, reference), _itself)
                        for source in able
                    )
                )
            if done is not None:
                done(1)
            return SourceAnswers(title=tuple(answers))

        return list(await asyncio.gather(*(one(reference) for reference in wanted)))

    async def search(self, text: str, limit: int, budget: Budget | None = None) -> list[Answer]:
        """What every source finds for words."""
        able = [source for source in self.by_name.values() if "search" in source.can]
        return list(
            await asyncio.gather(
                *(
                    self._within(budget, source, partial(source.search, text, limit), _itself)
                    for source in able
                )
            )
        )

    async def search_each(
        self, texts: Mapping[str, str], limit: int, budget: Budget | None = None
    ) -> list[Answer]:
        """What each of the named sources finds for its own text, all of them at once."""
        return list(
            await asyncio.gather(
                *(
                    self._within(
                        budget,
                        self.by_name[name],
                        partial(self.by_name[name].search, text, limit),
                        _itself,
                    )
                    for name, text in texts.items()
                    if name in self.by_name
                )
            )
        )

    async def links(
        self, wanted: Sequence[Wanted], limit: int, budget: Budget | None = None
    ) -> list[list[tuple[Direction, Answer]]]:
        """References and citers of each work, from the first source that lists both; empty where
        none does, or where it cannot look the work up."""
        able = [one for one in self.by_name.values() if {"references", "citations"} <= one.can]
        slots = asyncio.Semaphore(LINKS_AT_ONCE)

        async def one(source: Source, kind: str, value: str) -> list[tuple[Direction, Answer]]:
            async with slots:
                return [
                    ("cites", await self._within(
                        budget, source, partial(source.references, kind, value, limit), _itself
                    )),
                    ("cited_by", await self._within(
                        budget, source, partial(source.citations, kind, value, limit), _itself
                    )),
                ]  # fmt: skip

        async def nothing() -> list[tuple[Direction, Answer]]:
            return []

        tasks = []
        for work in wanted:
            ids = [("doi", work.doi), ("arxiv", work.arxiv)]
            found = [
                (source, kind, value)
                for source in able
                for kind, value in ids
                if value and kind in source.ids
            ]
            tasks.append(one(*found[0]) if found else nothing())
        return list(await asyncio.gather(*tasks))

    async def reach(self, budget: Budget | None = None) -> dict[str, Answer]:
        """One small question to each source, to see whether it answers."""

        async def one(source: Source) -> Answer:
            if "doi" in source.ids:
                return await source.by_id("doi", "10.1000/182")
            if "arxiv" in source.ids:
                return await source.by_id("arxiv", "1706.03762")
            return await source.search("citation", 1)

        answers = await asyncio.gather(
            *(
                self._within(budget, source, partial(one, source), _itself)
                for source in self.by_name.values()
            )
        )
        return dict(zip(self.by_name, answers, strict=True))

    async def _within(
        self,
        budget: Budget | None,
        source: Source,
        ask: Callable[[], Coroutine[Any, Any, T]],
        late: Callable[[Failed], T],
    ) -> T:
        if budget is None:
            return await ask()
        return await budget.within(source.name, source.title, self.last_responses, ask, late)

    async def _all_by(
        self, kind: str, values: Sequence[str], budget: Budget | None
    ) -> list[tuple[Answer, ...]]:
        able = [source for source in self.by_name.values() if kind in source.ids]
        return await self._by(kind, values, able, budget)

    async def _by(
        self, kind: str, values: Sequence[str], sources: Sequence[Source], budget: Budget | None
    ) -> list[tuple[Answer, ...]]:
        """Answers by value, in the order of the sources; a value is asked for once."""

        async def ask(source: Source) -> dict[str, Answer]:
            relevant = list(dict.fromkeys(v for v in values if v and _concerns(source, kind, v)))
            if not relevant:
                return {}

            def late(failed: Failed) -> list[Answer]:
                return [failed for _ in relevant]

            answers = await self._within(
                budget, source, partial(source.by_ids, kind, relevant), late
            )
            return dict(zip(relevant, answers, strict=True))

        tables = await asyncio.gather(*(ask(source) for source in sources))
        return [
            tuple(table[value] for table in tables if value in table) if value else ()
            for value in values
        ]


def _itself(failed: Failed) -> Answer:
    return failed


def _concerns(source: Source, kind: str, value: str) -> bool:
    """False where a source cannot know: arXiv's DOIs are not registered with Crossref."""
    return not (
        kind == "doi" and value.startswith(ARXIV_DOI) and source.name in ("crossref", "pubmed")
    )


def failures(answers: Sequence[Answer]) -> list[Failed]:
    """The answers that are none, except of sources that have no such service."""
    return [a for a in answers if isinstance(a, Failed) and a.reason is not Reason.UNABLE]
