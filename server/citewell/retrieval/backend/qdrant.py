"""A Qdrant server as a back end: the collection at an address, or the one behind its alias.

Requests are REST; the server gets hashes of words, vectors and numbers, never a text. Only the
modules with names that begin with `qdrant` call `qdrant_client`.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError
from citewell.model.display_text import visible
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
    ServerAddress,
    State,
    TermWeights,
    WriteTarget,
    backend_error,
)
from citewell.sources.web.keys import find_key

if TYPE_CHECKING:
    import httpx

# Problems of a Qdrant server.

_LATE = (408, 429, 502, 503, 504)
_SHOWN = 200
"""Maximum number of characters quoted from a server's message."""


@contextmanager
def failing(address: ServerAddress) -> Iterator[None]:
    """Turn the client's exceptions into a `CitewellError`. No message contains the key."""
    from httpx import HTTPError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        raise refused(address, error.status_code or 0, error.content) from None
    except ResourceExhaustedResponse:
        raise backend_error("backend-late", f"{address} has too much to do.") from None
    except ResponseHandlingException as error:
        raise _broken(address, error.source) from None
    except (HTTPError, ValueError) as error:
        raise _broken(address, error) from None


def refused(address: ServerAddress, status: int, content: bytes) -> CitewellError:
    """The exception for an answer other than 200."""
    words = _words_of(content)
    if status in (401, 403):
        return backend_error("backend-key", f"{address} refuses the key, or wants one: {words}.")
    if status == 404:
        return backend_error("backend-missing", f"The server has no collection {address}.")
    if status in _LATE:
        return backend_error("backend-late", f"{address} did not answer in time: {words}.")
    if "dimension" in words.lower():
        message = f"The vectors of {address} have another length: {words}."
        return backend_error("backend-dimension", message)
    return backend_error("backend-failed", f"{address} answered with {status}: {words}.")


def _broken(address: ServerAddress, source: Exception) -> CitewellError:
    from httpx import ConnectTimeout, HTTPError, TimeoutException

    if isinstance(source, TimeoutException) and not isinstance(source, ConnectTimeout):
        return backend_error("backend-late", f"{address} did not answer in time.")
    reason = visible(" ".join(str(source).split()))[:_SHOWN] or type(source).__name__
    if isinstance(source, HTTPError):
        message = f"{address} cannot be reached, or broke off: {reason}."
        return backend_error("backend-unreachable", message)
    return backend_error("backend-failed", f"{address.url} does not answer as Qdrant does.")


def _words_of(content: bytes) -> str:
    """The server's message, on one line."""
    try:
        status = json.loads(content)["status"]
        text = status["error"] if isinstance(status, dict) else str(status)
    except (ValueError, KeyError, TypeError):
        text = content.decode("utf-8", "replace")
    return (visible(" ".join(str(text).split()))[:_SHOWN] or "no reason given").rstrip(".")


# The clients of Qdrant servers, one for each server in a process.
#
# Importing `qdrant_client` takes a second.

KEY_VARIABLES = ("CITEWELL_QDRANT_KEY", "QDRANT_API_KEY")
KEY_NAME = "qdrant"
OLDEST = (1, 11)
"""The first version with indexes of integers on disk; float16 vectors and the query API came with
1.10, indexes of integers that only look up or only compare with 1.8, sparse vectors with 1.7."""
_clients: dict[tuple[object, ...], Any] = {}
_lock = threading.Lock()


