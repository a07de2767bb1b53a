"""Vector search: exact up to sixteen million papers, over a graph above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import load_table
from citewell.corpus.contract import SegmentView
from citewell.corpus.errors import unreadable_index
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

# The vectors of a compact segment: product-quantised (Jegou et al. 2011), decoded when read.
#
# The components of a vector are divided into groups. For each group the nearest of 256 centroids is
# stored: one byte for four or five components. The codes of one group are adjacent.

CODES, CENTROIDS, SIZES, COMPACT_SHRINK = "codes.npy", "centroids.zst", "groups.zst", "shrink.zst"
CODEWORDS = 256
DECODE_FROM = 16
"""Number of queries from which decoding the rows is faster."""
_FIRST = 0.4
"""Share of the groups in the first comparison of all rows."""
_KEPT = 12
"""Number of rows kept by the first comparison for each one compared by all groups. In 60 queries
over 360,461 papers, all of the 200 nearest were kept; none of the 20 nearest ranked below 1,700 by
the first groups."""
_LEAST_KEPT = 40
"""Minimum number of rows kept for each one requested."""
_SAMPLE = 16
"""Rows for each one of the sample that estimates the lowest score of the kept ones."""
_CODES_STRIPE = 65_536
"""Rows between two checks of the cancellation."""


class CompactVectors:
    """A replacement of an ordinary index's int8 array that decodes on indexing."""

    dtype = np.dtype(np.int8)

    def __init__(self, folder: Path) -> None:
        """Raises `OSError` or `ValueError`."""
        self._codes: NDArray[np.uint8] = open_array(folder / CODES)
        sizes = load_table(folder / SIZES).astype(np.int64)
        self._centroids: NDArray[np.int8] = load_table(folder / CENTROIDS)
        if self._codes.dtype != np.uint8 or self._codes.shape[:1] != sizes.shape:
            raise ValueError("the codes do not belong to the groups")
        dim = int(sizes.sum())
        if self._centroids.shape != (CODEWORDS, dim) or self._centroids.dtype != np.int8:
            raise ValueError("the centroids do not belong to the groups")
        self.shape: tuple[int, int] = (self._codes.shape[1], dim)
        ends = np.cumsum(sizes)
        self._begins = ends - sizes
        self._parts = [slice(int(e - s), int(e)) for s, e in zip(sizes, ends, strict=True)]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[np.int8]:
        """Rows by a slice or an array of numbers, shape (n, dim)."""
        codes = np.asarray(self._codes[:, rows])
        out = np.empty((codes.shape[1], self.shape[1]), np.int8)
        for own, part in zip(codes, self._parts, strict=True):
            out[:, part] = self._centroids[:, part][own]
        return out

    def products(self, queries: NDArray[np.int8], begin: int, end: int) -> NDArray[np.float32]:
        """Dot products of queries with the rows [begin, end), shape (queries, rows).

        For each group of components, the products with the 256 centroids are tabulated in 8 bits,
        and a row's codes look up their sum, without decoding. The error is about a thousandth of a
        cosine. Many queries at once share the decoded rows.
        """
        if len(queries) >= DECODE_FROM:
            return dot_products(queries, self[begin:end])
        out = np.empty((len(queries), end - begin), np.float32)
        for at, query in enumerate(queries):
            table = self._table(query)
            out[at] = table.products(self._look_up(table, table.order, slice(begin, end)))
        return out

    def nearest_products(
        self,
        query: NDArray[np.int8],
        shrink: NDArray[np.float32],
        count: int,
        allowed: NDArray[np.bool_] | None,
        cancel: Cancel,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows that may be among the `count` of greatest cosines, ascending, and their dot products
        with a query, as in `products`.

        The groups with the greatest variance of the query's products decide which rows are also
        compared by the others. `shrink` is one over the length of each row. Rows outside `allowed`
        are left out.
        """
        table = self._table(query)
        pool = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        kept = max(len(pool) // _KEPT, _LEAST_KEPT * count)
        if 2 * kept >= len(pool):
            return pool, table.products(self._look_up(table, table.order, pool))
        first = table.order[: round(_FIRST * len(table.order))]
        rest = table.order[len(first) :]
        total = np.empty(len(self), np.uint16)
        for begin in range(0, len(self), _CODES_STRIPE):
            cancel.check()
            stripe = slice(begin, min(begin + _CODES_STRIPE, len(self)))
            total[stripe] = self._look_up(table, first, stripe)
        likeness = table.products(total + np.uint16(table.codes[rest].mean(axis=1).sum()))
        likeness *= shrink
        sample = likeness[pool[::_SAMPLE]]
        place = len(sample) - 1 - kept // _SAMPLE
        least = np.partition(sample, place)[place]
        near = likeness >= least
        if allowed is not None:
            near &= allowed
        rows = np.flatnonzero(near)
        cancel.check()
        return rows, table.products(total[rows] + self._look_up(table, rest, rows))

    def _table(self, query: NDArray[np.int8]) -> _Table:
        products = self._centroids.astype(np.float32) * query.astype(np.float32)
        sums = np.add.reduceat(products, self._begins, axis=1).T
        least = sums.min(axis=1, keepdims=True)
        step = max(float((sums - least).max()), 1e-9) / 255
        codes = np.rint((sums - least) / step).astype(np.uint8)
        order = np.argsort(-codes.std(axis=1), kind="stable")
        return _Table(codes, step, float(least.sum()), order)

    def _look_up(self, table: _Table, groups: NDArray[np.int64], rows: Any) -> NDArray[np.uint16]:
        """The sum of the tabulated products of some groups, by row."""
        total = None
        for group in groups:
            # `translate` looks up bytes in half of the time of an array.
            found = self._codes[group][rows].tobytes().translate(table.codes[group].tobytes())
            values = np.frombuffer(found, np.uint8)
            if total is None:
                total = values.astype(np.uint16)
            else:
                total += values
        assert total is not None
        return total


class _Table(NamedTuple):
    """The products of a query with the centroids, in 8 bits."""

    codes: NDArray[np.uint8]
    """Shape (groups, 256)."""
    step: float
    least: float
    order: NDArray[np.int64]
    """The groups, in descending order of the variance of their products."""

    def products(self, total: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Dot products from sums of codes."""
        return total * np.float32(self.step) + np.float32(self.least)


def lengths(folder: Path) -> NDArray[np.float32]:
    """One over each decoded row's length, shape (rows,)."""
    shrink: NDArray[np.float32] = load_table(folder / COMPACT_SHRINK).astype(np.float32)
    return shrink


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
            raise unreadable_index("The dense index", error, folder) from error

    def products(self, queries: NDArray[np.int8], begin: int, end: int) -> NDArray[np.float32]:
        """Dot products of queries with the rows [begin, end), shape (queries, rows)."""
        if isinstance(self.vectors, CompactVectors):
            return self.vectors.products(queries, begin, end)
        return dot_products(queries, self.vectors[begin:end])

    def nearest_products(
        self, query: NDArray[np.int8], k: int, mask: NDArray[np.bool_] | None, cancel: Cancel
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """For compact vectors, the rows that may be among the nearest `k`, and their products."""
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
        # Compact vectors are looked up by the interpreter.
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
