"""Dot products of int8 vectors, by the machine's integer instructions if available."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.select import within

# The only importer of usearch and onnxruntime, in the order that does not crash.
#
# usearch 2.26.6 imported before onnxruntime or tokenizers segfaults the interpreter (Python 3.11 to
# 3.13 on Linux). Versions before 2.25, the supported ones, do not; the order is kept here too, and
# a test checks it in a separate process.


def usearch_index() -> Any:
    """The module `usearch.index`, imported after onnxruntime if that is installed."""
    if importlib.util.find_spec("onnxruntime") is not None:
        with contextlib.suppress(ImportError):
            importlib.import_module("onnxruntime")
    return importlib.import_module("usearch.index")


def onnxruntime() -> Any:
    """The module `onnxruntime`. Raises ImportError when it is not installed."""
    return importlib.import_module("onnxruntime")


_BLOCK = 8192
_CACHED = 512
"""Rows that fit into the processor's cache while they are multiplied."""
_CONVERT_FROM = 8
"""Number of queries from which a conversion to float32 and matrix multiplication are faster."""

_ROUNDING = 1e-5
"""Bound of the rounding error of sums in float32."""


def dot_products(queries: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Shape (queries, rows). By simsimd, which usearch also needs, or by numpy if simsimd cannot be
    loaded or many queries share the rows."""
    if not len(rows):
        return np.zeros((len(queries), 0), np.float32)
    if len(queries) >= _CONVERT_FROM:
        return dot_products_numpy(queries, rows)
    try:
        import simsimd
    except ImportError:
        return dot_products_numpy(queries, rows)
    return np.asarray(simsimd.cdist(queries, rows, "inner", out_dtype="f32"))


def dot_products_numpy(queries: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Dot products by numpy alone, shape (queries, rows)."""
    left = queries.astype(np.float32)
    out = np.empty((len(queries), len(rows)), np.float32)
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK].astype(np.float32)
        np.matmul(left, block.T, out=out[:, begin : begin + _BLOCK])
    return out


class CodedVectors:
    """Vectors as int8 of any scale, compared by direction: a quarter of the memory of float32."""

    def __init__(self, rows: NDArray[np.int8], scale: NDArray[np.float32] | None = None) -> None:
        """`scale` is the `scale` of `CodedVectors(rows)`, if known."""
        self._rows = rows
        self.scale = self._scales() if scale is None else scale
        """One over each row's length, shape (n,); 0 for a row of zeros."""

    def _scales(self) -> NDArray[np.float32]:
        out = np.zeros(len(self._rows), np.float32)
        for begin, block in self._blocks():
            length = np.linalg.norm(block, axis=1)
            part = out[begin : begin + len(block)]
            np.divide(1, length, out=part, where=length > 0)
        return out

    def __len__(self) -> int:
        return len(self._rows)

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Each row's cosine with a vector of length 1, shape (n,); 0 for a row of zeros."""
        out = np.empty(len(self._rows), np.float32)
        for begin, block in self._blocks():
            np.dot(block, vector, out=out[begin : begin + len(block)])
        out *= self.scale
        return out

    def approximate(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        """Each row's cosine with a vector of length 1, shape (n,), by integer instructions, and the
        maximum error: the vector is rounded to int8."""
        factor = float(np.abs(vector).max(initial=0)) / 127
        if not factor:
            return np.zeros(len(self._rows), np.float32), 0.0
        coded = np.rint(vector / factor).astype(np.int8)
        out = dot_products(coded[None], self._rows)[0]
        out *= self.scale
        out *= np.float32(factor)
        # The rows have length 1: no cosine is off by more than the vector.
        lost = float(np.linalg.norm(vector - factor * coded.astype(np.float32)))
        return out, lost + _ROUNDING

    def exact(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosines of some rows, shape (len(rows),)."""
        found = self._rows[rows].astype(np.float32) @ vector
        return np.asarray(found * self.scale[rows], np.float32)

    def nearest(
        self, vector: NDArray[np.float32], count: int, excluded: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `count` rows with the greatest cosines, unordered, and these cosines: candidates by
        the rounded vector are computed exactly."""
        likeness, error = self.approximate(vector)
        if excluded is not None:
            likeness[excluded] = -np.inf
        rows = within(likeness, count, 2 * error)
        cosines = self.exact(vector, rows)
        if len(rows) > count:
            best = np.argpartition(-cosines, count - 1)[:count]
            rows, cosines = rows[best], cosines[best]
        return rows, cosines

    def _blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        buffer = np.empty((_CACHED, self._rows.shape[1]), np.float32)
        for begin in range(0, len(self._rows), _CACHED):
            rows = self._rows[begin : begin + _CACHED]
            block = buffer[: len(rows)]
            block[:] = rows
            yield begin, block


class PlainVectors:
    """Vectors of length 1 as float32, with the interface of `CodedVectors`."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self._rows = rows

    def approximate(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        """Each row's cosine with a vector of length 1, shape (n,), and the maximum error: none."""
        return np.asarray(self._rows @ vector, np.float32), 0.0

    def exact(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosines of some rows, shape (len(rows),)."""
        return np.asarray(self._rows[rows] @ vector, np.float32)
