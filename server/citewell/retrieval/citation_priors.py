"""Search by how others cite papers, among the papers with priors.

Of a quarter of a million papers, a few ten thousand are ever cited in the available data, and most
real citations go to them. For these the priors weigh evidence that text alone lacks: how often a
paper is cited, by whom (citing papers on this topic), in which words (similar citing passages) and
together with which papers (the author's existing references).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct, ranges
from citewell.corpus.priors import Priors
from citewell.retrieval.scan import CodedVectors, PlainVectors
from citewell.retrieval.select import within

# Counts of co-citations with some references: in the same lists of references.

_KEPT = 4
"""Number of sets of references with cached counts, 8 bytes a paper and 12 more if it has a count:
those of the paper, of the place and of the citation stay the same while an author types."""
_Key = tuple[bytes, bytes, bool]


class Cocited(msgspec.Struct, frozen=True):
    """Co-citations of papers with some references. Not to be changed."""

    counts: NDArray[np.float32]
    """Shape (P, 2): as a logarithm, and as a share of all citations of a paper."""
    papers: NDArray[np.int64]
    """The papers with a count above 0, ascending."""
    gain: NDArray[np.float32]
    """The gain of each of `papers` in the blend of `CitationPriors`."""


class Cocitations:
    """Counts over the lists of some priors. Thread-safe."""

    def __init__(
        self,
        priors: Priors,
        degree: NDArray[np.float32],
        citing_starts: NDArray[np.int64],
        citing: NDArray[np.int32],
    ) -> None:
        """`degree` is the number of lists that cite paper i, shape (P,), and
        `citing[citing_starts[i] : citing_starts[i + 1]]` holds these lists."""
        self._priors, self._degree = priors, degree
        self._citing_starts, self._citing = citing_starts, citing
        lengths = np.diff(priors.list_starts)
        self._damp = 1 / np.sqrt(np.maximum(lengths, 1)).astype(np.float32)
        self._known: OrderedDict[_Key, Cocited] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        references: NDArray[np.int64],
        own: NDArray[np.int64],
        degree: NDArray[np.float32] | None = None,
    ) -> Cocited:
        """The counts for references, given by paper number, without the lists `own`; `degree`
        (None: that of all lists) is each paper's number of citations without them."""
        key = references.tobytes(), own.tobytes(), degree is None or degree is self._degree
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        found = self._count(references, own, self._degree if degree is None else degree)
        with self._lock:
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def _count(
        self, references: NDArray[np.int64], own: NDArray[np.int64], degree: NDArray[np.float32]
    ) -> Cocited:
        data = self._priors
        weight = np.zeros(len(self._damp), np.float32)
        for one in references.tolist():
            weight[self.lists_citing(one)] += 1 / np.log(2.0 + self._degree[one])
        weight[own] = 0
        weight *= self._damp
        lists = np.flatnonzero(weight)
        places, owner = ranges(
            data.list_starts[lists].astype(np.int64), data.list_starts[lists + 1].astype(np.int64)
        )
        cited = data.list_cited[places]
        company = np.bincount(cited, weight[lists][owner], len(data)).astype(np.float32)
        # A reference is in every list found through it, which is no evidence for itself.
        for one in references.tolist():
            share = self._damp[self.lists_citing(one)].sum() / np.log(2.0 + self._degree[one])
            company[one] = max(company[one] - share, 0)
        counts = np.zeros((len(data), 2), np.float32)
        counts[:, 0] = np.log1p(company)
        counts[:, 1] = company / np.sqrt(np.maximum(degree, 1))
        papers = np.flatnonzero(company)
        gain = 1.5 * counts[papers, 0] + counts[papers, 1]
        return Cocited(counts, papers, gain)

    def lists_citing(self, paper: int) -> NDArray[np.int32]:
        """The lists of references with a paper."""
        return self._citing[self._citing_starts[paper] : self._citing_starts[paper + 1]]


# Arrays computed from the citation priors and the vectors of their papers.


def derived_arrays(
    priors: Priors, vectors: NDArray[np.float32] | NDArray[np.int8]
) -> dict[str, NDArray[Any]]:
    """The arrays that `CitationPriors` derives from its arguments."""
    lengths = np.diff(priors.list_starts)
    owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    citing_starts, citing = _by_paper(priors.list_cited, len(priors))
    passage_starts, passages_of = _by_paper(priors.passage_cited, len(priors))
    arrays: dict[str, NDArray[Any]] = {
        "degree": np.bincount(priors.list_cited, minlength=len(priors)).astype(np.float32),
        "citing_starts": citing_starts,
        "citing": owner[citing],
        "passage_starts": passage_starts,
        "passages_of": passages_of.astype(np.int32),
        "list_scale": CodedVectors(priors.list_vectors).scale,
        "passage_scale": CodedVectors(priors.passage_vectors).scale,
    }
    if vectors.dtype == np.int8:
        arrays["vector_scale"] = CodedVectors(vectors.view(np.int8)).scale
    return arrays


