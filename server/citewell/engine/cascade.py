"""From the retrievers' lists to the displayed papers: a cascade, in which each stage is slower than
the previous one and reads fewer papers.

The stages are fusion, the trained ranker, the history, a cross-encoder and a language model. A
stage that fails or is late is skipped, and every hit names the stages that moved it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct, is_among
from citewell.corpus.library import Library
from citewell.engine.contract import Tier
from citewell.engine.cross_encoder_stage import CrossEncoderAnswer, CrossEncoderStage
from citewell.engine.history import NAME as HISTORY
from citewell.engine.history import History
from citewell.engine.lookup import TELLING_TITLE
from citewell.engine.query_preprocessor import variant_of
from citewell.engine.retrievers import Opened
from citewell.engine.signals import LibrarySignals
from citewell.model import CitewellError, Evidence, Hit, Problem, Query, SearchResult
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.query import TypedQuery
from citewell.options import Options
from citewell.ranking.contract import Candidates, Ordering, Ranker
from citewell.ranking.cross_encoder import NAME as CROSS_ENCODER
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.criteria import NAME, Criteria
from citewell.retrieval.full_text import FullTextRetriever
from citewell.retrieval.select import Fused, fuse

if TYPE_CHECKING:
    from citewell.engine.llm_stage import LlmStage

# Sorts candidates by the conditions and preferences of a typed query.
#
# Papers that meet all conditions come first, then those that meet fewer; ties keep the ranker's
# order. "Recent", "early", "influential" and "survey" sort within bands of the order: they bring no
# paper of another topic to the top.

BAND = 10
"""Number of adjacent papers among which a preference decides."""
STEP = np.float32(100.0)
"""Added to a score for each point: more than the range of any ranker's scores."""


