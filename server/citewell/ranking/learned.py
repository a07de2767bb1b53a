"""The default head: an ensemble of trees over features, trained on real citations.

LambdaMART (Burges 2010), trained by `citewell_lab.training.head`; its weights are one small
file. Works from features alone: it needs neither the training data nor a compiled library.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.model import Query
from citewell.model.cancel import Cancel
from citewell.model.query import MARK, near_part
from citewell.ranking.confidence import SentenceConfidence, known_inputs, lowest
from citewell.ranking.contract import Candidates, Ordering, Signals, weights_file
from citewell.ranking.features import (
    UNKNOWN,
    Company,
    FeatureInputs,
    Nearby,
    company_of,
    feature_names,
    features,
)
from citewell.ranking.identity import Bounds, bounds
from citewell.ranking.lexical import TitleWords
from citewell.ranking.literature import (
    CLOSE,
    COMPANY,
    CONSIDERED,
    LiteratureInputs,
    LiteratureModel,
    literature_features,
)
from citewell.ranking.named import NAMES as NAMED
from citewell.ranking.named import named
from citewell.ranking.trees import Trees
from citewell.ranking.typed import TypedModel
from citewell.ranking.typed_features import TypedInputs, typed_features

# The works that the author already cites, in the paper and around the place, as input of the
# ranker.

_MOST_REFERENCES = 200


class CompanyReader:
    """Looks up the paper's references. Thread-safe."""

    def __init__(self) -> None:
        self._last: tuple[tuple[int, list[str]], Company | None] | None = None

    def of(self, query: Query, signals: Signals) -> Company | None:
        """The references in the library, or None. The last ones are cached: they stay the same
        while an author types."""
        titles = [r.title for r in query.paper.references if r.title][:_MOST_REFERENCES]
        if not titles:
            return None
        key, last = (id(signals), titles), self._last
        if last is not None and last[0] == key:
            return last[1]
        found = _company(titles, signals)
        self._last = key, found
        return found


def _company(titles: list[str], signals: Signals) -> Company | None:
    rows = signals.rows_of_titles(titles)
    rows = distinct(rows[rows >= 0])
    vectors, columns = signals.vectors(rows), signals.facts(rows)
    if not len(rows) or vectors is None or columns is None:
        return None
    return company_of(rows, vectors, columns)


def nearby_of(query: Query, signals: Signals, rows: NDArray[np.int64]) -> Nearby | None:
    """The works cited around the place, compared with the candidates `rows`; None if the library
    has none of them."""
    if not query.nearby:
        return None
    found = signals.rows_of_titles(query.nearby)
    found = distinct(found[found >= 0])
    vectors = signals.vectors(found)
    if not len(found) or vectors is None:
        return None
    cocited = signals.cocited(query, rows)
    if cocited is None:
        cocited = np.full((len(rows), 2), UNKNOWN, np.float32)
    return Nearby(found, vectors, cocited)


# Evidence for the next paper of a citation, from the works already in it.
#
# Authors cite related works together: papers with similar content, and papers that others cite
# together.

WEIGHTS = (4.0, 16.0)
"""Weights of co-citation and of nearness. `citewell_lab.training.same_citation` chooses them on the
tuning part and measures their effect."""


def same_citation(
    query: Query, rows: NDArray[np.int64], vectors: NDArray[np.float32], signals: Signals
) -> NDArray[np.float32] | None:
    """Co-citation and nearness of the candidates `rows` to the works already in the citation, shape
    (n, 2): how often others cite both, as a logarithm, and the cosine to the nearest of them.

    `vectors` are those of the candidates, of length 1. None if the citation is empty or the library
    has none of its works.
    """
    if not query.present:
        return None
    found = signals.rows_of_titles(query.present)
    present = signals.vectors(distinct(found[found >= 0]))
    if present is None or not len(present):
        return None
    out = np.zeros((len(rows), 2), np.float32)
    # The list of the citing paper itself is no evidence.
    cocited = signals.cocited(replace(query, nearby=query.present), rows)
    if cocited is not None:
        out[:, 0] = np.maximum(cocited[:, 0], 0)
    out[:, 1] = (vectors @ present.T).max(axis=1)
    return out