def _by_paper(cited: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The citations sorted by cited paper: bounds of each paper, shape (count + 1,), and the order,
    shape (len(cited),)."""
    times = np.bincount(cited, minlength=count)
    return np.concatenate([[0], np.cumsum(times)]), np.argsort(cited, kind="stable")


NEIGHBOURS = 48
"""Number of citing passages and citing papers that vote."""
SHARPNESS = 12.0
"""Votes fall as exp(sharpness * (similarity - the best similarity))."""
LIKENESS = 20
"""Weight of a paper's likeness to the query in the blend."""
POPULARITY = 0.75
"""Weight of the logarithm of how often it is cited."""
UNKNOWN = -99.0
"""Value of every signal of a paper without evidence once the own list is left out."""

SIGNALS = (
    "memory_similarity", "memory_popularity", "memory_citations", "memory_passage_best",
    "memory_passage_votes", "memory_topic_votes", "memory_passage_share", "memory_cocited",
    "memory_cocited_share",
)  # fmt: skip

NONE = np.zeros(0, np.int64)
_ROUNDING = 1e-3
"""Bound of the rounding error of the blend in float32."""


class QueryVectors(msgspec.Struct, frozen=True):
    """The vectors of a query, of length 1 (or zero for a missing part), shape (d,)."""

    full: NDArray[np.float32]
    topic: NDArray[np.float32]
    """Vector of the citing title and abstract; of everything if there is no title."""
    references: NDArray[np.int64]
    """Paper numbers of the citing paper's references; -1s dropped."""
    own: int = 0
    """Title key of the citing paper: its own citations are no evidence."""


class Votes(msgspec.Struct, frozen=True):
    """Votes for papers. Not to be changed."""

    of: NDArray[np.float32]
    """Votes by paper, shape (P,)."""
    papers: NDArray[np.int64]
    """The papers with votes, each once."""


class CitationPriors:
    """Signals of the priors for queries. Holds no text and is thread-safe.

    `vectors` are the papers' own vectors in the priors' order, shape (P, d), of length 1 or, as
    int8, of any length; zero for papers missing from the library. `known` is the mask of the
    others.
    """

    def __init__(
        self,
        priors: Priors,
        vectors: NDArray[np.float32] | NDArray[np.int8],
        known: NDArray[np.bool_],
        derived: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """`derived` are the `derived_arrays` of the priors and vectors, if available."""
        self.priors = priors
        arrays = derived_arrays(priors, vectors) if derived is None else derived
        self.degree: NDArray[np.float32] = arrays["degree"]
        self.log_degree = np.log1p(self.degree)
        self.is_known = known & ((self.degree > 0) | (priors.citations >= 0))
        """Mask of the papers with known citations."""
        self.is_unknown = ~self.is_known
        self.cocitations = Cocitations(
            priors, self.degree, arrays["citing_starts"], arrays["citing"]
        )
        self.passage_starts: NDArray[np.int64] = arrays["passage_starts"]
        self.passages_of: NDArray[np.int32] = arrays["passages_of"]
        """The passages that cite paper i: [passage_starts[i], passage_starts[i + 1])."""
        self.vectors: CodedVectors | PlainVectors = (
            CodedVectors(vectors.view(np.int8), arrays["vector_scale"])
            if vectors.dtype == np.int8
            else PlainVectors(vectors.view(np.float32))
        )
        self.lists = CodedVectors(priors.list_vectors, arrays["list_scale"])
        self.passages = CodedVectors(priors.passage_vectors, arrays["passage_scale"])
        self.without_list_vector = self.lists.scale == 0
        self._last_topic: tuple[tuple[bytes, int], Votes] | None = None

    def ask(self, query: QueryVectors) -> PriorSignals:
        """The signals of the priors for a query."""
        return PriorSignals(self, query)

    def signals(self, query: QueryVectors) -> NDArray[np.float32]:
        """Shape (P, len(SIGNALS)): every paper's signals for a query."""
        return self.ask(query).of(np.arange(len(self.priors)))

    def popularity(self) -> NDArray[np.float32]:
        """Logarithm of one more than each paper's number of citations, from all data, (P,)."""
        stated = self.priors.citations.astype(np.float32)
        return np.asarray(np.maximum(np.log1p(self.degree), stated), np.float32)

    @staticmethod
    def blend(signals: NDArray[np.float32]) -> NDArray[np.float32]:
        """One score a paper, shape (n,): the order of the priors' own list."""
        s = signals
        total = LIKENESS * s[:, 0] + POPULARITY * s[:, 1]
        total += 0.5 * np.log(np.maximum(s[:, 4], 0) + 0.01)
        total += 0.5 * np.log(np.maximum(s[:, 5], 0) + 0.01)
        total += 1.5 * np.maximum(s[:, 7], 0) + np.maximum(s[:, 8], 0)
        total[s[:, 1] <= UNKNOWN] = -np.inf
        return total

    def topic_votes(self, topic: NDArray[np.float32], own: int, lists: NDArray[np.int64]) -> Votes:
        """The votes of the citing papers nearest to a topic, without the lists `lists` of the paper
        `own`. The last ones are cached: they stay the same while an author types."""
        key = (topic.tobytes(), own)
        last = self._last_topic
        if last is not None and last[0] == key:
            return last[1]
        votes = np.zeros(len(self.priors), np.float32)
        if len(self.lists) and topic.any():
            self._vote_by_topic(topic, lists, votes)
        found = Votes(votes, np.flatnonzero(votes))
        self._last_topic = key, found
        return found

    def _vote_by_topic(
        self, topic: NDArray[np.float32], own: NDArray[np.int64], out: NDArray[np.float32]
    ) -> None:
        data, excluded = self.priors, self.without_list_vector
        if len(own):
            excluded = excluded.copy()
            excluded[own] = True
        found, likeness = self.lists.nearest(topic, NEIGHBOURS, excluded)
        votes = np.exp(SHARPNESS * (likeness - likeness.max(initial=-1)))
        for one, vote in zip(found.tolist(), votes.tolist(), strict=True):
            cited = data.list_cited[data.list_starts[one] : data.list_starts[one + 1]]
            out[cited] += vote

    def cocited(self, references: NDArray[np.int64], own: int) -> NDArray[np.float32]:
        """Shape (P, 2): how often others cite a paper with the references, and as a share of all
        its citations. The list of the paper `own` is left out."""
        lists = np.flatnonzero(self.priors.list_key == np.uint64(own)) if own else NONE
        return self.cocitations.of(references, lists).counts


class PriorSignals:
    """The signals of one query. Likenesses to papers and passages are computed from rounded vectors
    for all papers, and exactly for the requested ones."""

    def __init__(self, priors: CitationPriors, query: QueryVectors) -> None:
        data = priors.priors
        self._priors = priors
        self._query = query
        self._last = (NONE, np.zeros((0, len(SIGNALS)), np.float32))
        self._own = np.flatnonzero(data.list_key == np.uint64(query.own)) if query.own else NONE
        self._degree, self._log_degree = priors.degree, priors.log_degree
        self._is_known = priors.is_known
        if len(self._own):
            self._degree, self._log_degree = priors.degree.copy(), priors.log_degree.copy()
            self._is_known = priors.is_known.copy()
            for one in self._own:
                cited = data.list_cited[data.list_starts[one] : data.list_starts[one + 1]]
                self._degree[cited] -= 1
                self._log_degree[cited] = np.log1p(self._degree[cited])
                self._is_known[cited] &= (self._degree[cited] > 0) | (data.citations[cited] >= 0)
        self._asks_passages = len(priors.passages) > 0 and bool(query.full.any())
        self._passage_votes = Votes(np.zeros(len(data), np.float32), NONE)
        self._votes = 0.0
        if self._asks_passages:
            self._vote_by_passage()
        self._topic_votes = priors.topic_votes(query.topic, query.own, self._own)
        self._company: Cocited | None = None
        if len(query.references):
            self._company = priors.cocitations.of(query.references, self._own, self._degree)

    def beside(self, paper: int) -> int:
        """Number of references that others cite together with a paper."""
        cites_paper = np.zeros(len(self._priors.priors.list_key), np.bool_)
        cites_paper[self._priors.cocitations.lists_citing(paper)] = True
        cites_paper[self._own] = False
        lists, reference = self._citing_references
        found = distinct(reference[cites_paper[lists]])
        return int((self._query.references[found] != paper).sum())

    @cached_property
    def _citing_references(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """The lists that have a reference, and the place of that reference in the query."""
        lists_citing = self._priors.cocitations.lists_citing
        parts = [lists_citing(one) for one in self._query.references.tolist()]
        reference = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return np.concatenate([NONE.astype(np.int32), *parts]), reference

    @property
    def has_words(self) -> bool:
        """Whether the query has a word that the encoder knows."""
        return bool(self._query.full.any())

    @property
    def full(self) -> NDArray[np.float32]:
        """The vector of the whole query."""
        return self._query.full

    def of(self, papers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Shape (n, len(SIGNALS)): the signals of some papers, by number.

        The last table is cached, since its papers are explained one by one.
        """
        known, table = self._last
        if len(papers) == 1 and len(place := np.flatnonzero(known == papers[0])):
            return table[place[:1]]
        table = self._computed(papers)
        self._last = (papers, table)
        return table

    def _computed(self, papers: NDArray[np.int64]) -> NDArray[np.float32]:
        priors, data = self._priors, self._priors.priors
        # Computed signal by signal, each for all papers at once.
        out = np.zeros((len(papers), len(SIGNALS)), np.float32, order="F")
        out[:, 0] = priors.vectors.exact(self._query.full, papers)
        out[:, 1] = self._log_degree[papers]
        out[:, 2] = data.citations[papers]
        if self._asks_passages:
            out[:, 3] = self._best_passages(papers)
            out[:, 4] = self._passage_votes.of[papers]
            out[:, 6] = out[:, 4] / max(self._votes, 1e-6)
        out[:, 5] = self._topic_votes.of[papers]
        if self._company is not None:
            out[:, 7:9] = self._company.counts[papers]
        out[~self._is_known[papers]] = UNKNOWN
        return out

    def best(
        self, count: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `count` papers with the highest blend among those allowed (None: all known ones),
        unordered, and the blends."""
        priors = self._priors
        likeness, error = priors.vectors.approximate(self._query.full)
        score: NDArray[np.float32] = np.float32(LIKENESS) * likeness
        score += np.float32(POPULARITY) * self._log_degree
        for votes in (self._passage_votes, self._topic_votes):
            score[votes.papers] += 0.5 * np.log(100 * votes.of[votes.papers] + 1)
        if self._company is not None:
            score[self._company.papers] += self._company.gain
        if allowed is not None:
            score[~(allowed & self._is_known)] = -np.inf
        elif self._is_known is priors.is_known:
            score[priors.is_unknown] = -np.inf
        else:
            score[~self._is_known] = -np.inf
        return self.best_of(within(score, count, 2 * LIKENESS * error + _ROUNDING), count)

    def voted(self) -> NDArray[np.int64]:
        """The papers with more than likeness and popularity in their blend, and those that lose
        popularity without the own list, ascending."""
        data = self._priors.priors
        lists = [data.list_cited[data.list_starts[n] : data.list_starts[n + 1]] for n in self._own]
        votes = (self._passage_votes, self._topic_votes)
        parts: list[NDArray[Any]] = [*(one.papers for one in votes), *lists]
        if self._company is not None:
            parts.append(self._company.papers)
        return np.unique(np.concatenate(parts)).astype(np.int64)

    def best_of(
        self, papers: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `count` of some papers with the highest blend, unordered, and the blends; -inf for
        papers without evidence."""
        blend = self._priors.blend(self._computed(papers))
        if len(papers) > count:
            found = np.argpartition(-blend, count - 1)[:count]
            papers, blend = papers[found], blend[found]
        return papers, blend

    def _vote_by_passage(self) -> None:
        data = self._priors.priors
        excluded = np.isin(data.passage_list, self._own) if len(self._own) else None
        found, likeness = self._priors.passages.nearest(self._query.full, NEIGHBOURS, excluded)
        if len(found):
            votes = np.exp(SHARPNESS * (likeness - likeness.max()))
            cited = data.passage_cited[found]
            np.add.at(self._passage_votes.of, cited, votes)
            self._passage_votes = Votes(self._passage_votes.of, distinct(cited).astype(np.int64))
            self._votes = float(votes.sum())

    def _best_passages(self, papers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Likeness of the nearest passage that cites each paper; -1 for none."""
        priors, data = self._priors, self._priors.priors
        begin, end = priors.passage_starts[papers], priors.passage_starts[papers + 1]
        place, owner = ranges(begin, end)
        passages = priors.passages_of[place].astype(np.int64)
        likeness = priors.passages.exact(self._query.full, passages)
        if len(self._own):
            likeness[np.isin(data.passage_list[passages], self._own)] = -1
        best = np.full(len(papers), -1.0, np.float32)
        np.maximum.at(best, owner, likeness)
        return best
