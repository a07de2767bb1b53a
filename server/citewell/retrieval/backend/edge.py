"""Qdrant Edge as a back end: a folder opened by this process only.

All calls of `qdrant_edge`, which is a beta release, are in this module.
"""

from __future__ import annotations

import shutil
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError
from citewell.retrieval.attributes import YEAR, Between
from citewell.retrieval.backend.contract import (
    DENSE,
    HASHES,
    RETRACTED,
    STATE,
    WORDS,
    Batch,
    Condition,
    ScoredPoints,
    State,
    TermWeights,
    backend_error,
)

_CONFIG = "edge_config.json"
_CODED_FROM = 10_000
"""Kilobytes of vectors in a segment above which they are compared by 8-bit codes."""
_GRAPH_FROM = 100_000
"""Kilobytes of vectors above which a graph is searched (267,000 vectors of 192 components). Fewer
vectors, of all points or after a filter, are compared one by one: this is as fast, finds more, and
needs no graph with extra links for each frequent value of an indexed field."""
_COMPONENT_BYTES = 2
_LINKS, _BUILD_EXPANSION = 16, 100
"""Links of a point, and candidates kept for them: Qdrant's defaults."""
_EXPANSION = 512
"""Minimum number of candidates while the graph is walked."""
_open: weakref.WeakValueDictionary[Path, EdgeBackend] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class EdgeBackend:
    """`Backend` over one folder. See `open_edge`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._edge = _package()
        self._shard: Any = None
        if (folder / _CONFIG).is_file():
            with self._failing():
                self._shard = self._edge.EdgeShard.load(str(folder))

    def state(self) -> State | None:
        """The state; None if nothing was written yet."""
        if self._shard is None:
            return None
        with self._failing():
            found = self._shard.retrieve([STATE], with_payload=True, with_vector=False)
        if not found or not found[0].payload:
            return None
        try:
            return msgspec.json.decode(found[0].payload["state"], type=State)
        except (KeyError, msgspec.DecodeError) as error:
            message = f"The state of the back end cannot be read: {error}."
            raise backend_error("backend-version", message) from None

    def set_state(self, state: State) -> None:
        """Store the state; the first call creates the folder."""
        edge = self._edge
        with self._failing():
            if self._shard is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                config = self._config(state, links=0)
                self._shard = edge.EdgeShard.create(str(self._folder), config)
                for name, schema in self._indexes().items():
                    index = edge.UpdateOperation.create_field_index(name, schema)
                    self._shard.update(index)
            payload = {"state": msgspec.json.encode(state).decode()}
            point = edge.Point(STATE, {}, payload)
            self._shard.update(edge.UpdateOperation.upsert_points([point]))
            self._shard.flush()

    def clear(self) -> None:
        """Remove the content of the folder."""
        with self._failing():
            if self._shard is not None:
                self._shard.close()
                self._shard = None
            shutil.rmtree(self._folder)

    def upsert(self, batch: Batch) -> None:
        """Write points, replacing existing ones."""
        edge = self._edge
        points = [edge.Point(*one) for one in batch.rows(edge.SparseVector)]
        with self._failing():
            self._shard.update(edge.UpdateOperation.upsert_points(points))

    def delete(self, points: NDArray[np.int64]) -> None:
        """Remove points; missing ones are ignored."""
        if len(points):
            with self._failing():
                operation = self._edge.UpdateOperation.delete_points(points.tolist())
                self._shard.update(operation)

    def optimize(self) -> None:
        """Merge the segments and build the inverted index, and a graph of many points."""
        state = self.state()
        with self._failing():
            if state is not None and self._lacks_graph(state.dim):
                self._shard.close()
                config = self._config(state, links=_LINKS)
                self._shard = self._edge.EdgeShard.load(str(self._folder), config)
            self._shard.optimize()
            self._shard.flush()

    def _lacks_graph(self, dim: int) -> bool:
        config = msgspec.json.decode((self._folder / _CONFIG).read_bytes())
        is_large = self.count() * dim * _COMPONENT_BYTES >= _GRAPH_FROM * 1024
        return is_large and not config["hnsw_config"]["m"]

    def count(self) -> int:
        """Number of points, without the one of the state."""
        if self._shard is None:
            return 0
        with self._failing():
            return int(self._shard.count(self._edge.CountRequest())) - 1

    def nearest(
        self, vector: NDArray[np.float32], k: int, where: Sequence[Condition] = (),
        using: str = DENSE,
    ) -> ScoredPoints:  # fmt: skip
        """About `k` points that meet all conditions, with the greatest dot products with the dense
        vectors of this name."""
        edge = self._edge
        query = edge.Query.Nearest(vector.tolist(), using)
        params = edge.SearchParams(hnsw_ef=max(_EXPANSION, 4 * k))
        return self._query(
            edge.QueryRequest(limit=k, query=query, params=params, filter=self._filter(where))
        )

    def weighted(self, terms: TermWeights, k: int, where: Sequence[Condition] = ()) -> ScoredPoints:
        """The `k` points that meet all conditions, with the greatest sums of products of
        weights."""
        edge = self._edge
        sparse = edge.SparseVector(terms.hashes.tolist(), terms.weights.tolist())
        query = edge.Query.Nearest(sparse, WORDS)
        return self._query(edge.QueryRequest(limit=k, query=query, filter=self._filter(where)))

    def snapshot(self, into: Path) -> Path:
        """Copy the folder after a flush; the copy can be opened directly."""
        written = into / self._folder.name
        if written.exists():
            raise occupied(written)
        with self._failing():
            self._shard.flush()
        return Path(shutil.copytree(self._folder, written))

    def _query(self, request: Any) -> ScoredPoints:
        with self._failing():
            hits = self._shard.query(request)
            points = np.array([hit.id for hit in hits], np.int64)
            return ScoredPoints(points, np.array([hit.score for hit in hits], np.float32))

    def _filter(self, where: Sequence[Condition]) -> Any:
        return self._edge.Filter(must=[self._condition(one) for one in where]) if where else None

    def _condition(self, one: Condition) -> Any:
        edge = self._edge
        if isinstance(one, Between):
            between = edge.RangeFloat(gte=one.least, lte=one.most)
            return edge.FieldCondition(one.field, range=between)
        return edge.FieldCondition(one.field, match=edge.MatchAny(list(one.numbers)))

    def _indexes(self) -> dict[str, Any]:
        """The indexes of fields, by name."""
        edge = self._edge
        cold = edge.Memory.Cold
        hashes = edge.IntegerIndexParams(lookup=True, range=False, memory=cold)
        return {
            YEAR: edge.IntegerIndexParams(lookup=False, range=True, memory=cold),
            **dict.fromkeys(HASHES, hashes),
            RETRACTED: edge.BoolIndexParams(memory=cold),
        }

    def _config(self, state: State, links: int) -> Any:
        edge = self._edge
        codes = edge.ScalarQuantizationConfig(
            type=edge.ScalarType.Int8, quantile=1.0, memory=edge.Memory.Pinned
        )
        vectors = {
            name: edge.EdgeVectorParams(
                size=size,
                distance=edge.Distance.Dot,
                datatype=edge.VectorStorageDatatype.Float16,
                memory=edge.Memory.Cold,
                quantization_config=codes,
            )
            for name, size in state.vectors().items()
        }
        return edge.EdgeConfig(
            vectors=vectors,
            sparse_vectors={WORDS: edge.EdgeSparseVectorParams()},
            hnsw_config=edge.HnswIndexConfig(links, _BUILD_EXPANSION, _GRAPH_FROM),
            payload_memory=edge.Memory.Cold,
            optimizers=edge.EdgeOptimizersConfig(
                default_segment_number=1, indexing_threshold=_CODED_FROM
            ),
        )

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn the library's exceptions, which have no classes, into problems."""
        try:
            yield
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            if "WouldBlock" in text:
                message = f"Another program has the folder {self._folder} open."
                raise backend_error("backend-locked", message) from None
            if "dimension" in text:
                message = f"The vectors of {self._folder} have another length: {text}."
                raise backend_error("backend-dimension", message) from None
            message = f"The back end {self._folder} was not searched: {text}."
            raise backend_error("backend-failed", message) from error


def open_edge(folder: Path) -> EdgeBackend:
    """The back end in a folder, opened once in a process. Raises `CitewellError`."""
    folder = folder.expanduser().resolve()
    with _lock:
        found = _open.get(folder)
        if found is None:
            found = _open[folder] = EdgeBackend(folder)
        return found


def snapshot_at(path: Path) -> Path:
    """The folder of a snapshot: `path`, or the only one in it, as written by `snapshot`. Raises
    `CitewellError` if there is none."""
    found = [folder for folder in (path, *path.glob("*/")) if (folder / _CONFIG).is_file()]
    if len(found) == 1 or (found and found[0] == path):
        return found[0]
    what = "several snapshots" if found else "no snapshot of an Edge folder"
    raise backend_error("backend-snapshot", f"{path} holds {what}.")


def occupied(path: Path) -> CitewellError:
    """The exception for an occupied path."""
    return backend_error("backend-occupied", f"{path} exists already.")


def _package() -> Any:
    try:
        import qdrant_edge
    except ImportError:
        message = "A folder of Qdrant Edge needs a package that is not installed."
        raise backend_error("backend-not-installed", message) from None
    return qdrant_edge
