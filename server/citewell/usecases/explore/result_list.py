"""The papers found by the passes of a literature search, and the resulting list."""

from __future__ import annotations

import datetime
import math
import time
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice, pairwise, takewhile

from citewell.engine.contract import Engine
from citewell.engine.online_search import EVERY
from citewell.features.text.evidence import reason, why
from citewell.model import CitewellError, Query, SearchResult, Work
from citewell.model.query import Direction, TypedQuery, Understood
from citewell.retrieval.attributes import meets, wishes
from citewell.retrieval.criteria import PHRASE, RELATED, holds_phrase, relations
from citewell.retrieval.query_grammar.words import is_of_kind
from citewell.sources.combine import same_works
from citewell.usecases.explore.contract import (
    JUDGED,
    MAX_COUNT,
    ExploredWork,
    ExploreQuery,
    ListingReason,
    Order,
    Pass,
    PassName,
    Ranked,
    RelevanceJudge,
    by_relevance,
    fused,
    shipped_judge,
)
from citewell.usecases.weights import NAME, order_weights, weighted

# The conditions of the words that a paper of a literature search meets, from its record.
#
# As in `citewell find`, conditions are strong evidence, not filters: papers that meet all of them
# come first, then those that meet fewer. The topic is no condition here; the judge weighs it.

MOST_LINKED = 2_000
"""Maximum number of papers fetched for a condition such as "citing BERT". If more are linked, the
condition is left to the search."""
_DIRECTIONS: dict[str, Direction] = {"cites": "cited_by", "cited_by": "cites", "like": "cocited"}
"""Papers that should cite a work are found among those that cite it."""


class QuestionConditions:
    """The conditions of one question over one engine."""

    def __init__(self, engine: Engine, typed: TypedQuery) -> None:
        """`typed`: as applied by the search for the words."""
        self._typed = typed
        self._linked = [
            linked
            for relation, names in relations(typed)
            for name in names
            if (linked := _linked(engine, name, _DIRECTIONS[relation])) is not None
        ]
        self._known: dict[str, float] = {}
        self.names_author = bool(typed.authors)
        """Whether the question names an author."""
        self._wishes = wishes(typed)
        most = sum(wish.points for wish in self._wishes if wish.field)
        self.most = round(most + PHRASE * bool(typed.phrases) + RELATED * len(self._linked), 3)
        """The points of a paper that meets all conditions; 0 without conditions."""

    def points(self, work: Work) -> float:
        """The paper's points for conditions, with the weights of `retrieval.criteria`."""
        if not self.most:
            return 0.0
        if work.id not in self._known:
            self._known[work.id] = self._points(work)
        return self._known[work.id]

    def _points(self, work: Work) -> float:
        held = [holds_phrase(work, phrase) for phrase in self._typed.phrases]
        found = sum(wish.points for wish in self._wishes if meets(work, wish.requirements))
        found += PHRASE * sum(held) / len(held) if held else 0.0
        return round(found + RELATED * sum(work.id in ids for ids in self._linked), 3)


def _linked(engine: Engine, name: str, direction: Direction) -> frozenset[str] | None:
    """Ids of the papers linked to one; None if they are unknown or too many."""
    found = engine.related(name, direction, MOST_LINKED)
    if not found.known or found.total > len(found.works):
        return None
    return frozenset(work.id for work in found.works)


# The order by the preferences of the question.
#
# A question for "recent" or "classic" papers changes the probability that a paper answers it: a
# later year, or more citations, raise it. Other preferences sort within bands of about equally
# relevant papers: "early" by year, a survey by its title, and the orders of a request, without
# probabilities. A paper never leaves its band, so that a preference brings no paper of another
# topic to the top.

BAND = 20
WEIGHTS = {"recent": 0.5, "cited": 0.5}
"""Additions for a year, or one natural logarithm of the citations, to the log odds of a paper if
the question prefers recent or highly cited ones. Chosen on the training and tuning questions of
AutoScholarQuery, with answers of the last three years, or with at least 1,000 citations, as right
ones. Any weight of "early" was worse than bands."""
_HALVINGS = 40
KIND = 1e5
"""Gain of a paper of the requested kind: more than any year or number of citations."""


def preferences(typed: TypedQuery, order: Order) -> tuple[str, ...]:
    """The order within a band: "recent", "early", "cited a year", "cited", or a kind."""
    if order == "relevance":
        return ()
    if order == "recent":
        return ("recent",)
    if order == "cited":
        return ("cited a year",)
    found = [*typed.kinds]
    if typed.recency:
        found.append(typed.recency)
    if typed.influential:
        found.append("cited")
    return tuple(found)