class CriteriaOrder:
    """Orders the papers of one library. Thread-safe."""

    def __init__(self, opened: Opened, signals: LibrarySignals) -> None:
        found = opened.typed.get(NAME)
        self._criteria = found if isinstance(found, Criteria) else None
        self._filters = opened.filters
        self._signals = signals

    def reorder(self, query: Query, rows: NDArray[np.int64], ordering: Ordering) -> Ordering:
        """The ordering by points, then by preference within bands, then as before."""
        typed = query.typed_query
        if self._criteria is None or typed == TypedQuery() or not len(rows):
            return ordering
        ranked = rows[ordering.order]
        every = self._criteria.points(query)
        points = np.zeros(len(ranked), np.float32) if every is None else every[ranked]
        points = np.round(points, 3)
        preferred = self._preferred(typed, ranked)
        if not points.any() and preferred is None:
            return ordering
        places = np.lexsort((np.arange(len(ranked)), -points))
        if preferred is not None:
            bands = np.arange(len(ranked)) // BAND
            places = places[np.lexsort((np.arange(len(ranked)), -preferred[places], bands))]
            # A preference does not decide between papers that meet different conditions.
            places = places[np.lexsort((np.arange(len(ranked)), -points[places]))]
        return _permuted(ordering, places, points)

    def evidence(self, before: Ordering, after: Ordering, at: int) -> tuple[Evidence, ...]:
        """The move of candidate `at` of the fused list because of the conditions."""
        old = int(np.flatnonzero(before.order == at)[0])
        new = int(np.flatnonzero(after.order == at)[0])
        if old == new:
            return ()
        return (Evidence("conditions", new + 1, float(after.scores[new]), before=old + 1),)

    def _preferred(self, typed: TypedQuery, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """The preference for each row, higher first; None without one."""
        if not (typed.recency or typed.influential or typed.kinds):
            return None
        out = np.zeros(len(rows), np.float64)
        if typed.recency:
            years = self._signals.years[rows].astype(np.float64)
            known = years > 0
            out += np.where(known, years if typed.recency == "recent" else -years, -4000)
        if typed.influential:
            often = np.log1p(np.maximum(self._signals.cited(rows), 0))
            out += often * (1 if typed.recency == "" else 0.5)
        if typed.kinds and self._filters is not None:
            out += 10.0 * self._filters.of_kind(typed.kinds, rows)
        return out


def _permuted(
    ordering: Ordering, places: NDArray[np.int64], points: NDArray[np.float32]
) -> Ordering:
    """The ordering rearranged by `places`, which index into it; its scores are descending."""
    own = ordering.scores[places]
    # A preference may have moved papers with equal points, so their scores are sorted again.
    tiers = points[places] * STEP
    shown = np.empty_like(own)
    for tier in distinct(tiers):
        inside = tiers == tier
        shown[inside] = np.sort(own[inside])[::-1] + tier
    confidence = None if ordering.confidence is None else ordering.confidence[places]
    calibrate = ordering.calibrate

    def changed(scores: NDArray[np.float32]) -> NDArray[np.float32]:
        assert calibrate is not None
        # The change that the caller made to the displayed scores.
        old = np.empty_like(own)
        old[places] = own + (scores - shown)
        return calibrate(old)[places]

    return Ordering(
        ordering.order[places],
        shown.astype(np.float32),
        confidence,
        None if calibrate is None else changed,
    )


# Papers with every typed word in their full text, near the top of the list.
#
# The trained ranker does not know full texts and would leave them below hundreds of others.

PLACE = 2
"""Highest place, from 0: matches in titles and abstracts come first."""
MOST = 2
"""Number of papers that are moved: the first by full text."""


def with_full_texts(
    ordering: Ordering, query: Query, fused: Fused, retriever: FullTextRetriever | None
) -> Ordering:
    """The ordering with these papers from `PLACE` on; unchanged without typed words."""
    ranks = fused.ranks.get(FullTextRetriever.name)
    if retriever is None or ranks is None or not query.text:
        return ordering
    best = [at for rank in range(1, MOST + 1) for at in np.flatnonzero(ranks == rank).tolist()]
    for number, at in enumerate(
        one for one in best if retriever.holds(query, int(fused.rows[one]))
    ):
        place = int(np.flatnonzero(ordering.order == at)[0])
        if place > PLACE + number:
            ordering = _moved(ordering, place, PLACE + number)
    return ordering


def _moved(ordering: Ordering, start: int, end: int) -> Ordering:
    """The ordering with one paper moved up. It takes the score of its new place, and keeps its
    confidence."""
    places = np.arange(len(ordering.order))
    places = np.insert(np.delete(places, start), end, start)
    scores = ordering.scores.copy()
    scores[end + 1 : start + 1] = ordering.scores[end:start]
    confidence = ordering.confidence
    return replace(
        ordering,
        order=ordering.order[places],
        scores=scores,
        confidence=None if confidence is None else confidence[places],
    )


logger = logging.getLogger(__name__)


class Cascade:
    """The stages over one library. Thread-safe."""

    def __init__(
        self,
        options: Options,
        library: Library,
        opened: Opened,
        signals: LibrarySignals,
        *,
        ranker: Ranker | None = None,
        history: History | None = None,
        reader: CrossEncoderStage | None = None,
        llm_stage: LlmStage | None = None,
    ) -> None:
        """A stage that is None is skipped."""
        self._options = options
        self._library = library
        self._opened = opened
        self._signals = signals
        self._ranker = ranker
        self._history = history
        self._reader = reader
        self._llm_stage = llm_stage
        self._criteria = CriteriaOrder(opened, signals)

    @property
    def ranks(self) -> bool:
        """Whether a ranker orders the papers."""
        return self._ranker is not None

    def run(
        self,
        query: Query,
        k: int,
        lists: Mapping[str, Ranking],
        timings: dict[str, float],
        cancel: Cancel,
        *,
        tier: Tier,
        explained: int | None = None,
    ) -> SearchResult:
        """Fuse the lists, order the head, and fetch the `k` displayed papers.

        The first `explained` carry their evidence (None: all). Each stage's milliseconds go into
        `timings`. Raises `Cancelled`, and `CitewellError` when the library cannot be read.
        """
        begin = time.perf_counter()
        fused = fuse(lists)
        unwanted = self._unwanted(query)
        if len(unwanted):
            fused = _without(fused, unwanted)
        timings["fusion"] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        ordering, problems = self._order(query, fused, cancel)
        timings["ranking"] = (time.perf_counter() - begin) * 1e3
        ordering = with_full_texts(ordering, query, fused, self._opened.of(FullTextRetriever))
        ranked = None if self._ranker is None or problems else ordering
        begin = time.perf_counter()
        met = None
        if ranked is not None:
            ordering = self._criteria.reorder(query, fused.rows, ranked)
            met = None if ordering is ranked else (ranked, ordering)
        remembered = (
            None if self._history is None else self._history.reorder(query, fused.rows, ordering)
        )
        ordering = ordering if remembered is None else remembered.ordering
        timings["history"] = (time.perf_counter() - begin) * 1e3
        read = None
        if tier != "fast" and self._reader is not None:
            head = fused.rows[ordering.order[: self._reader.papers]]
            read = self._reader.reorder(query, ordering, self._library.works(head), cancel)
            ordering = read.ordering
            timings[CROSS_ENCODER] = read.milliseconds
        judged = None
        reranks = tier == "deep" and query.model and self._options.llm.rerank != "none"
        if reranks and self._llm_stage is not None:
            head = fused.rows[ordering.order[: self._options.llm.rerank_depth]]
            judged = self._llm_stage.reorder(query, ordering, self._library.works(head), cancel)
            ordering = judged.ordering
            timings[judged.name] = judged.milliseconds
            read = None if read is None else _follow(read, judged)
        begin = time.perf_counter()
        shown = ordering.order[:k]
        # A list made at each letter shows only authors, year and venue.
        works = self._library.works(fused.rows[shown], whole=tier != "fast")
        timings["records"] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        # No paper gets a higher confidence than one above it.
        sure = None
        if ordering.confidence is not None:
            sure = np.minimum.accumulate(ordering.confidence[: len(shown)])
        places, found_by = _places(ranked), self._evidence(query, fused, shown[:explained])
        hits = tuple(
            Hit(
                work=work,
                score=float(ordering.scores[place]),
                evidence=(
                    *(judged.evidence(place) if judged is not None else ()),
                    *(read.evidence(place) if read is not None else ()),
                    *(remembered.evidence(int(at)) if remembered is not None else ()),
                    *(self._criteria.evidence(*met, int(at)) if met else ()),
                    *self._moved(ranked, places, int(at)),
                    *found_by[place],
                )
                if place < len(found_by)
                else (),
                confidence=None if sure is None else float(sure[place]),
            )
            for place, (at, work) in enumerate(zip(shown, works, strict=True))
        )
        timings["evidence"] = (time.perf_counter() - begin) * 1e3
        dropped = tuple(
            stage.problem for stage in (read, judged) if stage is not None and stage.problem
        )
        made = [self._ranker.name if self._ranker and _is_judged(ranked) else "fusion"]
        made += [HISTORY] if remembered is not None else []
        made += [stage.made_by for stage in (read, judged) if stage is not None and stage.moved]
        return SearchResult(hits=hits, dropped=dropped, problems=problems, variant="+".join(made))

    def _unwanted(self, query: Query) -> np.ndarray:
        """Rows that must not be offered: excluded works, works already in the citation, and the
        paper being written.

        A published paper would find itself first by its own title, and never cites itself.
        """
        rows = self._library.rows_of(query.exclude) if query.exclude else np.zeros(0, np.int64)
        titles = list(query.present)
        if len(query.paper.title) >= TELLING_TITLE:
            titles.append(query.paper.title)
        found = [self._library.by_title_rows(title) for title in titles]
        return np.concatenate([rows, *found]).astype(np.int64)

    def _order(
        self, query: Query, fused: Fused, cancel: Cancel
    ) -> tuple[Ordering, tuple[Problem, ...]]:
        as_fused = Ordering(np.arange(len(fused.rows)), fused.scores)
        if self._ranker is None or not len(fused.rows):
            return as_fused, ()
        further = tuple(name for name in self._opened.further if name in fused.ranks)
        candidates = Candidates(fused.rows, fused.scores, fused.ranks, fused.by, further)
        try:
            return self._ranker.rank(query, candidates, self._signals, cancel), ()
        except Cancelled:
            raise
        except CitewellError as error:
            return as_fused, (error.problem,)
        except Exception as error:
            logger.exception("The ranker failed")
            problem = Problem(
                "ranker-failed",
                f"The ranker {self._ranker.name!r} failed ({type(error).__name__}: {error}).",
                "The papers are in the order of the fusion.",
            )
            return as_fused, (problem,)

    def _moved(
        self, ranked: Ordering | None, places: Sequence[int], at: int
    ) -> tuple[Evidence, ...]:
        """The move by the ranker of the paper at place `at` of the fused list, to `places[at]`."""
        if ranked is None or self._ranker is None:
            return ()
        place = places[at]
        if ranked.confidence is None and place == at:
            return ()  # a ranker without the needed data leaves the order alone
        score = float(ranked.scores[place])
        return (Evidence(self._ranker.name, place + 1, score, before=at + 1),)

    def _evidence(
        self, query: Query, fused: Fused, places: NDArray[np.int64]
    ) -> list[list[Evidence]]:
        """The evidence of each list for the papers at these places of the fusion."""
        every = {**self._opened.typed, **self._opened.retrievers}
        found: list[list[Evidence]] = [[] for _ in places]
        rows = fused.rows[places].tolist()
        for name, all_ranks in fused.ranks.items():
            ranks, scores = all_ranks[places].tolist(), fused.by[name][places].tolist()
            # Further queries matter only for papers that the author's query does not find.
            is_variant = variant_of(name) > 0
            at = [n for n, rank in enumerate(ranks) if rank and not (is_variant and found[n])]
            listed = [(rows[n], ranks[n], scores[n]) for n in at]
            for n, proof in zip(at, _explained(name, every.get(name), query, listed), strict=True):
                found[n].append(proof)
        return found


def _explained(
    name: str, retriever: Retriever | None, query: Query, listed: Sequence[tuple[int, int, float]]
) -> list[Evidence]:
    """The evidence of the list `name` for papers, given by row, rank and score; `retriever` is None
    for the answer to a further query."""
    if not listed:
        return []
    if retriever is not None:
        rows, ranks, scores = zip(*listed, strict=True)
        try:
            return retriever.explain_all(query, rows, ranks, scores)
        except Exception:
            logger.exception("The retriever %s cannot explain its hits", name)
    return [Evidence(name, rank, score) for _, rank, score in listed]


def _places(ranked: Ordering | None) -> list[int]:
    """The place of each candidate in the order; empty without one."""
    return [] if ranked is None else np.argsort(ranked.order).tolist()


def _is_judged(ranked: Ordering | None) -> bool:
    """Whether a ranker gave a confidence; without it, it left the order alone."""
    return ranked is not None and ranked.confidence is not None


def _follow(read: CrossEncoderAnswer, judged: CrossEncoderAnswer) -> CrossEncoderAnswer:
    """The evidence of an earlier stage by place, after a later stage moved the papers."""
    if not judged.moved or not read.moved:
        return read
    old = {place + 1: moved for place, moved in enumerate(read.moved)}
    head = [old.get(moved.before) for moved in judged.moved]
    moved = (*(one for one in head if one is not None), *read.moved[len(judged.moved) :])
    return msgspec.structs.replace(read, moved=moved if None not in head else ())


def _without(fused: Fused, rows: np.ndarray) -> Fused:
    keep = ~is_among(fused.rows, rows)
    return Fused(
        fused.rows[keep],
        fused.scores[keep],
        {name: rank[keep] for name, rank in fused.ranks.items()},
        {name: score[keep] for name, score in fused.by.items()},
    )
