"""How often others cite papers together with some references: in the same lists of references."""

from __future__ import annotations

import threading
from collections import OrderedDict

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.array_sets import ranges
from citewell.corpus.priors import Priors

_KEPT = 4
"""Sets of references whose counts are kept, 8 bytes a paper and 12 more where it has a count: those
of the paper being written, of the place at hand and of the citation at hand stay the same while an
author types."""
_Key = tuple[bytes, bytes, bool]


class Cocited(msgspec.Struct, frozen=True):
    """How often papers are cited together with some references. Not to be changed."""

    counts: NDArray[np.float32]
    """Shape (P, 2): as a logarithm, and as a share of how often a paper is cited at all."""
    papers: NDArray[np.int64]
    """Those with a count above 0, rising."""
    gain: NDArray[np.float32]
    """What each of `papers` gains in the blend of `CitationPriors`."""


class Cocitations:
    """Counts over the lists of some priors. May be shared between threads."""

    def __init__(
        self,
        priors: Priors,
        degree: NDArray[np.float32],
        citing_starts: NDArray[np.int64],
        citing: NDArray[np.int32],
    ) -> None:
        """`degree` says how many lists cite paper i, shape (P,), and
        `citing[citing_starts[i] : citing_starts[i + 1]]` which."""
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
        (None: that of all lists) is how often each paper is cited without them."""
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
            weight[self._lists_citing(one)] += 1 / np.log(2.0 + self._degree[one])
        weight[own] = 0
        weight *= self._damp
        lists = np.flatnonzero(weight)
        places, owner = ranges(
            data.list_starts[lists].astype(np.int64), data.list_starts[lists + 1].astype(np.int64)
        )
        cited = data.list_cited[places]
        company = np.bincount(cited, weight[lists][owner], len(data)).astype(np.float32)
        # A reference is in every list that was found through it, which is no evidence for itself.
        for one in references.tolist():
            share = self._damp[self._lists_citing(one)].sum() / np.log(2.0 + self._degree[one])
            company[one] = max(company[one] - share, 0)
        counts = np.zeros((len(data), 2), np.float32)
        counts[:, 0] = np.log1p(company)
        counts[:, 1] = company / np.sqrt(np.maximum(degree, 1))
        papers = np.flatnonzero(company)
        gain = 1.5 * counts[papers, 0] + counts[papers, 1]
        return Cocited(counts, papers, gain)

    def _lists_citing(self, paper: int) -> NDArray[np.int32]:
        return self._citing[self._citing_starts[paper] : self._citing_starts[paper + 1]]
