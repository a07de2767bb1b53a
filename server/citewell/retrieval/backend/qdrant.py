"""A Qdrant server as a back end: the collection of an address, or the one that an alias names.

Requests are REST; the server gets hashes of words, vectors and numbers, never a text. All calls of
`qdrant_client` are in the modules whose names begin with `qdrant`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError
from citewell.retrieval.backend.contract import (
    CITED,
    DENSE,
    STATE,
    WORDS,
    Batch,
    Between,
    Condition,
    Found,
    State,
    Terms,
    backend_error,
)
from citewell.retrieval.backend.qdrant_faults import failing
from citewell.retrieval.backend.qdrant_snapshots import download
from citewell.retrieval.backend.server_address import ServerAddress

logger = logging.getLogger(__name__)
_EXPANSION = 512
"""Least number of candidates kept while the graph is walked."""
_POINTS = 500
"""Points in one request: about 3 MB of the 32 that a server accepts by default."""
_LOOK_SECONDS = 1.0
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
"""Pauses before what could not be written is sent again."""
_PASSING = ("backend-late", "backend-unreachable")


class QdrantBackend:
    """`Backend` over one collection."""

    def __init__(
        self, address: ServerAddress, client: Any, seconds: float, collection: str = ""
    ) -> None:
        """`seconds` is what the server may take for a query; `collection` is the one to use where
        it is not that of the address."""
        self.address = address
        self.client = client
        self.collection = collection or address.collection
        self._seconds = max(1, round(seconds))
        from qdrant_client import models

        self._models = models

    def state(self) -> State | None:
        """None where nothing was written yet. Raises for a missing collection, too."""
        with failing(self.address):
            found = self.client.retrieve(
                self.collection, [STATE], with_payload=True, with_vectors=False
            )
        if not found or not found[0].payload:
            return None
        try:
            return msgspec.json.decode(found[0].payload["state"], type=State)
        except (KeyError, TypeError, msgspec.DecodeError) as error:
            message = f"The state of {self.address} cannot be read: {error}."
            raise backend_error("backend-version", message) from None

    def set_state(self, state: State) -> None:
        """Keep the state, which the server confirms."""
        payload = {"state": msgspec.json.encode(state).decode()}
        self._upsert([self._models.PointStruct(id=STATE, vector={}, payload=payload)])

    def upsert(self, batch: Batch) -> None:
        """Write points; one that is there is replaced."""
        models = self._models
        points = []
        for number, dense, words, payload, cited in zip(
            batch.points.tolist(), batch.dense, batch.words, batch.payloads, batch.cited_rows,
            strict=True,
        ):  # fmt: skip
            vector: dict[str, Any] = {}
            if dense.any():
                vector[DENSE] = dense.tolist()
            if cited.any():
                vector[CITED] = cited.tolist()
            if len(words.hashes):
                vector[WORDS] = models.SparseVector(
                    indices=words.hashes.tolist(), values=words.weights.tolist()
                )
            points.append(models.PointStruct(id=number, vector=vector, payload=payload))
        for start in range(0, len(points), _POINTS):
            self._upsert(points[start : start + _POINTS])

    def delete(self, points: NDArray[np.int64]) -> None:
        """Remove points, if they are there."""
        if len(points):
            chosen = self._models.PointIdsList(points=points.tolist())
            self._send(lambda: self.client.delete(self.collection, chosen, wait=True))

    def optimize(self) -> None:
        """Wait until the server has built its indexes, which it does on its own."""
        busy = self._models.CollectionStatus.YELLOW
        while True:
            with failing(self.address):
                if self.client.get_collection(self.collection).status != busy:
                    return
            time.sleep(_LOOK_SECONDS)

    def count(self) -> int:
        """Number of points, without that of the state."""
        with failing(self.address):
            return max(0, int(self.client.count(self.collection, exact=True).count) - 1)

    def nearest(
        self, vector: NDArray[np.float32], k: int, where: Sequence[Condition] = (),
        using: str = DENSE,
    ) -> Found:  # fmt: skip
        """The points with the greatest dot product of those that meet all conditions, about `k`, by
        the dense vectors of this name."""
        params = self._models.SearchParams(hnsw_ef=max(_EXPANSION, 2 * k))
        return self._query(vector.tolist(), using, k, where, params)

    def weighted(self, terms: Terms, k: int, where: Sequence[Condition] = ()) -> Found:
        """The `k` points with the greatest sum of products of weights of those that meet all
        conditions."""
        sparse = self._models.SparseVector(
            indices=terms.hashes.tolist(), values=terms.weights.tolist()
        )
        return self._query(sparse, WORDS, k, where)

    def snapshot(self, into: Path) -> Path:
        """Download a snapshot into the folder; the file."""
        with failing(self.address):
            aliases = self.client.get_aliases().aliases
        # A server keeps snapshots under the name of the collection.
        names = {one.alias_name: one.collection_name for one in aliases}
        name = names.get(self.collection, self.collection)
        return download(self.address, self.client, name, into)

    def _query(
        self, query: Any, using: str, k: int, where: Sequence[Condition], params: Any = None
    ) -> Found:
        with failing(self.address):
            hits = self.client.query_points(
                self.collection, query=query, using=using, limit=k, search_params=params,
                query_filter=self._filter(where),
                with_payload=False, with_vectors=False, timeout=self._seconds,
            ).points  # fmt: skip
        points = np.array([hit.id for hit in hits], np.int64)
        return Found(points, np.array([hit.score for hit in hits], np.float32))

    def _filter(self, where: Sequence[Condition]) -> Any:
        conditions = [self._condition(one) for one in where]
        return self._models.Filter(must=conditions) if where else None

    def _condition(self, one: Condition) -> Any:
        models = self._models
        if isinstance(one, Between):
            between = models.Range(gte=one.least, lte=one.most)
            return models.FieldCondition(key=one.field, range=between)
        match = models.MatchAny(any=list(one.numbers))
        return models.FieldCondition(key=one.field, match=match)

    def _upsert(self, points: Sequence[Any]) -> None:
        self._send(lambda: self.client.upsert(self.collection, points, wait=True))

    def _send(self, write: Callable[[], Any]) -> None:
        """Write, again where the server was away or late: hours of writing outlive a restart."""
        for pause in (*RETRY_SECONDS, None):
            try:
                with failing(self.address):
                    write()
                return
            except CitewellError as error:
                if pause is None or error.problem.code not in _PASSING:
                    raise
                logger.info("%s; sent again in %s s", error.problem.message, pause)
                time.sleep(pause)