def weigh(
    engine: Engine, works: Sequence[Work], chances: Mapping[str, float], wanted: Sequence[str]
) -> tuple[dict[str, float], dict[str, str]]:
    """The probability that each work answers a question with the preferences `wanted`, keys of
    `WEIGHTS`; and for works moved by the preference, the reason in words. Both by id.

    `chances` are those without the preference. It decides among the `JUDGED` likeliest works, so
    that it brings no paper of another topic to the top, and keeps the sum of their probabilities:
    the question has as many answers, but others. The rest stay below them.
    """
    likeliest = sorted(works, key=lambda work: -chances[work.id])
    head, rest = likeliest[:JUDGED], likeliest[JUDGED:]
    cited = engine.citations([work.id for work in head]) if "cited" in wanted else [0] * len(head)
    oldest = min((work.year for work in head if work.year), default=0)
    odds: list[float] = []
    words: dict[str, str] = {}
    for work, times in zip(head, cited, strict=True):
        gains = {"recent": work.year or oldest, "cited": math.log1p(times)}
        gain = sum(WEIGHTS[one] * gains[one] for one in wanted)
        odds.append(_log_odds(chances[work.id]) + gain)
        words[work.id] = "; ".join(_value(work, times, one, 0)[1] for one in wanted)
    found = _with_sum(odds, sum(chances[work.id] for work in head))
    weighed = {work.id: chance for work, chance in zip(head, found, strict=True)}
    least = min(found, default=0.0)
    weighed |= {work.id: min(chances[work.id], least) for work in rest}
    return weighed, words


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def _with_sum(odds: Sequence[float], total: float) -> list[float]:
    """Probabilities with these log odds, shifted so that their sum is `total`."""

    def moved(by: float) -> list[float]:
        return [1 / (1 + math.exp(min(-(one + by), 700.0))) for one in odds]

    low, high = -max(odds, default=0.0) - 50, -min(odds, default=0.0) + 50
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(moved(middle)) < total:
            low = middle
        else:
            high = middle
    return moved(high)


def by_preference(
    engine: Engine, works: Sequence[Work], wanted: Sequence[str], now: int, cuts: Sequence[int] = ()
) -> tuple[list[Work], dict[str, ListingReason]]:
    """The works, the preferred ones of each band first, and by id why a work moved.

    `now` is the year from which the age of a paper counts. No band crosses one of the `cuts`, which
    are indices of works.
    """
    if not wanted:
        return list(works), {}
    cited = [0] * len(works)
    if "cited" in wanted or "cited a year" in wanted:
        cited = engine.citations([work.id for work in works])
    values: dict[str, float] = {}
    words: dict[str, str] = {}
    for work, times in zip(works, cited, strict=True):
        each = [_value(work, times, one, now) for one in wanted]
        values[work.id] = sum(value for value, _ in each)
        words[work.id] = "; ".join(text for _, text in each if text)
    out: list[Work] = []
    edges = sorted({0, *cuts, len(works)})
    starts = [start for low, high in pairwise(edges) for start in range(low, high, BAND)]
    starts.append(len(works))
    for start, end in pairwise(starts):
        out += sorted(works[start:end], key=lambda work: -values[work.id])
    query = ", ".join(wanted)
    reasons = {
        work.id: ListingReason("order", query, place, words[work.id])
        for place, (work, before) in enumerate(zip(out, works, strict=True), start=1)
        if work.id != before.id and words[work.id]
    }
    return out, reasons


def _value(work: Work, times: int, wanted: str, now: int) -> tuple[float, str]:
    """How well a work meets one preference, more is better, and that in words."""
    if wanted in ("recent", "early"):
        year = work.year or 0
        if not year:
            return -9999.0, "year unknown"
        return float(year if wanted == "recent" else -year), str(year)
    if wanted == "cited":
        return math.log1p(times), f"cited {times:,} times"
    if wanted == "cited a year":
        rate = times / max(1, now - (work.year or now) + 1)
        return rate, f"cited {times:,} times, {rate:.1f} a year"
    return (KIND, f"{wanted} by its title") if is_of_kind(work.title, wanted) else (0.0, "")


HEAD = 50
"""Number of papers of the list counted by `Pass.entered`."""
MAX_REASONS = 8
_ONLINE = ("sources", "chains")


