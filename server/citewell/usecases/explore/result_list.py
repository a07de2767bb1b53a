"""What the passes of a literature search have found, and the list that it makes."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from itertools import accumulate

from citewell.engine.contract import Engine
from citewell.features.text.evidence import why
from citewell.model import CitewellError, SearchResult, Work
from citewell.model.typed_query import TypedQuery, Understood
from citewell.sources.merge import same_works
from citewell.usecases.explore.conditions import Conditions
from citewell.usecases.explore.contract import (
    MAX_COUNT,
    Explored,
    ExploreRequest,
    Pass,
    PassName,
    Reason,
)
from citewell.usecases.explore.fusion import Ranked, fused
from citewell.usecases.explore.judging import Judge, by_relevance, shipped_judge
from citewell.usecases.explore.order import WEIGHTS, by_preference, preferences, weigh

HEAD = 50
"""Papers of the list that `Pass.entered` looks at."""
MAX_REASONS = 8
_ONLINE = ("sources", "chains")


class ResultList:
    """The answers to all queries so far, and their papers in order."""

    def __init__(
        self,
        engine: Engine,
        request: ExploreRequest,
        kept: Sequence[Work],
        rejected: Sequence[Work],
        judge: Judge | None = None,
    ) -> None:
        """`judge`: the one that ships by default."""
        self._engine = engine
        self._request = request
        self._judge = judge
        self._conditions = Conditions(engine, TypedQuery())
        self.count = min(request.count, MAX_COUNT)
        """Papers that the list has room for."""
        self._kept, self._rejected = kept, rejected
        self._lists: list[Ranked] = []
        self._works: dict[str, Work] = {}
        self._reasons: dict[str, list[Reason]] = {}
        self._ranked: tuple[Explored, ...] = ()
        """All that was found, best first; passes start from its head, however short the list."""
        self._started: set[tuple[PassName, str]] = set()
        """From which papers a pass has started."""
        self.papers: tuple[Explored, ...] = ()
        """The list."""
        self.asks_nothing = False
        """Whether the question says only what to leave out: then nothing can be judged."""
        self.relevant: int | None = None
        """Number of papers at its head judged relevant; None where they are not judged."""

    def __contains__(self, name: str) -> bool:
        return name in self._works

    @property
    def answers(self) -> int:
        """How many queries have been answered."""
        return len(self._lists)

    def ids_since(self, answers: int) -> set[str]:
        """Ids of the papers that the answers from this one on hold."""
        return {name for one in self._lists[answers:] for name in one.ids}

    def require(self, typed: TypedQuery) -> None:
        """List papers that meet more of these conditions first."""
        self._conditions = Conditions(self._engine, typed)
        asks = typed != TypedQuery(none_of=typed.none_of)
        asks = asks or bool(self._kept or self._request.author or self._request.venue)
        self.asks_nothing = bool(typed.none_of) and not asks

    # -- what was found ------------------------------------------------------------------------

    def keep(self, name: PassName, query: str, result: SearchResult) -> None:
        """Add the answer to a query, with its ranks as reasons."""
        for rank, hit in enumerate(result.hits, start=1):
            self._works.setdefault(hit.work.id, hit.work)
            detail = why(hit) if hit.evidence else ""
            self._add_reason(hit.work.id, Reason(name, query, rank, detail))
        chances = tuple(hit.confidence for hit in result.hits)
        stated = any(chance is not None for chance in chances)
        ids = tuple(hit.work.id for hit in result.hits)
        self._lists.append(Ranked(name, ids, chances if stated else ()))

    def keep_linked(self, name: PassName, query: str, papers: Sequence[tuple[Work, str]]) -> None:
        """Add papers that a link led to, each with the reason of its link."""
        for rank, (work, detail) in enumerate(papers, start=1):
            self._works.setdefault(work.id, work)
            self._add_reason(work.id, Reason(name, query, rank, detail))
        self._lists.append(Ranked(name, tuple(work.id for work, _ in papers)))

    def _add_reason(self, name: str, reason: Reason) -> None:
        reasons = self._reasons.setdefault(name, [])
        if len(reasons) < MAX_REASONS:
            reasons.append(reason)

    def head(self, count: int) -> list[Work]:
        """The best papers so far."""
        return [one.work for one in self._ranked[:count]]

    def best(self, count: int, name: PassName) -> list[Work]:
        """The best papers so far from which no such pass has started."""
        every = [*self._kept, *(one.work for one in self._ranked)]
        found = list({work.id: work for work in every}.values())
        new = [work for work in found[:count] if (name, work.id) not in self._started]
        if not new:
            new = [work for work in found if (name, work.id) not in self._started][:count]
        self._started |= {(name, work.id) for work in new}
        return new

    # -- the list ------------------------------------------------------------------------------

    def changed(
        self,
        name: PassName,
        turn: int,
        *,
        queries: Sequence[str],
        found: set[str],
        understood: Understood,
        begin: float,
    ) -> Pass:
        """Order the list again; the record of the pass that `found` these papers and began at
        `begin` (of `time.perf_counter`)."""
        before = [one.work.id for one in self.papers]
        self._ranked, total = self._ordered(understood)
        self.papers = self._ranked[: self.count]
        cut = total - sum(1 + len(one.editions) for one in self.papers)
        after = [one.work.id for one in self.papers]
        return Pass(
            name=name,
            round=turn,
            queries=tuple(queries),
            found=len(found),
            added=len(set(after) - set(before)),
            entered=len(set(after[:HEAD]) - set(before[:HEAD])),
            cut=cut,
            milliseconds=round((time.perf_counter() - begin) * 1e3, 1),
        )

    def _ordered(self, understood: Understood) -> tuple[tuple[Explored, ...], int]:
        """Every work that was found, best first, and the number of their records."""
        ids = fused(self._lists)
        unwanted = {work.id for work in self._rejected}
        first = [*self._rejected, *self._kept]
        known = {work.id for work in first}
        works = [*first, *(self._works[name] for name in ids if name not in known)]
        groups = same_works(works)
        listed = [group for group in groups if not any(work.id in unwanted for work in group)]
        kept = {work.id for work in self._kept}
        chosen = [group for group in listed if any(work.id in kept for work in group)]
        others = [group for group in listed if not any(work.id in kept for work in group)]
        editions = {group[0].id: tuple(group[1:]) for group in listed}
        wanted = preferences(understood.query, self._request.order)
        now = datetime.date.today().year
        chances, relevant = self._judged(ids)
        tiers, most = self._tiers(others), self._conditions.most
        best = _best(others, chances)
        others = _in_order(tiers, best, relevant)
        moved: dict[str, Reason] = {}
        weighed = [one for one in wanted if one in WEIGHTS]
        if best and weighed and self._request.order == "auto":
            wanted = tuple(one for one in wanted if one not in weighed)
            best, words = self._weighed(tiers, best, weighed)
            before = [group[0].id for group in others]
            others = _in_order(tiers, best, relevant)
            moved = {
                group[0].id: Reason("order", ", ".join(weighed), place, words[group[0].id])
                for place, (group, was) in enumerate(zip(others, before, strict=True), start=1)
                if group[0].id != was and group[0].id in words
            }
        met = {group[0].id for points, tier in tiers if points >= most for group in tier}
        judged = {name: chance for name, chance in best.items() if name in met}
        passed = sum(chance >= relevant for chance in judged.values())
        ends = accumulate(len(tier) for _, tier in tiers)
        order, preferred = by_preference(
            self._engine, [group[0] for group in others], wanted, now, (passed, *ends)
        )
        moved |= preferred
        own = [group[0] for group in chosen]
        self.relevant = min(len(own) + passed, self.count) if chances else None
        papers = []
        for work in (*own, *order):
            reasons = [Reason("kept", "the request")] if work.id in kept else []
            reasons += self._reasons.get(work.id, ())
            reasons += [moved[work.id]] if work.id in moved else []
            found = Explored(work, tuple(reasons), editions[work.id], judged.get(work.id))
            papers.append(found)
        return tuple(papers), len(works)

    def _tiers(self, groups: Sequence[list[Work]]) -> list[tuple[float, list[list[Work]]]]:
        """The groups of editions by the points of the conditions they meet, most points first; each
        in the order given. A group meets what one of its editions meets."""
        tiers: dict[float, list[list[Work]]] = {}
        for group in groups:
            points = max(self._conditions.points(work) for work in group)
            tiers.setdefault(points, []).append(group)
        return sorted(tiers.items(), reverse=True, key=lambda tier: tier[0])

    def _weighed(
        self,
        tiers: Sequence[tuple[float, list[list[Work]]]],
        chances: Mapping[str, float],
        wanted: Sequence[str],
    ) -> tuple[dict[str, float], dict[str, str]]:
        """What `weigh` gives for each tier, together."""
        found: dict[str, float] = {}
        words: dict[str, str] = {}
        for _, tier in tiers:
            works = [group[0] for group in tier if group[0].id in chances]
            changed, counted = weigh(self._engine, works, chances, wanted)
            found |= changed
            words |= counted
        return found, words

    def _judged(self, ids: Sequence[str]) -> tuple[dict[str, float], float]:
        """The probability that each paper answers the question, and the cut; empty where the papers
        are not judged."""
        if self.asks_nothing or "judge" in self._request.without:
            return {}, 1.0
        # The judge was fitted to questions on a topic. It finds hardly any of an author's papers
        # likely, and its order is worse than that of the passes.
        if self._conditions.names_author:
            return {}, 1.0
        try:
            judge = self._judge or shipped_judge()
        except CitewellError:
            return {}, 1.0  # the ranker has reported the file
        chances = judge.chances(self._lists, ids)
        if chances is None:
            return {}, 1.0
        # Of papers that the library lacks, the passes say too little to judge them.
        held = {name for one in self._lists if one.name not in _ONLINE for name in one.ids}
        pairs = zip(ids, chances, strict=True)
        return {name: chance for name, chance in pairs if name in held}, judge.cut


def _best(groups: Sequence[list[Work]], chances: Mapping[str, float]) -> dict[str, float]:
    """The highest probability among the editions of each group that has one, by the id of its first
    work."""
    stated = ((group, [chances[one.id] for one in group if one.id in chances]) for group in groups)
    return {group[0].id: max(own) for group, own in stated if own}


def _in_order(
    tiers: Sequence[tuple[float, list[list[Work]]]], chances: Mapping[str, float], cut: float
) -> list[list[Work]]:
    """The groups of all tiers, each tier by the probability that its papers answer the question."""
    return [group for _, tier in tiers for group in by_relevance(tier, chances, cut)]
