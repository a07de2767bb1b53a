"""Searches vectors: exactly up to sixteen million papers, over a graph above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.contract import SegmentView
from citewell.corpus.library import Library
from citewell.model import CitewellError, Evidence, Problem, Query
from citewell.model.cancel import Cancel
from citewell.retrieval.arrays import open_array
from citewell.retrieval.compact_vectors import CODES, DECODE_FROM, CompactVectors, lengths
from citewell.retrieval.contract import Mask, Ranking, Retriever
from citewell.retrieval.dense_build import GRAPH, SHRINK, VECTORS, quantise
from citewell.retrieval.encoders.contract import Encoder
from citewell.retrieval.encoders.naming import further_name
from citewell.retrieval.encoders.registry import load_encoder
from citewell.retrieval.opening import Opening
from citewell.retrieval.scan import dot_products
from citewell.retrieval.select import BestRows
from citewell.retrieval.vectors import usearch_index

_BATCH = 64
"""Queries that share one pass over the vectors."""
_STRIPE = 131_072
"""Rows between two looks at the cancel."""


class _Segment:
    """One segment's vectors, mapped; several processes share the pages."""

    def __init__(self, view: SegmentView, dim: int, index: str) -> None:
        folder = view.index(index)
        self.base, self.count, self.dead = view.base, view.count, view.dead
        self.graph = None
        try:
            compact = (folder / CODES).is_file()
            self.vectors: NDArray[np.int8] | CompactVectors
            self.vectors = CompactVectors(folder) if compact else open_array(folder / VECTORS)
            if self.vectors.dtype != np.int8 or self.vectors.shape != (view.count, dim):
                raise ValueError(f"expected {view.count} x {dim}, found {self.vectors.shape}")
            self.shrink: NDArray[np.float32] = (
                lengths(folder) if compact else np.load(folder / SHRINK, allow_pickle=False)
            )
            if self.shrink.shape != (view.count,):
                raise ValueError("the lengths do not belong to the vectors")
            if (folder / GRAPH).exists():
                self.graph = usearch_index().Index.restore(str(folder / GRAPH), view=True)
                if self.graph is None or len(self.graph) != view.count:
                    raise ValueError("the graph does not belong to the vectors")
        except (OSError, ValueError, RuntimeError) as error:
            raise CitewellError(
                Problem(
                    "index-unreadable",
                    f"The dense index cannot be read ({error}).",
                    "Run `citewell library build` to rebuild it.",
                    path=str(folder),
                )
            ) from error

    def products(self, queries: NDArray[np.int8], begin: int, end: int) -> NDArray[np.float32]:
        """Dot products of queries with the rows [begin, end), shape (queries, rows)."""
        if isinstance(self.vectors, CompactVectors):
            return self.vectors.products(queries, begin, end)
        return dot_products(queries, self.vectors[begin:end])

    def nearest_products(
        self, query: NDArray[np.int8], k: int, mask: NDArray[np.bool_] | None, cancel: Cancel
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Of compact vectors, the rows that may be among the nearest `k`, and their products."""
        assert isinstance(self.vectors, CompactVectors)
        allowed = None if mask is None else mask[self.base : self.base + self.count]
        if self.dead is not None:
            allowed = ~self.dead if allowed is None else allowed & ~self.dead
        return self.vectors.nearest_products(query, self.shrink, k, allowed, cancel)


class DenseRetriever(Retriever):
    """Cosine similarity between a query's vector and every paper's."""

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
        # Compact vectors are looked up by the interpreter itself.
        self.scans = any(not isinstance(one.vectors, CompactVectors) for one in self._segments)

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
        """A vector covers title and abstract as a whole: no single word can be named."""
        return Evidence(self.name, rank, score, ("title", "abstract"))

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The papers' vectors at length 1, shape (len(rows), dim)."""
        out = np.zeros((len(rows), self.encoder.dim), np.float32)
        for segment in self._segments:
            here = (rows >= segment.base) & (rows < segment.base + segment.count)
            own = rows[here] - segment.base
            out[here] = segment.vectors[own].astype(np.float32) * segment.shrink[own, None]
        return out

    def coded(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """The papers' vectors as they are stored, of any length, shape (len(rows), dim)."""
        out = np.zeros((len(rows), self.encoder.dim), np.int8)
        for segment in self._segments:
            here = (rows >= segment.base) & (rows < segment.base + segment.count)
            out[here] = segment.vectors[rows[here] - segment.base]
        return out

    def exact(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Scores of some rows as `search` gives them, shape (len(rows),)."""
        coded = quantise(vector[None]).astype(np.float32)[0]
        length = float(np.linalg.norm(coded)) or 1.0
        return np.asarray(self.vectors(rows) @ coded / length, np.float32)

    def _nearest(
        self, vectors: NDArray[np.float32], queries: Sequence[Query], k: int, cancel: Cancel
    ) -> list[Ranking]:
        masks = [self._mask(query) if self._mask else None for query in queries]
        known = np.linalg.norm(vectors, axis=1) > 0
        # A graph cannot be walked under a filter: its neighbours may all be left out.
        scan_all = any(mask is not None for mask in masks)
        coded = quantise(vectors)
        length = np.linalg.norm(coded.astype(np.float32), axis=1)
        shrink = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        best = [BestRows(k if one else 0) for one in known]
        for segment in self._segments:
            cancel.check()
            if segment.graph is not None and not scan_all:
                _from_graph(segment, coded, best, k)
            elif isinstance(segment.vectors, CompactVectors) and len(queries) < DECODE_FROM:
                for number, mask in enumerate(masks):
                    rows, products = segment.nearest_products(coded[number], k, mask, cancel)
                    products *= segment.shrink[rows] * shrink[number]
                    best[number].add_rows(segment.base + rows, products)
            else:
                for at, scores in _cosines(segment, coded, shrink, cancel):
                    for row, mask, own in zip(scores, masks, best, strict=True):
                        if mask is not None:
                            row[~mask[at : at + len(row)]] = -np.inf
                        own.add(at, row)
        return [Ranking(*one.best()) for one in best]


def open_dense(opening: Opening) -> DenseRetriever:
    """Over the library's vectors of the static encoder. Raises `CitewellError` when they are
    missing or not its own."""
    return _open(opening, "dense", "static")


def open_further(opening: Opening, encoder: str) -> DenseRetriever:
    """Over the library's vectors of an encoder beside the static one. Raises `CitewellError` when
    they are missing or of another version of it, or it cannot be loaded."""
    return _open(opening, further_name(encoder), encoder)


def check_vectors(library: Library, name: str, encoder: str) -> None:
    """Raise `CitewellError` where the index `name` does not hold the vectors of the encoder. Loads
    nothing."""
    built = library.manifest.indexes.get(name)
    if built is not None and built.get("encoder") == encoder:
        return
    if encoder != "static":
        raise _without(library, encoder)
    if built is None:
        raise _missing(library)
    raise _mismatch(library, f"the encoder {built.get('encoder')!r}, not {encoder!r}")


def _open(opening: Opening, name: str, encoder_name: str) -> DenseRetriever:
    library = opening.library
    check_vectors(library, name, encoder_name)
    encoder = load_encoder(encoder_name)
    if library.manifest.indexes[name].get("weights") != encoder.fingerprint:
        raise _mismatch(library, f"another version of the encoder {encoder_name!r}")
    # A library below without such vectors is searched by the other retrievers alone.
    segments = [
        view
        for facts, views in library.indexed(name)
        if facts is not None and facts.get("weights") == encoder.fingerprint
        for view in views
    ]
    return DenseRetriever(segments, encoder, mask=opening.mask, name=name)


def _missing(library: Library) -> CitewellError:
    return CitewellError(
        Problem(
            "dense-missing",
            "The library has no dense vectors.",
            "Run `citewell library build`, or set `retrieval.dense` to false.",
            path=str(library.path),
        )
    )


def _without(library: Library, encoder: str) -> CitewellError:
    return CitewellError(
        Problem(
            "encoder-mismatch",
            f"The library has no vectors of the encoder {encoder!r}.",
            "Run `citewell library build` to add them, or remove it from `retrieval.encoders`; "
            "the other retrievers answer.",
            path=str(library.path),
        )
    )


def _mismatch(library: Library, what: str) -> CitewellError:
    return CitewellError(
        Problem(
            "encoder-mismatch",
            f"The library's dense vectors come from {what}.",
            "Run `citewell library build` to rebuild them.",
            path=str(library.path),
        )
    )


def _cosines(
    segment: _Segment, coded: NDArray[np.int8], shrink: NDArray[np.float32], cancel: Cancel
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Stripe by stripe the first row and the cosines of the queries with its rows, shape (queries,
    rows); -inf for dead ones. `shrink` is one over the length of each query."""
    for begin in range(0, segment.count, _STRIPE):
        cancel.check()
        end = min(begin + _STRIPE, segment.count)
        scores = segment.products(coded, begin, end)
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