class ResultList:
    """The answers to all queries so far, and their papers in order."""

    def __init__(
        self,
        engine: Engine,
        request: ExploreQuery,
        kept: Sequence[Work],
        rejected: Sequence[Work],
        judge: RelevanceJudge | None = None,
    ) -> None:
        """`judge`: the shipped one by default."""
        self._engine = engine
        self._request = request
        self._judge = judge
        self._conditions = QuestionConditions(engine, TypedQuery())
        self.count = min(request.count, MAX_COUNT)
        """Maximum number of papers in the list."""
        self._kept, self._rejected = kept, rejected
        self._lists: list[Ranked] = []
        self._works: dict[str, Work] = {}
        self._reasons: dict[str, list[ListingReason]] = {}
        self._ranked: tuple[ExploredWork, ...] = ()
        """All papers found, best first; passes start from its head, whatever the length of the
        list."""
        self._started: set[tuple[PassName, str]] = set()
        """Papers that each pass has started from."""
        self.papers: tuple[ExploredWork, ...] = ()
        """The list."""
        self.asks_nothing = False
        """Whether the question contains only exclusions: then nothing can be judged."""
        self.relevant: int | None = None
        """Number of papers at its head judged relevant; None if they are not judged."""

    def __contains__(self, name: str) -> bool:
        return name in self._works

    @property
    def answers(self) -> int:
        """Number of answered queries."""
        return len(self._lists)

    def ids_since(self, answers: int) -> set[str]:
        """Ids of the papers in the answers from this one on."""
        return {name for one in self._lists[answers:] for name in one.ids}

    def require(self, typed: TypedQuery) -> None:
        """List papers that meet more of these conditions first."""
        self._conditions = QuestionConditions(self._engine, typed)
        asks = typed != TypedQuery(none_of=typed.none_of)
        asks = asks or bool(self._kept or self._request.author or self._request.venue)
        self.asks_nothing = bool(typed.none_of) and not asks

    # -- papers found --------------------------------------------------------------------------

    def keep(self, name: PassName, query: str, result: SearchResult) -> None:
        """Add the answer to a query, with its ranks as reasons."""
        for rank, hit in enumerate(result.hits, start=1):
            self._works.setdefault(hit.work.id, hit.work)
            detail = why(hit) if hit.evidence else ""
            words = reason(hit, query if name == "search" else "")
            self._add_reason(hit.work.id, ListingReason(name, query, rank, detail, words))
        chances = tuple(hit.confidence for hit in result.hits)
        stated = any(chance is not None for chance in chances)
        ids = tuple(hit.work.id for hit in result.hits)
        self._lists.append(Ranked(name, ids, chances if stated else ()))

    def keep_linked(self, name: PassName, query: str, papers: Sequence[tuple[Work, str]]) -> None:
        """Add papers found through a link, each with the reason."""
        for rank, (work, detail) in enumerate(papers, start=1):
            self._works.setdefault(work.id, work)
            self._add_reason(work.id, ListingReason(name, query, rank, detail))
        self._lists.append(Ranked(name, tuple(work.id for work, _ in papers)))

    def _add_reason(self, name: str, reason: ListingReason) -> None:
        reasons = self._reasons.setdefault(name, [])
        if len(reasons) < MAX_REASONS:
            reasons.append(reason)

    def head(self, count: int) -> list[Work]:
        """The best papers so far."""
        return [one.work for one in self._ranked[:count]]

    def best(self, count: int, name: PassName) -> list[Work]:
        """The best papers so far that no pass of this name has started from."""
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
        """Reorder the list; return the record of the pass that `found` these papers and began at
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

    def _ordered(self, understood: Understood) -> tuple[tuple[ExploredWork, ...], int]:
        """Every work found, best first, and the number of their records."""
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
        question = understood.query.topic or self._request.text
        chances, relevant = self._judged(ids, Query(text=question))
        tiers, most = self._tiers(others), self._conditions.most
        best = _best(others, chances)
        room = self.count - len(chosen)
        others = self._in_order(tiers, best, relevant, room)
        moved: dict[str, ListingReason] = {}
        weighed = [one for one in wanted if one in WEIGHTS]
        if best and weighed and self._request.order == "auto":
            wanted = tuple(one for one in wanted if one not in weighed)
            best, words = self._weighed(tiers, best, weighed)
            before = [group[0].id for group in others]
            others = self._in_order(tiers, best, relevant, room)
            moved = {
                group[0].id: ListingReason("order", ", ".join(weighed), place, words[group[0].id])
                for place, (group, was) in enumerate(zip(others, before, strict=True), start=1)
                if group[0].id != was and group[0].id in words
            }
        met = {group[0].id for points, tier in tiers if points >= most for group in tier}
        judged = {name: chance for name, chance in best.items() if name in met}
        sure = takewhile(lambda group: judged.get(group[0].id, -1.0) >= relevant, others)
        passed = sum(1 for _ in sure)
        ends = accumulate(len(tier) for _, tier in tiers)
        order, preferred = by_preference(
            self._engine, [group[0] for group in others], wanted, now, (passed, *ends)
        )
        moved |= preferred
        if (weights := order_weights(self._request.weights)) is not None:
            places, values = weighted(self._engine, order, weights)
            moved = {
                order[at].id: ListingReason("order", NAME, place, values[at], values[at])
                for place, at in enumerate(places, 1)
                if values[at]
            }
            order = [order[at] for at in places]
        own = [group[0] for group in chosen]
        self.relevant = min(len(own) + passed, self.count) if chances else None
        papers = []
        for work in (*own, *order):
            reasons = [ListingReason("kept", "the request")] if work.id in kept else []
            reasons += self._reasons.get(work.id, ())
            reasons += [moved[work.id]] if work.id in moved else []
            found = ExploredWork(work, tuple(reasons), editions[work.id], judged.get(work.id))
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
        """The results of `weigh` for all tiers together."""
        found: dict[str, float] = {}
        words: dict[str, str] = {}
        for _, tier in tiers:
            works = [group[0] for group in tier if group[0].id in chances]
            changed, counted = weigh(self._engine, works, chances, wanted)
            found |= changed
            words |= counted
        return found, words

    def _judged(self, ids: Sequence[str], question: Query) -> tuple[dict[str, float], float]:
        """The probability that each paper answers the question, and the cut; empty if the papers
        are not judged."""
        if self.asks_nothing or "judge" in self._request.without:
            return {}, 1.0
        # The judge was fitted to questions on a topic. It gives an author's papers low
        # probabilities, and a worse order than the passes.
        if self._conditions.names_author:
            return {}, 1.0
        try:
            judge = self._judge or shipped_judge()
        except CitewellError:
            return {}, 1.0  # the ranker has reported the file
        chances = judge.chances(self._lists, ids)
        if chances is None:
            return {}, 1.0
        held = self._held()
        known = {name: chance for name, chance in zip(ids, chances, strict=True) if name in held}
        others = [name for name in ids if name not in held]
        return known | self._estimated(known, others, question), judge.cut

    def _estimated(
        self, known: Mapping[str, float], others: Sequence[str], question: Query
    ) -> dict[str, float]:
        """The probability of papers that only sources returned, which no ranker has read: title and
        abstract give one a place among the papers that the words found in the library, by its
        likeness to the question, and it has the probability of that place. `known` has those of
        the library's papers. Empty without vectors."""
        found = {name for one in self._lists if one.name == "search" for name in one.ids}
        held = [name for name in known if name in found] if others else []
        values = self._engine.likeness(question, [*held, *others]) if held else []
        likeness = sorted(-value for value in values[: len(held)] if value)
        chances = sorted((known[name] for name in held), reverse=True)[: len(likeness)]
        alike = sorted(zip(values[len(held) :], others, strict=False), reverse=True)
        # Of several at one place, the one that is most like the question comes first.
        return {
            name: chances[min(bisect(likeness, -value), len(chances) - 1)] * (1 - number * 1e-9)
            for number, (value, name) in enumerate(alike)
            if value and chances
        }

    def _held(self) -> set[str]:
        """Ids of the papers found in the library."""
        return {name for one in self._lists if one.name not in _ONLINE for name in one.ids}

    def _in_order(
        self,
        tiers: Sequence[tuple[float, list[list[Work]]]],
        chances: Mapping[str, float],
        cut: float,
        room: int,
    ) -> list[list[Work]]:
        """The groups of all tiers, each tier by the probability that its papers answer the
        question, and those of sources with a share of the list's `room`."""
        held = self._held()
        ordered: list[list[Work]] = []
        for _, tier in tiers:
            own: list[list[Work]] = []
            others: list[list[Work]] = []
            for group in by_relevance(tier, chances, cut):
                placed = group[0].id in chances or any(work.id in held for work in group)
                (own if placed else others).append(group)
            sure = sum(chances.get(group[0].id, 0.0) >= cut for group in own)
            ordered += _strewn(own, others, sure, room - len(ordered))
        return ordered


def _best(groups: Sequence[list[Work]], chances: Mapping[str, float]) -> dict[str, float]:
    """The highest probability among the editions of each group that has one, by the id of its first
    work."""
    stated = ((group, [chances[one.id] for one in group if one.id in chances]) for group in groups)
    return {group[0].id: max(own) for group, own in stated if own}


def _strewn(
    own: Sequence[list[Work]], others: Sequence[list[Work]], sure: int, room: int
) -> list[list[Work]]:
    """Merge the library's groups with those of sources, which follow the `sure` ones of the library
    and take one of every `EVERY` + 1 places of the `room`, as in a search for a paper."""
    places = min(len(others), room // (EVERY + 1))
    if places <= 0:
        return [*own, *others]
    sure = min(sure, room - places)
    between = min(EVERY, (room - sure) // places - 1)
    ordered = [*own[:sure]]
    rest = iter(own[sure:])
    for group in others:
        ordered += [*islice(rest, between), group]
    return [*ordered, *rest]
