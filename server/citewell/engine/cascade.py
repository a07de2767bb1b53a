"""From the retrievers' lists to the papers that are shown: a cascade, in which each stage is slower
than the one before and is asked about fewer papers.

Fusion, the trained ranker, what the author accepted before, a cross-encoder, a language model. A
stage that fails or is late costs its own effect alone, and every hit says what moved it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.array_sets import is_among
from citewell.corpus.library import Library
from citewell.engine.contract import Tier
from citewell.engine.criteria_order import CriteriaOrder
from citewell.engine.cross_encoder_stage import CrossEncoderAnswer, CrossEncoderStage
from citewell.engine.full_text_stage import with_full_texts
from citewell.engine.history import NAME as HISTORY
from citewell.engine.history import History, considered
from citewell.engine.query_expansion import variant_of
from citewell.engine.relations import TELLING_TITLE
from citewell.engine.retrievers import Opened
from citewell.engine.signals import LibrarySignals
from citewell.model import CitewellError, Evidence, Hit, Problem, Query, SearchResult
from citewell.model.cancel import Cancel, Cancelled
from citewell.options import Options
from citewell.ranking.contract import Candidates, Ordering, Ranker
from citewell.ranking.cross_encoder import NAME as CROSS_ENCODER
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.full_text import FullTextRetriever
from citewell.retrieval.fuse import Fused, fuse

if TYPE_CHECKING:
    from citewell.engine.llm_stage import LlmStage

logger = logging.getLogger(__name__)


class Cascade:
    """The stages over one library. Safe to call from any thread."""

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
        """A stage that is None is left out."""
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
        """Fuse the lists, order the head, and fetch the `k` papers that are shown.

        The first `explained` carry their evidence (None: all). Each stage's milliseconds go into
        `timings`. Raises `Cancelled`, and `CitewellError` when the library cannot be read.
        """
        begin = time.perf_counter()
        options = self._options.retrieval
        fused = fuse(lists, options.fusion, options.rrf_k)
        unwanted = self._unwanted(query)
        if len(unwanted):
            fused = _without(fused, unwanted)
        timings["fusion"] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        ordering, problems = self._order(query, fused, cancel)
        timings["ranking"] = (time.perf_counter() - begin) * 1e3
        ordering = with_full_texts(ordering, query, fused, self._opened.of(FullTextRetriever))
        ranked = None if self._ranker is None or problems else ordering
        own = self._read_own(query, fused, ordering, tier, cancel)
        ordering = own.ordering
        if own.milliseconds:
            timings[CROSS_ENCODER] = own.milliseconds
        begin = time.perf_counter()
        if ranked is not None:
            ordering = self._criteria.reorder(query, fused.rows, own.ordering)
        met = None if ordering is own.ordering else ordering
        remembered = considered(self._history, query, fused.rows, ordering)
        ordering = ordering if remembered is None else remembered.ordering
        timings["history"] = (time.perf_counter() - begin) * 1e3
        read = None
        if tier != "fast" and self._reader is not None and not self._reader.is_own:
            head = fused.rows[ordering.order[: self._reader.papers]]
            read = self._reader.reorder(query, ordering, self._library.works(head), cancel)
            ordering = read.ordering
            timings[CROSS_ENCODER] = read.milliseconds
        judged = None
        if tier == "deep" and self._llm_stage is not None and self._options.llm.rerank != "none":
            head = fused.rows[ordering.order[: self._options.llm.rerank_depth]]
            judged = self._llm_stage.reorder(query, ordering, self._library.works(head), cancel)
            ordering = judged.ordering
            timings[judged.name] = judged.milliseconds
            read = None if read is None else _follow(read, judged)
        begin = time.perf_counter()
        shown = ordering.order[:k]
        # A list that is made at each letter shows no more than authors, year and venue.
        works = self._library.works(fused.rows[shown], whole=tier != "fast")
        timings["records"] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        places, found_by = _places(ranked), self._evidence(query, fused, shown[:explained])
        hits = tuple(
            Hit(
                work=work,
                score=float(ordering.scores[place]),
                evidence=(
                    *(judged.evidence(place) if judged is not None else ()),
                    *(read.evidence(place) if read is not None else ()),
                    *(remembered.evidence(int(at)) if remembered is not None else ()),
                    *(self._criteria.evidence(own.ordering, met, int(at)) if met else ()),
                    *own.evidence_of(int(at)),
                    *self._moved(ranked, places, int(at)),
                    *found_by[place],
                )
                if place < len(found_by)
                else (),
                confidence=None
                if ordering.confidence is None
                else float(ordering.confidence[place]),
            )
            for place, (at, work) in enumerate(zip(shown, works, strict=True))
        )
        timings["evidence"] = (time.perf_counter() - begin) * 1e3
        dropped = tuple(
            stage.problem for stage in (own, read, judged) if stage is not None and stage.problem
        )
        made = [self._ranker.name if self._ranker and _is_judged(ranked) else "fusion"]
        made += [own.made_by] if own.moved else []
        made += [HISTORY] if remembered is not None else []
        made += [stage.made_by for stage in (read, judged) if stage is not None and stage.moved]
        return SearchResult(hits=hits, dropped=dropped, problems=problems, variant="+".join(made))

    def _read_own(
        self, query: Query, fused: Fused, ordering: Ordering, tier: Tier, cancel: Cancel
    ) -> CrossEncoderAnswer:
        """What Citewell's own cross-encoder adds to the ranker's scores, before the history does;
        the ordering alone where it is not asked."""
        reader = self._reader
        if tier == "fast" or reader is None or not reader.is_own:
            return CrossEncoderAnswer(ordering)
        if not reader.reads(query, ordering):
            return CrossEncoderAnswer(ordering)
        head = fused.rows[ordering.order[: reader.papers]]
        return reader.reorder(query, ordering, self._library.works(head), cancel)

    def _unwanted(self, query: Query) -> np.ndarray:
        """Rows that must not be offered: what is excluded, what the citation already has, and the
        paper that is being written.

        A published paper finds itself first by its own title, and never cites itself.
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
        """Where the ranker put the paper at place `at` of the fused list: at `places[at]` of its
        own."""
        if ranked is None or self._ranker is None:
            return ()
        place = places[at]
        if ranked.confidence is None and place == at:
            return ()  # a ranker that cannot judge leaves the order alone
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
            # Other queries matter only for what the author's own does not find.
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
    for the answer to another query."""
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
    """Whether a ranker stated its confidence; without it, it left the order alone."""
    return ranked is not None and ranked.confidence is not None


def _follow(read: CrossEncoderAnswer, judged: CrossEncoderAnswer) -> CrossEncoderAnswer:
    """The evidence of an earlier stage by place, after a later one has moved the papers."""
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
