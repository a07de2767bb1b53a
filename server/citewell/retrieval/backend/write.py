"""Writes a library into a back end: in row order, resumable, in bounded memory."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import title_keys
from citewell.corpus.layout import SegmentView
from citewell.corpus.library import Library
from citewell.corpus.priors import Priors
from citewell.model import Work
from citewell.retrieval.backend.connection import left_out
from citewell.retrieval.backend.contract import (
    Backend,
    Batch,
    State,
    TermWeights,
    backend_error,
    point_numbers,
)
from citewell.retrieval.backend.payload import payloads_of
from citewell.retrieval.bm25_build import Bm25Builder
from citewell.retrieval.bm25_build import Terms as TermNumbers
from citewell.retrieval.bm25_segment import term_hash
from citewell.retrieval.citation_context import library_priors
from citewell.retrieval.citation_priors import LIKENESS, POPULARITY
from citewell.retrieval.dense import DenseRetriever

# Cited works as separate vectors in a back end.
#
# The retriever of citations blends likeness and popularity, which every such work has, with the
# votes of passages and lists, which few works get and the client knows. A text vector with one more
# component for the popularity has likeness and popularity as its dot product with the query; the
# best of these, together with the works with votes, contain the best of the blend.

CITED_FROM = 400_000
"""Number of cited works below which all are compared: a million takes 8.5 ms of a processor, and a
search over a graph about 3 ms."""


class CitedWorks:
    """The cited works of a library."""

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
        """The vectors of works with these title keys and dense vectors, shape (n, d + 1); zero for
        works without a known citation."""
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
    """The cited works of a library, if there are enough for separate vectors; else None. `encoder`
    is the fingerprint of the encoder of the dense vectors."""
    priors = library_priors(library, encoder, CITED_FROM)
    return None if priors is None else CitedWorks(priors)


_Postings = tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.uint8]
]  # as `Bm25Builder.postings` returns them
_BATCH = 2_000
"""Rows per write, repeated as a whole after a failure."""


class Written(msgspec.Struct, frozen=True):
    """The result of `write_library`."""

    works: int
    """Number of papers written."""
    removed: int
    points: int
    """Number of papers in the back end."""


class _Source(msgspec.Struct, frozen=True):
    """The library and its encoders."""

    library: Library
    dense: DenseRetriever
    cited: CitedWorks | None


def write_library(
    library: Library, dense: DenseRetriever, backend: Backend, progress: Callable[[int], None]
) -> Written:
    """Bring the back end to the library's state; `progress(n)` reports n more rows.

    The next run continues a killed one: points are replaced, never duplicated.
    """
    source = _Source(library, dense, cited_works(library, dense.encoder.fingerprint))
    wanted = _empty_state(dense, source.cited)
    state = backend.state() or wanted
    if state.dim != wanted.dim:
        message = f"The back end holds vectors of {state.dim} components, not {wanted.dim}."
        raise backend_error("backend-dimension", message)
    if not state.fits(wanted):
        raise backend_error("backend-version", "The back end was written with other weights.")
    backend.set_state(state)
    removed = _without_old(library, backend, state)
    state = backend.state() or state
    works = 0
    for use, view in zip(library.manifest.segments, library.own_segments, strict=True):
        listed = left_out(use)
        begin = state.segments.get(use.id, 0)
        before = state.left_out.get(use.id, listed)
        if begin == use.count and before == listed:
            continue
        if begin and view.dead is not None:
            gone = np.flatnonzero(view.dead[:begin])
            backend.delete(point_numbers(use.id, gone))
        if before.partition("/")[2] != listed.partition("/")[2]:
            begin = 0  # a quarantined row may be found again
        for start in range(begin, use.count, _BATCH):
            end = min(use.count, start + _BATCH)
            works += _write_rows(source, backend, view, np.arange(start, end))
            state = _with(state, use.id, end, listed)
            backend.set_state(state)
            progress(end - start)
        state = _with(state, use.id, use.count, listed)
        backend.set_state(state)
    backend.optimize()
    return Written(works, removed, backend.count())


def empty_state(library: Library, dense: DenseRetriever) -> State:
    """The state of a back end before the library with these vectors is written."""
    return _empty_state(dense, cited_works(library, dense.encoder.fingerprint))


def _empty_state(dense: DenseRetriever, cited: CitedWorks | None) -> State:
    encoder = dense.encoder
    return State(
        dim=encoder.dim, encoder=encoder.fingerprint, words=words_fingerprint(),
        cited="" if cited is None else cited.fingerprint,
    )  # fmt: skip


def words_fingerprint() -> str:
    """The fingerprint of the weights of words."""
    facts: dict[str, Any] = dict(Bm25Builder().fingerprint())
    return msgspec.json.encode(facts, order="sorted").decode()


def _with(state: State, segment: str, rows: int, listed: str) -> State:
    return msgspec.structs.replace(
        state,
        segments={**state.segments, segment: rows},
        left_out={**state.left_out, segment: listed},
    )


def _without_old(library: Library, backend: Backend, state: State) -> int:
    """Remove the segments that the library no longer has; return their number of rows."""
    known = {use.id for use in library.manifest.segments}
    old = {segment: rows for segment, rows in state.segments.items() if segment not in known}
    for segment, rows in old.items():
        for start in range(0, rows, _BATCH):
            some = np.arange(start, min(rows, start + _BATCH))
            backend.delete(point_numbers(segment, some))
    if old:
        segments = {one: rows for one, rows in state.segments.items() if one in known}
        listed = {one: rows for one, rows in state.left_out.items() if one in known}
        backend.set_state(msgspec.structs.replace(state, segments=segments, left_out=listed))
    return sum(old.values())


def _write_rows(
    source: _Source, backend: Backend, view: SegmentView, rows: NDArray[np.int64]
) -> int:
    if view.dead is not None:
        rows = rows[~view.dead[rows]]
    if not len(rows):
        return 0
    library, cited = source.library, source.cited
    works = library.records((rows + view.base).tolist(), Work)
    terms = TermNumbers()
    postings = Bm25Builder().postings(works, terms)
    vectors = source.dense.vectors(rows + view.base)
    keys = title_keys([work.title for work in works])
    backend.upsert(
        Batch(
            point_numbers(view.path.name, rows),
            vectors,
            list(_words_of(terms, postings, len(works))),
            list(payloads_of(works, library.columns().year[rows + view.base])),
            None if cited is None else cited.vectors(keys, vectors),
        )
    )  # fmt: skip
    return len(rows)


def _words_of(terms: TermNumbers, postings: _Postings, works: int) -> Iterator[TermWeights]:
    """The saturated frequency of each term in each of the works, without document frequency."""
    number, paper, weight, _ = postings
    hashes = np.array([term_hash(name) for name in terms.names()], np.uint32)
    order = np.argsort(paper, kind="stable")
    bounds = np.searchsorted(paper[order], np.arange(works + 1))
    for begin, end in itertools.pairwise(bounds):
        own = order[begin:end]
        # Two terms with the same hash count once.
        kept, first = np.unique(hashes[number[own]], return_index=True)
        yield TermWeights(kept, weight[own][first].astype(np.float32))