def connect(address: ServerAddress, seconds: float) -> Any:
    """The client of a server with a supported version.

    `seconds` limits each request. Raises `CitewellError`.
    """
    headers = key_headers(address)
    named = (address.url, seconds, *headers.values())
    with _lock:
        client = _clients.get(named)
        if client is None:
            if not _clients:
                # A client cannot close its connection at the end of the interpreter.
                atexit.register(close_clients)
            client = _clients[named] = _client(address, seconds, headers)
    with failing(address):
        version = str(client.info().version)
    number = re.match(r"(\d+)\.(\d+)", version)
    if number is None or (int(number[1]), int(number[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        message = f"{address.url} is Qdrant {version}; version {wanted} or newer is needed."
        raise backend_error("backend-server", message)
    return client


def close_clients() -> None:
    """Close the connections to all servers; the next `connect` opens new ones."""
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
    for client in clients:
        client.close()


def key_headers(address: ServerAddress) -> dict[str, str]:
    """The header with the key, empty without one. Raises `CitewellError` if the key would be sent
    unencrypted over a network."""
    key = find_key(KEY_VARIABLES, KEY_NAME)
    if key is None:
        return {}
    if not address.tls and not address.is_local:
        message = f"The key of {key.origin} is not sent unencrypted to {address.host}."
        raise backend_error("backend-key", message)
    return {"api-key": key.value}


def _client(address: ServerAddress, seconds: float, headers: dict[str, str]) -> Any:
    try:
        import qdrant_client
    except ImportError:
        message = "A Qdrant server needs a package that is not installed."
        raise backend_error("backend-not-installed", message) from None
    # The key as a header: the client warns about unencrypted keys, which are checked above.
    return qdrant_client.QdrantClient(
        url=address.url, headers=headers, timeout=max(1, round(seconds)), prefer_grpc=False,
        check_compatibility=False, trust_env=not address.is_local,
    )  # fmt: skip


# Snapshots of a collection: downloaded from a server as one file, and uploaded.

WRITING_SECONDS = 60.0
"""Limit in seconds of each write request, and of each block of a file."""


def download(address: ServerAddress, client: Any, name: str, into: Path) -> Path:
    """Create a snapshot of a collection on the server, download it into the folder, and remove it
    from the server.

    Return the file. After a `CitewellError` or `OSError` the folder has no other file.
    """
    with failing(address):
        remote = client.collection_cluster_info(name).remote_shards
    if remote:
        message = f"{address} is spread over several servers; make a snapshot on each of them."
        raise backend_error("backend-failed", message)
    into.mkdir(parents=True, exist_ok=True)
    with failing(address), _http(address) as http:
        made = http.post(f"/collections/{name}/snapshots", params={"wait": "true"})
        if made.status_code != 200:
            raise refused(address, made.status_code, made.content)
        snapshot = Path(str(made.json()["result"]["name"])).name
        path = f"/collections/{name}/snapshots/{snapshot}"
        part, whole = into / f"{snapshot}.part", into / snapshot
        try:
            with http.stream("GET", path) as answer, part.open("wb") as file:
                if answer.status_code != 200:
                    raise refused(address, answer.status_code, answer.read())
                for block in answer.iter_bytes():
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            part.replace(whole)
        finally:
            part.unlink(missing_ok=True)
            http.delete(path)
    return whole


def upload(address: ServerAddress, name: str, file: Path) -> None:
    """Create a collection from a snapshot on the server. Raises `CitewellError` or `OSError`."""
    with failing(address), file.open("rb") as stream, _http(address) as http:
        answer = http.post(
            f"/collections/{name}/snapshots/upload",
            params={"priority": "snapshot", "wait": "true"},
            files={"snapshot": (file.name, stream)},
        )
        if answer.status_code != 200:
            raise refused(address, answer.status_code, answer.content)


def _http(address: ServerAddress) -> httpx.Client:
    """A client for whole files, which `qdrant_client` would read into memory."""
    import httpx

    timeout: Any = httpx.Timeout(WRITING_SECONDS, read=None)
    return httpx.Client(
        base_url=address.url, headers=key_headers(address), timeout=timeout,
        trust_env=not address.is_local,
    )  # fmt: skip


logger = logging.getLogger(__name__)
_EXPANSION = 512
"""Minimum number of candidates while the graph is walked."""
_POINTS = 500
"""Points in one request: about 3 MB of the 32 that a server accepts by default."""
_LOOK_SECONDS = 1.0
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
"""Pauses before retries of a failed write."""
_PASSING = ("backend-late", "backend-unreachable")


class QdrantBackend:
    """`Backend` over one collection."""

    def __init__(
        self, address: ServerAddress, client: Any, seconds: float, collection: str = ""
    ) -> None:
        """`seconds` limits a query on the server; `collection` overrides that of the address."""
        self.address = address
        self.client = client
        self.collection = collection or address.collection
        self._seconds = max(1, round(seconds))
        from qdrant_client import models

        self._models = models

    def state(self) -> State | None:
        """The state; None if nothing was written yet. Also raises for a missing collection."""
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
        """Store the state, confirmed by the server."""
        payload = {"state": msgspec.json.encode(state).decode()}
        self._upsert([self._models.PointStruct(id=STATE, vector={}, payload=payload)])

    def upsert(self, batch: Batch) -> None:
        """Write points, replacing existing ones."""
        models = self._models
        points = [
            models.PointStruct(id=number, vector=vectors, payload=payload)
            for number, vectors, payload in batch.rows(
                lambda hashes, weights: models.SparseVector(indices=hashes, values=weights)
            )
        ]
        for start in range(0, len(points), _POINTS):
            self._upsert(points[start : start + _POINTS])

    def delete(self, points: NDArray[np.int64]) -> None:
        """Remove points; missing ones are ignored."""
        if len(points):
            chosen = self._models.PointIdsList(points=points.tolist())
            self._send(lambda: self.client.delete(self.collection, chosen, wait=True))

    def optimize(self) -> None:
        """Wait until the server has built its indexes, which it does by itself."""
        busy = self._models.CollectionStatus.YELLOW
        while True:
            with failing(self.address):
                if self.client.get_collection(self.collection).status != busy:
                    return
            time.sleep(_LOOK_SECONDS)

    def count(self) -> int:
        """Number of points, without the one of the state."""
        with failing(self.address):
            return max(0, int(self.client.count(self.collection, exact=True).count) - 1)

    def nearest(
        self, vector: NDArray[np.float32], k: int, where: Sequence[Condition] = (),
        using: str = DENSE,
    ) -> ScoredPoints:  # fmt: skip
        """About `k` points that meet all conditions, with the greatest dot products with the dense
        vectors of this name."""
        params = self._models.SearchParams(hnsw_ef=max(_EXPANSION, 2 * k))
        return self._query(vector.tolist(), using, k, where, params)

    def weighted(self, terms: TermWeights, k: int, where: Sequence[Condition] = ()) -> ScoredPoints:
        """The `k` points that meet all conditions, with the greatest sums of products of
        weights."""
        sparse = self._models.SparseVector(
            indices=terms.hashes.tolist(), values=terms.weights.tolist()
        )
        return self._query(sparse, WORDS, k, where)

    def snapshot(self, into: Path) -> Path:
        """Download a snapshot into the folder; return the file."""
        with failing(self.address):
            aliases = self.client.get_aliases().aliases
        # A server stores snapshots under the collection's name.
        names = {one.alias_name: one.collection_name for one in aliases}
        name = names.get(self.collection, self.collection)
        return download(self.address, self.client, name, into)

    def _query(
        self, query: Any, using: str, k: int, where: Sequence[Condition], params: Any = None
    ) -> ScoredPoints:
        with failing(self.address):
            hits = self.client.query_points(
                self.collection, query=query, using=using, limit=k, search_params=params,
                query_filter=self._filter(where),
                with_payload=False, with_vectors=False, timeout=self._seconds,
            ).points  # fmt: skip
        points = np.array([hit.id for hit in hits], np.int64)
        return ScoredPoints(points, np.array([hit.score for hit in hits], np.float32))

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
        """Write, with retries if the server was away or late: hours of writing survive a
        restart."""
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


# The collections behind an address: Citewell writes `NAME-1`, `NAME-2` ..., and NAME is an alias.
#
# The collection in use is changed in place while it fits the library's encoder; otherwise another
# one is written beside it, and the alias moves in one request: searches see no gap.


def open_target(address: ServerAddress, wanted: State, *, fresh: bool) -> WriteTarget:
    """The collection to write for a library: the one in use, one left by an interrupted run, or a
    new one. `fresh`: not the one in use. Raises `CitewellError`."""
    client = connect(address, WRITING_SECONDS)
    current, numbers = collections_of(address, client)
    if current and not fresh and _fits(_backend(address, client, current), wanted):
        return WriteTarget(_backend(address, client, current), lambda: None)
    name = ""
    for number in sorted(numbers, reverse=True):
        left = f"{address.collection}-{number}"
        if left == current:
            break
        if _fits(_backend(address, client, left), wanted):
            name = left
            break
    if not name:
        name = f"{address.collection}-{max(numbers, default=0) + 1}"
        _create(address, client, name, wanted)
    return WriteTarget(
        _backend(address, client, name), lambda: publish(address, client, name, current)
    )


def restore(address: ServerAddress, file: Path) -> QdrantBackend:
    """Write a snapshot into a new collection and point the address to it.

    Raises `CitewellError` or `OSError`; searches then continue with the old collection.
    """
    client = connect(address, WRITING_SECONDS)
    current, numbers = collections_of(address, client)
    name = f"{address.collection}-{max(numbers, default=0) + 1}"
    upload(address, name, file)
    backend = _backend(address, client, name)
    if backend.state() is None:
        with failing(address):
            client.delete_collection(name)
        raise backend_error("backend-version", f"{file} is no snapshot of a library.")
    publish(address, client, name, current)
    return backend


def collections_of(address: ServerAddress, client: Any) -> tuple[str, set[int]]:
    """The collection in use, or "", and the numbers of all collections written by Citewell.

    Raises `CitewellError` if the name is that of a collection, which no alias can have.
    """
    with failing(address):
        aliases = {one.alias_name: one.collection_name for one in client.get_aliases().aliases}
        names = [one.name for one in client.get_collections().collections]
    if address.collection in names:
        message = f"{address} is a collection; Citewell needs a name that is free for an alias."
        raise backend_error("backend-address", message)
    pattern = re.compile(rf"{re.escape(address.collection)}-(\d{{1,9}})")
    numbers = {int(found[1]) for found in map(pattern.fullmatch, names) if found}
    return aliases.get(address.collection, ""), numbers


def publish(address: ServerAddress, client: Any, name: str, before: str) -> None:
    """Point the address to this collection, and delete the previous one."""
    from qdrant_client import models

    alias = address.collection
    create = models.CreateAlias(collection_name=name, alias_name=alias)
    actions: list[Any] = [models.CreateAliasOperation(create_alias=create)]
    if before:
        old = models.DeleteAlias(alias_name=alias)
        actions.insert(0, models.DeleteAliasOperation(delete_alias=old))
    with failing(address):
        client.update_collection_aliases(actions)
        if before:
            client.delete_collection(before)


def _fits(backend: QdrantBackend, wanted: State) -> bool:
    """Whether a library with these vectors and weights can be written there."""
    try:
        state = backend.state()
    except CitewellError as error:
        if error.problem.code == "backend-version":
            return False
        raise
    return state is not None and state.fits(wanted)


def _create(address: ServerAddress, client: Any, name: str, wanted: State) -> None:
    from qdrant_client import models

    codes = models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=1.0, always_ram=True
        )
    )
    vectors = {
        field: models.VectorParams(
            size=size,
            distance=models.Distance.DOT,
            datatype=models.Datatype.FLOAT16,
            on_disk=True,
            quantization_config=codes,
        )
        for field, size in wanted.vectors().items()
    }
    # No document frequencies here: the server would count them per shard.
    words = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=False))
    with failing(address):
        client.create_collection(
            name, vectors_config=vectors,
            sparse_vectors_config={WORDS: words}, on_disk_payload=True,
        )  # fmt: skip
        for field, schema in _indexes().items():
            client.create_payload_index(name, field, schema, wait=True)
    _backend(address, client, name).set_state(wanted)


def _indexes() -> dict[str, Any]:
    """The indexes of fields, by name."""
    from qdrant_client import models

    number = models.IntegerIndexType.INTEGER
    hashes = models.IntegerIndexParams(type=number, lookup=True, range=False, on_disk=True)
    return {
        YEAR: models.IntegerIndexParams(type=number, lookup=False, range=True, on_disk=True),
        **dict.fromkeys(HASHES, hashes),
        RETRACTED: models.PayloadSchemaType.BOOL,
    }


def _backend(address: ServerAddress, client: Any, name: str) -> QdrantBackend:
    return QdrantBackend(address, client, WRITING_SECONDS, name)
