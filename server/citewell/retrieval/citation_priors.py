"""Finds papers by how others cite them: among the papers that the priors know.

Of a quarter of a million papers a few ten thousand are ever cited in the data at hand, and most
real citations go to them. For these the priors weigh what text alone cannot: how often a paper is
cited, by whom (citing papers on the topic at hand), in which words (citing passages like this one)
and together with what (the references the author already has).
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.priors import Priors
from citewell.retrieval.scan import CodedVectors

NEIGHBOURS = 48
"""Citing passages and citing papers that vote."""
SHARPNESS = 12.0
"""Votes fall as exp(sharpness * (similarity - the best similarity))."""
UNKNOWN = -99.0
"""Stands for every signal of a paper of which nothing is known once the own list is left out."""

SIGNALS = (
    "memory_similarity", "memory_popularity", "memory_citations", "memory_passage_best",
    "memory_passage_votes", "memory_topic_votes", "memory_passage_share", "memory_cocited",
    "memory_cocited_share",
)  # fmt: skip


class QueryVectors(msgspec.Struct, frozen=True):
    """A query in vectors of length 1 (or zero where the query has no such part), shape (d,)."""

    full: NDArray[np.float32]
    near: NDArray[np.float32]
    """Of the words typed and the citing sentence."""
    topic: NDArray[np.float32]
    """Of the citing title and abstract; of everything where there is no title."""
    references: NDArray[np.int64]
    """Paper numbers of what the citing paper already cites; -1s dropped."""
    own: int = 0
    """Title key of the citing paper: what it cites is no evidence for itself."""


class CitationPriors:
    """The priors, ready to be asked. Holds no text and may be shared between threads.

    `vectors` are the papers' own vectors in the priors' order, shape (P, d), of length 1 or, as
    int8, of any length; zero where the library lacks the paper. `known` says which it has.
    """

    def __init__(
        self,
        priors: Priors,
        vectors: NDArray[np.float32] | NDArray[np.int8],
        known: NDArray[np.bool_],
    ) -> None:
        self.priors = priors
        self._vectors = vectors
        self._coded = CodedVectors(vectors.view(np.int8)) if vectors.dtype == np.int8 else None
        self.known = known
        lengths = np.diff(priors.list_starts)
        self._owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        self._degree = np.bincount(priors.list_cited, minlength=len(priors)).astype(np.float32)
        self._log_degree = np.log1p(self._degree)
        self._damp = 1 / np.sqrt(np.maximum(lengths, 1)).astype(np.float32)
        order = np.argsort(priors.list_cited, kind="stable")
        self._citing = self._owner[order]
        self._citing_starts = np.concatenate(
            [np.zeros(1, np.int64), np.cumsum(self._degree.astype(np.int64))]
        )
        self._lists = CodedVectors(priors.list_vectors)
        self._passages = CodedVectors(priors.passage_vectors)
        self._has_list_vector = self._lists.scale > 0

    def signals(self, query: QueryVectors) -> NDArray[np.float32]:
        """Shape (P, len(SIGNALS)): every paper's signals for a query."""
        priors = self.priors
        count = len(priors)
        # Signal by signal: each is computed for all papers at once.
        out = np.zeros((count, len(SIGNALS)), np.float32, order="F")
        own = np.flatnonzero(priors.list_key == np.uint64(query.own)) if query.own else ()
        degree, log_degree = self._degree, self._log_degree
        if len(own):
            degree = degree.copy()
            for one in own:
                degree[
                    priors.list_cited[priors.list_starts[one] : priors.list_starts[one + 1]]
                ] -= 1
            log_degree = np.log1p(degree)
        coded = self._coded
        out[:, 0] = self._vectors @ query.full if coded is None else coded.cosines(query.full)
        out[:, 1] = log_degree
        out[:, 2] = priors.citations
        if len(self._passages) and query.near.any():
            self._by_passage(query.near, own, out)
        if len(self._lists) and query.topic.any():
            self._by_topic(query.topic, own, out)
        if len(query.references):
            self._by_company(query.references, own, degree, out[:, 7:9])
        unknown = ~self.known | ((degree <= 0) & (priors.citations < 0))
        for signal in out.T:
            np.putmask(signal, unknown, UNKNOWN)
        return out

    def popularity(self) -> NDArray[np.float32]:
        """Logarithm of one more than how often each paper is cited, by any of the data, (P,)."""
        stated = self.priors.citations.astype(np.float32)
        return np.asarray(np.maximum(np.log1p(self._degree), stated), np.float32)

    @staticmethod
    def blend(signals: NDArray[np.float32]) -> NDArray[np.float32]:
        """One score a paper, shape (P,): the order of the memory's own list."""
        s = signals
        total = 20 * s[:, 0] + 0.75 * s[:, 1]
        total += 0.5 * np.log(np.maximum(s[:, 4], 0) + 0.01)
        total += 0.5 * np.log(np.maximum(s[:, 5], 0) + 0.01)
        total += 1.5 * np.maximum(s[:, 7], 0) + np.maximum(s[:, 8], 0)
        total[s[:, 1] <= UNKNOWN] = -np.inf
        return total

    def _by_passage(self, near: NDArray[np.float32], own: object, out: NDArray[np.float32]) -> None:
        likeness = self._passages.cosines(near)
        for one in own:  # type: ignore[attr-defined]
            likeness[self.priors.passage_list == one] = -1
        cited = self.priors.passage_cited
        best = np.full(len(out), -1.0, np.float32)
        np.maximum.at(best, cited, likeness)
        out[:, 3] = best
        nearest = np.argpartition(-likeness, min(NEIGHBOURS, len(likeness) - 1))[:NEIGHBOURS]
        near_likeness = likeness[nearest]
        votes = np.exp(SHARPNESS * (near_likeness - near_likeness.max()))
        np.add.at(out[:, 4], cited[nearest], votes)
        out[:, 6] = out[:, 4] / max(float(votes.sum()), 1e-6)

    def _by_topic(self, topic: NDArray[np.float32], own: object, out: NDArray[np.float32]) -> None:
        likeness = self._lists.cosines(topic)
        likeness[~self._has_list_vector] = -1
        for one in own:  # type: ignore[attr-defined]
            likeness[one] = -1
        nearest = np.argpartition(-likeness, min(NEIGHBOURS, len(likeness) - 1))[:NEIGHBOURS]
        votes = np.exp(SHARPNESS * (likeness[nearest] - likeness[nearest].max()))
        priors = self.priors
        for one, vote in zip(nearest.tolist(), votes.tolist(), strict=True):
            cited = priors.list_cited[priors.list_starts[one] : priors.list_starts[one + 1]]
            out[cited, 5] += vote

    def cocited(self, references: NDArray[np.int64], own: int) -> NDArray[np.float32]:
        """Shape (P, 2): how often others cite a paper with the references, and as a share of how
        often they cite it at all. The list of the paper `own` is left out."""
        lists = np.flatnonzero(self.priors.list_key == np.uint64(own)) if own else ()
        out = np.zeros((len(self.priors), 2), np.float32)
        self._by_company(references, lists, self._degree, out)
        return out

    def _by_company(
        self,
        references: NDArray[np.int64],
        own: object,
        degree: NDArray[np.float32],
        out: NDArray[np.float32],
    ) -> None:
        weight = np.zeros(len(self._damp), np.float32)
        for one in references.tolist():
            citing = self._citing[self._citing_starts[one] : self._citing_starts[one + 1]]
            weight[citing] += 1 / np.log(2.0 + self._degree[one])
        for one in own:  # type: ignore[attr-defined]
            weight[one] = 0
        weight *= self._damp
        company = np.bincount(
            self.priors.list_cited, weight[self._owner], minlength=len(out)
        ).astype(np.float32)
        # A reference is in every list that was found through it, which is no evidence for itself.
        for one in references.tolist():
            citing = self._citing[self._citing_starts[one] : self._citing_starts[one + 1]]
            share = self._damp[citing].sum() / np.log(2.0 + self._degree[one])
            company[one] = max(company[one] - share, 0)
        out[:, 0] = np.log1p(company)
        out[:, 1] = company / np.sqrt(np.maximum(degree, 1))
