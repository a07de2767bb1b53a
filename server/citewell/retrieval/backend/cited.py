"""Works that others are known to cite, as vectors of their own in a back end.

The retriever of citations blends four things: likeness and popularity, which every such work has,
and the votes of passages and lists, which few works get and the client knows. A vector of the text
with one more component for the popularity has likeness and popularity as its dot product with the
query; the best of these and the works with votes hold the best of the blend.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.corpus.priors import Priors
from citewell.retrieval.citation_context import library_priors
from citewell.retrieval.citation_priors import LIKENESS, POPULARITY

CITED_FROM = 400_000
"""With fewer works that are known to be cited, all of them are compared: a million takes 8.5 ms of
a processor, and a search over a graph about 3 ms."""


class CitedWorks:
    """What is known of the works of a library that others cite."""

    def __init__(self, priors: Priors) -> None:
        degree = np.bincount(priors.list_cited, minlength=len(priors)).astype(np.float32)
        self._priors = priors
        self._is_known = (degree > 0) | (priors.citations >= 0)
        self._popularity = np.float32(POPULARITY / LIKENESS) * np.log1p(degree)
        digest = hashlib.blake2b(priors.encoder.encode(), digest_size=12)
        for array in (priors.key, self._popularity, self._is_known):
            digest.update(array.tobytes())
        self.fingerprint = digest.hexdigest()
        """Identifies the vectors of the same works."""

    def vectors(self, keys: NDArray[np.uint64], dense: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of works with these title keys and dense vectors, shape (n, d + 1); zero for those of
        which no citation is known."""
        number = self._priors.find(keys)
        out = np.zeros((len(keys), dense.shape[1] + 1), np.float32)
        cited = np.flatnonzero((number >= 0) & self._is_known[number] & dense.any(axis=1))
        out[cited, :-1] = dense[cited]
        out[cited, -1] = self._popularity[number[cited]]
        return out


def cited_query(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector of a query to compare with those of `CitedWorks`."""
    return np.append(vector, np.float32(1))


def cited_works(library: Library, encoder: str) -> CitedWorks | None:
    """Of a library, where there are enough for vectors of their own; else None. `encoder` is the
    fingerprint of that of the dense vectors."""
    priors = library_priors(library, encoder, CITED_FROM)
    return None if priors is None else CitedWorks(priors)