def with_same_citation(
    scores: NDArray[np.float32], inputs: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The scores with the weighted inputs added, shape (n,).

    They are shifted so that the best score stays the same: the confidence was fitted to this scale.
    """
    total = scores + inputs @ np.array(WEIGHTS, np.float32)
    return np.asarray(total - total.max(initial=-np.inf) + scores.max(initial=-np.inf), np.float32)


PRIOR_SIGNALS = (
    "memory_similarity", "memory_popularity", "memory_citations", "memory_passage_best",
    "memory_passage_votes", "memory_topic_votes", "memory_passage_share", "memory_cocited",
    "memory_cocited_share",
)  # fmt: skip
"""The signals of the citation priors that the head was trained with, in order."""
RRF_K = 60.0
RRF_RANKS = ("bm25_rank", "full_rank", "bm25_near_rank")
"""Features, log2(1 + rank), fused to smooth the trees; the rank by priors joins them if others are
known to cite the paper."""
NAMED_AT = 2.0
"""Added to the score of a candidate named right before the mark, by the name that its title opens
with or that others use: "RoBERTa [CITATION]"."""


class LearnedRanker:
    """Orders candidates by a trained ensemble. Keeps the order if it lacks the data: in a library
    without columns, or with vectors of another encoder than in training.
    """

    name = "learned"

    def __init__(
        self,
        weights: Path,
        typed: Path | None = None,
        literature: Path | None = None,
        confidence: Path | None = None,
    ) -> None:
        """`typed` are the weights for queries with typed words, and `literature` those for
        literature questions; without them the head alone orders those, too. `confidence` are the
        weights for the confidence of citing sentences, which otherwise follows from the scores."""
        self._path = weights
        self._typed_path = typed
        self._literature_path = literature
        self._confidence_path = confidence
        self._lock = threading.Lock()
        self._words: tuple[int, TitleWords] | None = None
        self._company = CompanyReader()

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        """Order all candidates, each once. Raises `Cancelled`."""
        columns = signals.facts(candidates.rows)
        if columns is None or not len(candidates.rows) or signals.encoder != self._model.encoder:
            return Ordering(np.arange(len(candidates.rows)), candidates.fused)
        rows = candidates.rows
        full, topic = signals.encode([query]), signals.encode_topic(query)
        vectors = signals.vectors(rows)
        bm25 = signals.bm25(query, rows)
        prior_signals = signals.citation_priors(query, rows)
        cancel.check()
        assert full is not None and topic is not None and vectors is not None
        known = FeatureInputs(
            rows,
            columns,
            np.zeros(len(rows), np.float32) if bm25 is None else bm25,
            vectors,
            full[0],
            topic,
            np.full((len(rows), len(PRIOR_SIGNALS)), UNKNOWN, np.float32)
            if prior_signals is None
            else prior_signals,
            self._company.of(query, signals),
            signals.bm25(near_part(query), rows),
            signals.passages(query, rows),
            nearby_of(query, signals, rows),
        )
        table = features(query, known, self._title_words(signals))
        cancel.check()
        scores = head_scores(self._model.trees, table)
        if _asks_literature(query) and self._literature_path is not None:
            return self._literature(query, known, table, scores, signals)
        if query.typed and self._typed_path is not None:
            typed = self._typed(query, known, table, scores, signals)

            def titles(places: NDArray[np.int64]) -> list[str]:
                return [work.title for work in signals.works(rows[places])]

            trusted = bounds(query, known.columns, signals.aliases(), typed, titles)
            return self._order_typed(typed, trusted)
        scores += further_evidence(table, [candidates.ranks[name] for name in candidates.further])
        return self._order_sentence(query, known, table, scores, signals)

    def _order_sentence(
        self,
        query: Query,
        known: FeatureInputs,
        table: NDArray[np.float32],
        scores: NDArray[np.float32],
        signals: Signals,
    ) -> Ordering:
        """The order of the head, with the confidence of a citing sentence if available."""
        beside = None if query.typed else same_citation(query, known.rows, known.vectors, signals)
        if beside is not None:
            scores = with_same_citation(scores, beside)
        if MARK not in query.sentence or query.typed:
            order = np.lexsort((np.arange(len(scores)), -scores))
            stated = self._model.confidence
            return Ordering(order, scores[order], stated(scores[order]), stated)
        words = named(query.sentence, known.columns, signals.aliases())
        bonus = NAMED_AT * words[:, [NAMED.index("name_at"), NAMED.index("alias_at")]].max(axis=1)
        scores = scores + bonus
        order = np.lexsort((np.arange(len(scores)), -scores))
        own = [self._model.confidence]
        if self._confidence_path is not None:
            inputs = known_inputs(table, feature_names(PRIOR_SIGNALS), words)[order]
            own.append(partial(self._sentence_confidence.of, known=inputs))

        def calibrate(changed: NDArray[np.float32]) -> NDArray[np.float32]:
            # The confidence reads the names separately.
            return lowest(changed - bonus[order], own)

        return Ordering(order, scores[order], calibrate(scores[order]), calibrate)

    def _typed(
        self,
        query: Query,
        known: FeatureInputs,
        table: NDArray[np.float32],
        scores: NDArray[np.float32],
        signals: Signals,
    ) -> NDArray[np.float32]:
        """Features of the typed words per candidate, shape (n, typed features)."""
        alone = Query(text=query.text)
        vector, bm25 = signals.encode([alone]), signals.bm25(alone, known.rows)
        names = feature_names(PRIOR_SIGNALS)
        typed = TypedInputs(
            query.text,
            known.columns,
            np.zeros(len(scores), np.float32) if bm25 is None else bm25,
            np.zeros(len(scores), np.float32) if vector is None else known.vectors @ vector[0],
            scores,
            table[:, names.index("memory_popularity")],
            table[:, names.index("memory_citations")],
            bool(query.sentence),
            signals.aliases(),
        )
        return typed_features(typed, self._title_words(signals))

    def _order_typed(self, table: NDArray[np.float32], trusted: Bounds) -> Ordering:
        return self._typed_model.order(table, trusted)

    def _literature(
        self,
        query: Query,
        known: FeatureInputs,
        table: NDArray[np.float32],
        scores: NDArray[np.float32],
        signals: Signals,
    ) -> Ordering:
        best = np.lexsort((np.arange(len(scores)), -scores))[:CONSIDERED]
        rows = known.rows[best]
        unknown = np.zeros(len(best), np.float32)
        near = [signals.cocited_with(rows[:count], rows) for count in (CLOSE, COMPANY)]
        coverage = signals.coverage(query.text, rows)
        names = feature_names(PRIOR_SIGNALS)
        listed = LiteratureInputs(
            scores[best],
            known.vectors[best],
            table[best, names.index("full")],
            unknown if near[0] is None else near[0],
            unknown if near[1] is None else near[1],
            unknown if coverage is None else coverage,
            table[best, names.index("memory_popularity")],
            known.columns.year[best],
            known.columns.abstract[best],
        )
        return self._order_literature(best, scores, literature_features(listed))

    def _order_literature(
        self, best: NDArray[np.int64], scores: NDArray[np.float32], table: NDArray[np.float64]
    ) -> Ordering:
        return self._literature_model.ordering(best, scores, table)

    def _title_words(self, signals: Signals) -> TitleWords:
        with self._lock:
            if self._words is None or self._words[0] != id(signals):
                words, counts, papers = signals.title_words()
                self._words = (id(signals), TitleWords(words, counts, papers))
            return self._words[1]

    @cached_property
    def _model(self) -> Model:
        return Model(self._path)

    @cached_property
    def _literature_model(self) -> LiteratureModel:
        assert self._literature_path is not None
        return LiteratureModel.read(self._literature_path)

    @cached_property
    def _sentence_confidence(self) -> SentenceConfidence:
        assert self._confidence_path is not None
        return SentenceConfidence(self._confidence_path)

    @cached_property
    def _typed_model(self) -> TypedModel:
        assert self._typed_path is not None
        return TypedModel(self._typed_path)


def head_scores(trees: Trees, table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The trees' sum plus the logarithm of the candidates' reciprocal rank fusion, shape (n,).

    The trees alone are step functions fitted to the training papers; the smooth fusion (Cormack et
    al. 2009) keeps the order sensible where they cannot separate candidates, and in papers unlike
    the training papers.
    """
    return np.asarray(trees.predict(table) + np.log(_fused(table)), np.float32)


def further_evidence(
    table: NDArray[np.float32], lists: Sequence[NDArray[np.int32]]
) -> NDArray[np.float32]:
    """The addition to the scores from lists unknown to the trees, shape (n,); ranks are 0 for a
    missing candidate.

    Their ranks join the fusion as further lists. It becomes the mean over the lists, so that a
    candidate with the same rank in them keeps its score, and the confidence its scale.
    """
    if not lists:
        return np.zeros(len(table), np.float32)
    fused = _fused(table)
    more = fused.copy()
    for ranks in lists:
        more += np.where(ranks > 0, 1 / (RRF_K + np.maximum(ranks, 1)), 0)
    count = len(RRF_RANKS)
    return np.asarray(np.log(more / fused * count / (count + len(lists))), np.float32)


def _fused(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reciprocal rank fusion of the candidates by words, meaning and priors, shape (n,)."""
    names = feature_names(PRIOR_SIGNALS)

    def share(name: str) -> NDArray[np.float32]:
        # The rank itself is 2 ** feature - 1.
        ranks = np.exp2(table[:, names.index(name)]) - 1
        return np.asarray(1 / (RRF_K + ranks), np.float32)

    fused = np.sum([share(name) for name in RRF_RANKS], axis=0)
    known = table[:, names.index("memory_popularity")] > UNKNOWN
    return np.asarray(fused + np.where(known, share("memory_rank"), 0), np.float32)


def _asks_literature(query: Query) -> bool:
    return query.literature and query.typed and not query.sentence


class Model:
    """The trained file: trees, the names of their features, and the calibration."""

    def __init__(self, path: Path) -> None:
        with weights_file(path, "The ranker's weights") as file:
            self.trees = Trees(file["feature"], file["threshold"], file["leaf"])
            self.encoder = str(file["encoder"])
            self._calibration = file["calibration"].astype(np.float64)
            names = tuple(str(name) for name in file["names"])
            if names != feature_names(PRIOR_SIGNALS):
                raise ValueError("it was trained with other features")
            if int(self.trees.feature.max(initial=0)) >= len(names):
                raise ValueError("a tree asks for a feature that does not exist")

    def confidence(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability that an author would cite each candidate, from its score and its rivals'.

        A logistic model over the score and its share of the list (log softmax), fitted on questions
        with and without an answer.
        """
        return calibrated(scores, self._calibration)


def calibration_inputs(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Shape (n, 3): one, the score, and the log of its softmax share."""
    scores = scores.astype(np.float64)
    top = scores.max(initial=0.0)
    share = scores - top - np.log(np.exp(scores - top).sum())
    return np.stack([np.ones(len(scores)), scores, share], axis=1)


def calibrated(scores: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Apply the logistic model."""
    return np.asarray(1 / (1 + np.exp(-calibration_inputs(scores) @ weights)), np.float32)
