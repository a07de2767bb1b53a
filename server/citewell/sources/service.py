"""The allowed sources behind one client, queried concurrently."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from citewell.model import Problem
from citewell.model.query import Direction
from citewell.sources.contract import (
    Answer,
    Ask,
    Conditions,
    Failed,
    Fetch,
    NoMatch,
    Reason,
    Source,
    SourceQuery,
)
from citewell.sources.registry import SOURCES, source_named

# Time limits of an operation with sources: one deadline for all its requests, and a short wait for
# a source that sends nothing.

T = TypeVar("T")

ONLINE_SECONDS = 35.0
"""Time limit for all requests of one operation: client programs time out after a minute at most."""
SILENCE = 12.0
"""Seconds without any response after which a source counts as silent."""
REST = 60.0
"""Seconds for which a silent source is not queried again."""


class LastResponses:
    """The time of each source's last response, and the silent ones. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._last: dict[str, float] = {}
        self._silent: dict[str, float] = {}

    def note(self, name: str) -> None:
        """Record that the source answered a request."""
        self._last[name] = self.clock()
        self._silent.pop(name, None)

    def since(self, name: str, began: float) -> float:
        """The time of the last response of a source that has been waited for since `began`."""
        return max(began, self._last.get(name, began))

    def fell_silent(self, name: str) -> None:
        """Record that the source sent nothing for `SILENCE` seconds."""
        self._silent[name] = self.clock() + REST

    def is_silent(self, name: str) -> bool:
        """True for a source that is not queried because it was recently silent."""
        return self._silent.get(name, 0.0) > self.clock()


class TimeBudget:
    """The time budget of one operation, shared by all its requests."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds` None: no deadline, but silent sources are not waited for either."""
        self.seconds = seconds
        self._clock = clock
        self._ends = float("inf") if seconds is None else clock() + seconds
        self._late: dict[str, None] = {}

    @property
    def left(self) -> float:
        """Seconds until the deadline, not negative."""
        return max(0.0, self._ends - self._clock())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems for the author: the sources that did not answer in time."""
        if not self._late:
            return ()
        over = self.seconds is not None and not self.left
        limit = f" within {self.seconds:.0f} s" if over else " in time"
        return (
            Problem(
                "check-incomplete",
                f"Some answers are missing{limit}: {', '.join(self._late)}.",
                "What is missing counts as unchecked. Check again: received answers are "
                "cached, so only the rest is requested.",
            ),
        )

    async def within(
        self,
        name: str,
        title: str,
        responses: LastResponses,
        ask: Callable[[], Coroutine[Any, Any, T]],
        late: Callable[[Failed], T],
    ) -> T:
        """The answer of a source, or `late(reason)` if it is not there in time."""
        if not self.left:
            return self._timed_out(
                name, title, late, f"{title} was not queried: the time limit was reached."
            )
        if responses.is_silent(name):
            message = (
                f"{title} cannot be reached: it has just not answered, and is asked again later."
            )
            return self._timed_out(name, title, late, message, Reason.RESTING)
        import asyncio  # a process without sources does not load it

        began = self._clock()
        task = asyncio.ensure_future(ask())
        try:
            while True:
                silent = responses.since(name, began) + SILENCE
                wait = min(self._ends, silent) - self._clock()
                if wait <= 0:
                    break
                done, _ = await asyncio.wait({task}, timeout=wait)
                if done:
                    return task.result()
            if self.left:
                responses.fell_silent(name)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return self._timed_out(name, title, late, f"{title} did not answer in time.")

    def _timed_out(
        self,
        name: str,
        title: str,
        late: Callable[[Failed], T],
        message: str,
        reason: Reason = Reason.UNREACHABLE,
    ) -> T:
        self._late[title] = None
        return late(Failed(name, reason, message))


ARXIV_DOI = "10.48550/arxiv."
LINKS_AT_ONCE = 4
"""Number of works whose citations are requested concurrently."""
MATCHES_AT_ONCE = 12
"""Number of references matched concurrently; the sources' own rate limits apply as well."""


class SourceAnswers(msgspec.Struct, frozen=True):
    """The sources' answers about one reference, by kind of query."""

    doi: tuple[Answer, ...] = ()
    arxiv: tuple[Answer, ...] = ()
    isbn: tuple[Answer, ...] = ()
    title: tuple[Answer, ...] = ()

    @property
    def all(self) -> tuple[Answer, ...]:
        return (*self.doi, *self.arxiv, *self.isbn, *self.title)


