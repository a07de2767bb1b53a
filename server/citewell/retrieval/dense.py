"""Vector search: exact up to sixteen million papers, over a graph above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, mapped_arrays
from citewell.corpus.compact.codec import load_table
from citewell.corpus.errors import unreadable_index
from citewell.corpus.layout import SegmentView
from citewell.corpus.library import Library
from citewell.model import CitewellError, Evidence, Problem, Query
from citewell.model.cancel import Cancel
from citewell.retrieval.arrays import open_array
from citewell.retrieval.contract import Mask, Ranking, Retriever
from citewell.retrieval.dense_build import GRAPH, SHRINK, VECTORS, quantise
from citewell.retrieval.encoders.contract import Encoder
from citewell.retrieval.encoders.registry import further_name, load_encoder
from citewell.retrieval.opening import Opening
from citewell.retrieval.scan import dot_products, usearch_index
from citewell.retrieval.select import BestRows

# The vectors of a compact segment: product-quantised (Jegou et al. 2011).
#
# The components of a vector are divided into groups. For each group the nearest of 256 centroids is
# stored: one byte for four or five components. The codes of one group are adjacent. They are
# decoded once, since comparing decoded vectors takes a third of the time.

CODES, CENTROIDS, SIZES, COMPACT_SHRINK = "codes.npy", "centroids.zst", "groups.zst", "shrink.zst"
CODEWORDS = 256


def compact_arrays(folder: Path) -> Arrays:
    """The vectors of a compact segment, int8 of shape (rows, dim), and one over the length of each,
    shape (rows,), mapped from the cache. Raises `OSError` or `ValueError`."""
    # The lengths identify the vectors, and are read faster than the codes.
    facts = f"{(folder / CODES).stat().st_size}"
    sources = [folder / name for name in (CENTROIDS, SIZES, COMPACT_SHRINK)]
    return mapped_arrays("vectors-1", sources, partial(_decoded, folder), facts=facts)


def _decoded(folder: Path) -> Arrays:
    codes: NDArray[np.uint8] = open_array(folder / CODES)
    sizes = load_table(folder / SIZES).astype(np.int64)
    centroids: NDArray[np.int8] = load_table(folder / CENTROIDS)
    if codes.dtype != np.uint8 or codes.shape[:1] != sizes.shape:
        raise ValueError("the codes do not belong to the groups")
    if centroids.shape != (CODEWORDS, int(sizes.sum())) or centroids.dtype != np.int8:
        raise ValueError("the centroids do not belong to the groups")
    vectors = np.empty((codes.shape[1], centroids.shape[1]), np.int8)
    ends = np.cumsum(sizes)
    for begin in range(0, len(vectors), _STRIPE):
        stripe = slice(begin, begin + _STRIPE)
        for own, size, end in zip(codes, sizes, ends, strict=True):
            vectors[stripe, end - size : end] = centroids[:, end - size : end][own[stripe]]
    return {"vectors": vectors, "shrink": load_table(folder / COMPACT_SHRINK).astype(np.float32)}


_BATCH = 64
"""Number of queries that share one pass over the vectors."""
_STRIPE = 131_072
"""Rows between two checks of the cancellation."""


class _Segment:
    """One segment's vectors, mapped; several processes share the pages."""

    def __init__(self, view: SegmentView, dim: int, index: str) -> None:
        folder = view.index(index)
        self.base, self.count, self.dead = view.base, view.count, view.dead
        self.graph = None
        try:
            self.vectors: NDArray[np.int8]
            self.shrink: NDArray[np.float32]
            if (folder / CODES).is_file():
                arrays = compact_arrays(folder)
                self.vectors, self.shrink = arrays["vectors"], arrays["shrink"]
            else:
                self.vectors = open_array(folder / VECTORS)
                self.shrink = np.load(folder / SHRINK, allow_pickle=False)
            if self.vectors.dtype != np.int8 or self.vectors.shape != (view.count, dim):
                raise ValueError(f"expected {view.count} x {dim}, found {self.vectors.shape}")
            if self.shrink.shape != (view.count,):
                raise ValueError("the lengths do not belong to the vectors")
            if (folder / GRAPH).exists():
                self.graph = usearch_index().Index.restore(str(folder / GRAPH), view=True)
                if self.graph is None or len(self.graph) != view.count:
                    raise ValueError("the graph does not belong to the vectors")
        except (OSError, ValueError, RuntimeError) as error:
            raise unreadable_index("The dense index", error, folder) from error


