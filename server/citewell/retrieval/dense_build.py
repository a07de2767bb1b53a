"""Builds the vectors of a segment in chunks, so that a slow encoder's work survives a kill."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.model import Work
from citewell.retrieval.arrays import flush, new_array, open_array, save_array
from citewell.retrieval.encoders.contract import Encoder
from citewell.retrieval.scan import usearch_index

FORMAT = 1
HNSW_ABOVE = 16_000_000
"""Number of papers in one segment above which a graph is built. An exact scan of 3 million x 192
takes 31 to 40 ms of one core; the graph takes 24 to 36 ms for the best 400 (.99 of the right ones),
an hour of processor time to build, and three times the memory."""
CHUNK, SLOW_CHUNK = 2048, 64
"""Works between two reports of progress; every 16 chunks are safe from a kill."""
READS_ALL = "reads_all"
"""Fact of an index whose works a slow reader has read."""
VECTORS, SHRINK, GRAPH = "vectors.npy", "shrink.npy", "graph.usearch"


class KnownVectors(Protocol):
    """Vectors of works from elsewhere."""

    def of(self, works: Sequence[Work]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """The indices of the works with a vector, and their vectors, of any length."""
        ...


class DenseBuilder:
    """Writes one segment's vectors as int8, and a graph over them when there are very many.

    A vector is scaled by its greatest component, so that rows are compared by cosine only.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        name: str = "dense",
        hnsw_above: int = HNSW_ABOVE,
        chunk: int = CHUNK,
        threads: int = 0,
        known: Callable[[], KnownVectors | None] | None = None,
        read: Callable[[Sequence[Work]], NDArray[np.float32]] | None = None,
    ) -> None:
        """`known` opens better vectors of some works than the encoder's, and `read` computes such
        vectors slowly: for all other works if `reads_all` is set. `threads` is the number of
        threads that add papers to a graph, 0: one a core. One thread always gives the same graph;
        several give another one in each build."""
        self.name = name
        self.encoder = encoder
        self.hnsw_above = hnsw_above
        self._chunk = chunk
        self._threads = threads
        self._known = known
        self._read = read
        self.reads_all = False

    def fingerprint(self) -> Mapping[str, Any]:
        """Format, encoder and its weights."""
        facts = {
            "format": FORMAT,
            "encoder": self.encoder.name,
            "weights": self.encoder.fingerprint,
            "dim": self.encoder.dim,
            "hnsw_above": self.hnsw_above,
        }
        return {**facts, READS_ALL: True} if self.reads_all else facts

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write the index; resumes where an interrupted build stopped."""
        part, state = into / "vectors.part", into / "state.json"
        identity = json.dumps({**self.fingerprint(), "count": count}, sort_keys=True)
        shape = (count, self.encoder.dim)
        vectors, done = _begin(state, part, identity, shape)
        progress(done)
        known = None if self._known is None else self._known()
        iterator = islice(works(), done, None)
        size = SLOW_CHUNK if self.reads_all else self._chunk
        while chunk := list(islice(iterator, size)):
            if done + len(chunk) > count:
                raise ValueError(f"{count} works were announced and more came")
            vectors[done : done + len(chunk)] = self._coded(chunk, known)
            done += len(chunk)
            if done % (size * 16) == 0:
                flush(vectors)
                _write_state(state, identity, done)
            progress(len(chunk))
        if done != count:
            raise ValueError(f"{count} works were announced and {done} came")
        if count > self.hnsw_above:
            _build_graph(vectors, into / GRAPH, self._threads)
        else:
            (into / GRAPH).unlink(missing_ok=True)
        save_array(into / SHRINK, _shrink(vectors))
        flush(vectors)
        del vectors  # Windows cannot rename a mapped file
        part.replace(into / VECTORS)
        state.unlink(missing_ok=True)

    def _coded(self, chunk: Sequence[Work], known: KnownVectors | None) -> NDArray[np.int8]:
        coded = np.zeros((len(chunk), self.encoder.dim), np.int8)
        missing = np.ones(len(chunk), np.bool_)
        if known is not None:
            places, better = known.of(chunk)
            coded[places] = better
            missing[places] = False
        rest = [work for work, left in zip(chunk, missing.tolist(), strict=True) if left]
        if rest and self._read is not None and self.reads_all:
            coded[missing] = quantise(self._read(rest))
        elif rest:
            papers = [(work.title, work.abstract) for work in rest]
            coded[missing] = quantise(self.encoder.encode_papers(papers))
        return coded


def quantise(rows: NDArray[np.float32]) -> NDArray[np.int8]:
    """Rows as int8, each scaled so that its greatest component is 127; zeros stay zeros."""
    greatest = np.abs(rows).max(axis=1, keepdims=True)
    scale = np.divide(127.0, greatest, out=np.zeros_like(greatest), where=greatest > 0)
    coded: NDArray[np.int8] = np.rint(rows * scale).astype(np.int8)
    return coded


def _shrink(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    """One over each row's length, 0 for a row of zeros: turns dot products into cosines."""
    out = np.zeros(len(vectors), np.float32)
    for begin in range(0, len(vectors), 65_536):
        block = vectors[begin : begin + 65_536].astype(np.float32)
        length = np.sqrt(np.einsum("ij,ij->i", block, block))
        np.divide(1.0, length, out=out[begin : begin + 65_536], where=length > 0)
    return out


def _begin(
    state: Path, part: Path, identity: str, shape: tuple[int, int]
) -> tuple[NDArray[np.int8], int]:
    """The vectors, and how many were written by a killed build of the same encoder and works."""
    try:
        found = json.loads(state.read_text(encoding="utf-8"))
        if found["identity"] == identity:
            vectors = open_array(part, write=True)
            if vectors.shape == shape and vectors.dtype == np.int8:
                return vectors, int(found["done"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    state.unlink(missing_ok=True)
    return new_array(part, np.int8, shape), 0


def _write_state(state: Path, identity: str, done: int) -> None:
    fresh = state.with_suffix(".new")
    fresh.write_text(json.dumps({"identity": identity, "done": done}), encoding="utf-8")
    fresh.replace(state)


def _build_graph(vectors: NDArray[np.int8], path: Path, threads: int) -> None:
    """HNSW (Malkov and Yashunin 2018) over half-precision copies: over int8, its recall is .92."""
    usearch = usearch_index()
    index = usearch.Index(
        ndim=vectors.shape[1], metric="cos", dtype="f16", connectivity=16, expansion_add=128
    )
    for begin in range(0, len(vectors), 65_536):
        block = vectors[begin : begin + 65_536].astype(np.float32)
        block /= np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-9)
        index.add(np.arange(begin, begin + len(block)), block, threads=threads)
    index.save(str(path))
