"""Arrays that are computed of the citation priors and the vectors of their papers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.priors import Priors
from citewell.retrieval.scan import CodedVectors


def derived_arrays(
    priors: Priors, vectors: NDArray[np.float32] | NDArray[np.int8]
) -> dict[str, NDArray[Any]]:
    """What `CitationPriors` computes of its arguments: the same for the same ones."""
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
    """The places where each paper is cited: their bounds in the order, shape (count + 1,), and the
    order, shape (len(cited),)."""
    times = np.bincount(cited, minlength=count)
    return np.concatenate([[0], np.cumsum(times)]), np.argsort(cited, kind="stable")