class DenseRetriever(Retriever):
    """Cosine similarity between a query's vector and every paper's."""

    scans = True

    def __init__(
        self,
        segments: Sequence[SegmentView],
        encoder: Encoder,
        *,
        mask: Mask | None = None,
        name: str = "dense",
    ) -> None:
        """`name` is also the folder of the vectors in each segment."""
        self.name = name
        self.encoder = encoder
        self._segments = [_Segment(view, encoder.dim, name) for view in segments]
        self._mask = mask

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows; ties in row order. Empty for a query without a known word."""
        vector = self.encoder.encode_queries([query])
        cancel.check()
        return self._nearest(vector, [query], k, cancel)[0]

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        """The best `k` rows for each query; a batch shares the passes over the vectors."""
        found: list[Ranking] = []
        for begin in range(0, len(queries), _BATCH):
            cancel.check()
            batch = queries[begin : begin + _BATCH]
            found += self._nearest(self.encoder.encode_queries(batch), batch, k, cancel)
        return found

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The explanation: a vector covers title and abstract as a whole, so that no word can be
        named."""
        return Evidence(self.name, rank, score, ("title", "abstract"))

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The papers' vectors, of length 1, shape (len(rows), dim)."""
        out = np.zeros((len(rows), self.encoder.dim), np.float32)
        for segment in self._segments:
            here = (rows >= segment.base) & (rows < segment.base + segment.count)
            own = rows[here] - segment.base
            out[here] = segment.vectors[own].astype(np.float32) * segment.shrink[own, None]
        return out

    def coded(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """The papers' vectors as stored, of any length, shape (len(rows), dim)."""
        out = np.zeros((len(rows), self.encoder.dim), np.int8)
        for segment in self._segments:
            here = (rows >= segment.base) & (rows < segment.base + segment.count)
            out[here] = segment.vectors[rows[here] - segment.base]
        return out

    def exact(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Scores of some rows, equal to those of `search`, shape (len(rows),)."""
        coded = quantise(vector[None]).astype(np.float32)[0]
        length = float(np.linalg.norm(coded)) or 1.0
        return np.asarray(self.vectors(rows) @ coded / length, np.float32)

    def _nearest(
        self, vectors: NDArray[np.float32], queries: Sequence[Query], k: int, cancel: Cancel
    ) -> list[Ranking]:
        masks = [self._mask(query) if self._mask else None for query in queries]
        known = np.linalg.norm(vectors, axis=1) > 0
        # A graph cannot be walked under a filter, which may exclude all neighbours.
        scan_all = any(mask is not None for mask in masks)
        coded = quantise(vectors)
        length = np.linalg.norm(coded.astype(np.float32), axis=1)
        shrink = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        best = [BestRows(k if one else 0) for one in known]
        for segment in self._segments:
            cancel.check()
            if segment.graph is not None and not scan_all:
                _from_graph(segment, coded, best, k)
            else:
                for at, scores in _cosines(segment, coded, shrink, cancel):
                    for row, mask, own in zip(scores, masks, best, strict=True):
                        if mask is not None:
                            row[~mask[at : at + len(row)]] = -np.inf
                        own.add(at, row)
        return [Ranking(*one.best()) for one in best]


def open_dense(opening: Opening) -> DenseRetriever:
    """Open the library's vectors of the citation encoder. Raises `CitewellError` when they are
    missing or of another encoder."""
    return _open(opening, "dense", "citation")


def open_further(opening: Opening, encoder: str) -> DenseRetriever:
    """Open the library's vectors of a further encoder. Raises `CitewellError` when they are missing
    or of another version, or when the encoder cannot be loaded."""
    return _open(opening, further_name(encoder), encoder)


def check_vectors(library: Library, name: str, encoder: str) -> None:
    """Raise `CitewellError` if the index `name` does not contain the encoder's vectors. Loads
    nothing."""
    built = library.manifest.indexes.get(name)
    if built is not None and built.get("encoder") == encoder:
        return
    path = str(library.path)
    if encoder != "citation":
        message = f"The library has no vectors of the encoder {encoder!r}."
        hint = (
            "Run `citewell library build` to add them, or remove it from `retrieval.encoders`; "
            "the other retrievers answer."
        )
        raise CitewellError(Problem("encoder-mismatch", message, hint, path=path))
    if built is None:
        message = "The library has no dense vectors."
        hint = "Run `citewell library build`, or set `retrieval.dense` to false."
        raise CitewellError(Problem("dense-missing", message, hint, path=path))
    raise _mismatch(library, f"the encoder {built.get('encoder')!r}, not {encoder!r}")


def _open(opening: Opening, name: str, encoder_name: str) -> DenseRetriever:
    library = opening.library
    check_vectors(library, name, encoder_name)
    encoder = load_encoder(encoder_name)
    if library.manifest.indexes[name].get("weights") != encoder.fingerprint:
        raise _mismatch(library, f"another version of the encoder {encoder_name!r}")
    # A library below without these vectors is searched by the other retrievers only.
    segments = [
        view
        for facts, views in library.indexed(name)
        if facts is not None and facts.get("weights") == encoder.fingerprint
        for view in views
    ]
    return DenseRetriever(segments, encoder, mask=opening.mask, name=name)


def _mismatch(library: Library, origin: str) -> CitewellError:
    message = f"The library's dense vectors come from {origin}."
    hint = "Run `citewell library build` to rebuild them."
    return CitewellError(Problem("encoder-mismatch", message, hint, path=str(library.path)))


def _cosines(
    segment: _Segment, coded: NDArray[np.int8], shrink: NDArray[np.float32], cancel: Cancel
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Stripe by stripe, the first row and the cosines of the queries with its rows, shape (queries,
    rows); -inf for dead ones. `shrink` is one over the length of each query."""
    for begin in range(0, segment.count, _STRIPE):
        cancel.check()
        end = min(begin + _STRIPE, segment.count)
        scores = dot_products(coded, segment.vectors[begin:end])
        scores *= segment.shrink[begin:end]
        scores *= shrink[:, None]
        if segment.dead is not None:
            scores[:, segment.dead[begin:end]] = -np.inf
        yield segment.base + begin, scores


def _from_graph(
    segment: _Segment, coded: NDArray[np.int8], best: Sequence[BestRows], k: int
) -> None:
    """Add the exact scores of the rows that the graph proposes.

    Queries are scaled to length 1: usearch's half-precision kernels overflow above 65,504, which
    vectors of integer codes reach.
    """
    assert segment.graph is not None
    depth = min(segment.count, 2 * k)
    segment.graph.expansion_search = max(512, 2 * depth)
    for codes, own in zip(coded, best, strict=True):
        query = codes.astype(np.float32)
        query /= float(np.linalg.norm(query)) or 1.0
        rows = segment.graph.search(query, depth).keys.astype(np.int64)
        if segment.dead is not None:
            rows = rows[~segment.dead[rows]]
        products = segment.vectors[rows].astype(np.float32) @ query
        own.add_rows(segment.base + rows, products * segment.shrink[rows])