class Sources:
    """Some sources. Every method returns values; only `CancelledError` is raised."""

    def __init__(self, names: Sequence[str], fetch: Fetch) -> None:
        self.last_responses = LastResponses()

        async def listening(
            source: type[Source], ask: Ask, decode: Callable[[bytes], T]
        ) -> T | NoMatch | Failed:
            answer = await fetch(source, ask, decode)
            if not isinstance(answer, Failed):
                self.last_responses.note(source.name)
            return answer

        self.by_name: Mapping[str, Source] = {name: source_named(name)(listening) for name in names}

    async def by_ids(
        self, wanted: Sequence[SourceQuery], budget: TimeBudget | None = None
    ) -> list[SourceAnswers]:
        """The answers of every source for the DOIs, arXiv identifiers and ISBNs, in order."""
        found = await asyncio.gather(
            self._all_by("doi", [one.doi for one in wanted], budget),
            self._all_by("arxiv", [one.arxiv for one in wanted], budget),
            self._all_by("isbn", [one.isbn for one in wanted], budget),
        )
        return [SourceAnswers(doi=d, arxiv=a, isbn=i) for d, a, i in zip(*found, strict=True)]

    async def notices(
        self, dois: Sequence[str], budget: TimeBudget | None = None
    ) -> list[tuple[Answer, ...]]:
        """The records of DOIs from one source that reports retractions; empty if there is none."""
        tellers = (name for name, row in SOURCES.items() if row.has_notices)
        name = next((name for name in tellers if name in self.by_name), None)
        if name is None:
            return [() for _ in dois]
        return await self._by("doi", dois, [self.by_name[name]], budget)

    async def match(
        self,
        wanted: Sequence[SourceQuery],
        done: Callable[[int], None] | None = None,
        budget: TimeBudget | None = None,
    ) -> list[SourceAnswers]:
        """The answers of every source for the titles, in order; `done(1)` after each."""
        turn = asyncio.Semaphore(MATCHES_AT_ONCE)
        able = [source for source in self.by_name.values() if "match" in source.can]

        async def one(reference: SourceQuery) -> SourceAnswers:
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

    async def search(self, text: str, limit: int, budget: TimeBudget | None = None) -> list[Answer]:
        """The answers of every source to a search for words."""
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
        self,
        texts: Mapping[str, str],
        where: Conditions,
        limit: int,
        budget: TimeBudget | None = None,
    ) -> list[Answer]:
        """The answers of the named sources to their own texts, queried concurrently."""
        return list(
            await asyncio.gather(
                *(
                    self._within(
                        budget,
                        self.by_name[name],
                        partial(self.by_name[name].search, text, limit, where),
                        _itself,
                    )
                    for name, text in texts.items()
                    if name in self.by_name
                )
            )
        )

    async def links(
        self, wanted: Sequence[SourceQuery], limit: int, budget: TimeBudget | None = None
    ) -> list[list[tuple[Direction, Answer]]]:
        """References and citing works of each work, from the first source that lists both; empty if
        none does, or if it cannot look the work up."""
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

    async def reach(self, budget: TimeBudget | None = None) -> dict[str, Answer]:
        """Send a small query to each source, to see whether it answers."""

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
        budget: TimeBudget | None,
        source: Source,
        ask: Callable[[], Coroutine[Any, Any, T]],
        late: Callable[[Failed], T],
    ) -> T:
        if budget is None:
            return await ask()
        return await budget.within(source.name, source.title, self.last_responses, ask, late)

    async def _all_by(
        self, kind: str, values: Sequence[str], budget: TimeBudget | None
    ) -> list[tuple[Answer, ...]]:
        able = [source for source in self.by_name.values() if kind in source.ids]
        return await self._by(kind, values, able, budget)

    async def _by(
        self, kind: str, values: Sequence[str], sources: Sequence[Source], budget: TimeBudget | None
    ) -> list[tuple[Answer, ...]]:
        """Answers by value, in the order of the sources; each value is queried once."""

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
    """False when a source cannot have the record: arXiv's DOIs are not registered with Crossref."""
    return not (
        kind == "doi"
        and value.startswith(ARXIV_DOI)
        and source.name in ("crossref", "pubmed", "europe-pmc", "zbmath")
    )


def failures(answers: Sequence[Answer]) -> list[Failed]:
    """The failures among the answers, except of sources without the service."""
    return [a for a in answers if isinstance(a, Failed) and a.reason is not Reason.UNABLE]
