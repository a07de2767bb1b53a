"""A fake of a Qdrant server: the part of its REST interface that Citewell uses, over sockets.

Collections are shards of Qdrant Edge. Answers, errors included, have the form of Qdrant 1.16.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import qdrant_edge as edge


class AnswerError(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass
class Fault:
    """What goes wrong with requests whose method and path match."""

    match: str
    kind: str
    """`hang`, `die` or a status code."""
    times: int = -1
    """How often; -1: each time."""


@dataclass
class QdrantServer:
    """Runs in this process. `start` and `stop` can be called again and again."""

    folder: Path
    key: str = ""
    version: str = "1.16.3"
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Method and path of each."""
    keys: set[str] = field(default_factory=set)
    """Each key that was sent."""
    port: int = 0
    shards: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    indexed: dict[str, set[str]] = field(default_factory=dict)
    """Fields with an index, by collection. As in strict mode, others cannot be filtered by."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self) -> QdrantServer:
        self.released = threading.Event()
        owner = self

        class Handler(_Handler):
            server_of = owner

        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def stop(self) -> None:
        self.released.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def address(self, name: str) -> str:
        return f"qdrant://127.0.0.1:{self.port}/{name}"

    @contextmanager
    def failing(self, match: str, kind: str, times: int = -1) -> Iterator[Fault]:
        fault = Fault(match, kind, times)
        self.faults.append(fault)
        try:
            yield fault
        finally:
            self.faults.remove(fault)

    def fault_of(self, line: str) -> Fault | None:
        """What goes wrong with a request."""
        with self.lock:
            for one in self.faults:
                if one.times and re.search(one.match, line):
                    one.times -= 1
                    return one
        return None

    def shard(self, name: str) -> Any:
        try:
            return self.shards[self.aliases.get(name, name)]
        except KeyError:
            raise AnswerError(404, f"Not found: Collection `{name}` doesn't exist!") from None


class _Handler(BaseHTTPRequestHandler):
    server_of: QdrantServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def _serve(self) -> None:
        own = self.server_of
        line = f"{self.command} {unquote(urlsplit(self.path).path)}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        own.requests.append(line)
        own.keys |= {self.headers["api-key"]} - {None}
        fault = own.fault_of(line)
        if fault is not None and fault.kind == "hang":
            own.released.wait()
            self.close_connection = True
        elif fault is not None and fault.kind == "die":
            self._head(200, "application/json", 10_000)
            self.wfile.write(b'{"result":{"points":[{"id":1,')
            self.close_connection = True
        else:
            self._answer(line, body, fault)

    def _answer(self, line: str, body: bytes, fault: Fault | None) -> None:
        own = self.server_of
        try:
            if fault is not None:
                raise AnswerError(int(fault.kind), "Service internal error: the disk is full")
            if own.key and self.headers["api-key"] is None:
                raise AnswerError(401, "Must provide an API key or an Authorization bearer token")
            if own.key and self.headers["api-key"] != own.key:
                raise AnswerError(401, "Invalid API key or JWT")
            for pattern, answer in ROUTES:
                found = re.fullmatch(pattern, line)
                if found is not None:
                    with own.lock:
                        result = answer(own, *found.groups(), body)
                    break
            else:
                raise AnswerError(404, f"No route {line}")
        except AnswerError as error:
            if error.status == 401:
                self._send(401, str(error).encode(), "text/plain")
            else:
                self._send_json(error.status, {"status": {"error": str(error)}, "time": 0.0})
        except Exception as error:
            words = str(error)
            status = 400 if "dimension" in words else 500
            shown = f"Wrong input: {words}" if status == 400 else f"Service internal error: {words}"
            self._send_json(status, {"status": {"error": shown}, "time": 0.0})
        else:
            if isinstance(result, Path):
                self._send(200, result.read_bytes(), "application/octet-stream")
            elif line == "GET /":
                self._send_json(200, result)
            else:
                self._send_json(200, {"result": result, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - names that the class calls

    def _send_json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self._head(status, kind, len(body))
        self.wfile.write(body)

    def _head(self, status: int, kind: str, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()


def _info(own: QdrantServer, body: bytes) -> Any:
    return {"title": "qdrant - vector search engine", "version": own.version, "commit": "0"}


def _create(own: QdrantServer, name: str, body: bytes) -> Any:
    if name in own.shards or name in own.aliases:
        raise AnswerError(409, f"Wrong input: Collection `{name}` already exists!")
    given = json.loads(body)
    vectors = {
        one: edge.EdgeVectorParams(size=facts["size"], distance=getattr(edge.Distance, facts["distance"]))
        for one, facts in given["vectors"].items()
    }  # fmt: skip
    sparse = {one: edge.EdgeSparseVectorParams() for one in given["sparse_vectors"]}
    folder = own.folder / name
    folder.mkdir(parents=True)
    config = edge.EdgeConfig(vectors=vectors, sparse_vectors=sparse)
    own.shards[name] = edge.EdgeShard.create(str(folder), config)
    return True


def _drop(own: QdrantServer, name: str, body: bytes) -> Any:
    own.shard(name).close()
    del own.shards[name]
    own.indexed.pop(name, None)
    shutil.rmtree(own.folder / name)
    own.aliases = {alias: one for alias, one in own.aliases.items() if one != name}
    return True


def _list(own: QdrantServer, body: bytes) -> Any:
    return {"collections": [{"name": name} for name in own.shards]}


def _collection(own: QdrantServer, name: str, body: bytes) -> Any:
    shard = own.shard(name)
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": shard.count(edge.CountRequest()),
        "segments_count": 1,
        "config": {
            "params": {"vectors": {}},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
            "optimizer_config": {
                "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000,
                "default_segment_number": 0, "flush_interval_sec": 5,
            },
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        },
        "payload_schema": {},
    }  # fmt: skip


def _cluster(own: QdrantServer, name: str, body: bytes) -> Any:
    own.shard(name)
    return {
        "peer_id": 1, "shard_count": 1, "remote_shards": [], "shard_transfers": [],
        "local_shards": [{"shard_id": 0, "points_count": 0, "state": "Active"}],
    }  # fmt: skip


def _all_aliases(own: QdrantServer, body: bytes) -> Any:
    pairs = own.aliases.items()
    return {"aliases": [{"alias_name": alias, "collection_name": name} for alias, name in pairs]}


def _change_aliases(own: QdrantServer, body: bytes) -> Any:
    for action in json.loads(body)["actions"]:
        if "create_alias" in action:
            facts = action["create_alias"]
            own.shard(facts["collection_name"])
            if facts["alias_name"] in own.shards:
                raise AnswerError(409, f"Wrong input: `{facts['alias_name']}` is a collection")
            own.aliases[facts["alias_name"]] = facts["collection_name"]
        else:
            own.aliases.pop(action["delete_alias"]["alias_name"])
    return True


def _vector(given: Any) -> Any:
    if isinstance(given, dict):
        return edge.SparseVector(given["indices"], given["values"])
    return given


def _upsert(own: QdrantServer, name: str, body: bytes) -> Any:
    points = [
        edge.Point(
            one["id"], {key: _vector(value) for key, value in one["vector"].items()},
            one.get("payload") or {},
        )
        for one in json.loads(body)["points"]
    ]  # fmt: skip
    own.shard(name).update(edge.UpdateOperation.upsert_points(points))
    return {"operation_id": 0, "status": "completed"}


def _delete(own: QdrantServer, name: str, body: bytes) -> Any:
    points = json.loads(body)["points"]
    own.shard(name).update(edge.UpdateOperation.delete_points(points))
    return {"operation_id": 0, "status": "completed"}


def _retrieve(own: QdrantServer, name: str, body: bytes) -> Any:
    ids = json.loads(body)["ids"]
    found = own.shard(name).retrieve(ids, with_payload=True, with_vector=False)
    return [{"id": one.id, "payload": one.payload} for one in found]


def _count(own: QdrantServer, name: str, body: bytes) -> Any:
    return {"count": own.shard(name).count(edge.CountRequest())}


def _create_index(own: QdrantServer, name: str, body: bytes) -> Any:
    given = json.loads(body)
    facts = given["field_schema"]
    if isinstance(facts, str):
        schema = getattr(edge.PayloadSchemaType, facts.capitalize())
    else:
        schema = edge.IntegerIndexParams(
            lookup=facts["lookup"], range=facts["range"], on_disk=facts["on_disk"]
        )
    operation = edge.UpdateOperation.create_field_index(given["field_name"], schema)
    own.shard(name).update(operation)
    own.indexed.setdefault(name, set()).add(given["field_name"])
    return {"operation_id": 0, "status": "completed"}


def _filter(own: QdrantServer, name: str, given: Any) -> Any:
    if given is None:
        return None
    indexed = own.indexed.get(own.aliases.get(name, name), set())
    return _condition(indexed, {key: value for key, value in given.items() if value is not None})


def _condition(indexed: set[str], given: dict[str, Any]) -> Any:
    """A condition, or a filter of several."""
    if "key" not in given:
        parts = {how: [_condition(indexed, one) for one in some] for how, some in given.items()}
        return edge.Filter(**parts)
    key = given["key"]
    if key not in indexed:
        raise AnswerError(400, f'Bad request: Index required but not found for "{key}"')
    if "match" in given:
        return edge.FieldCondition(key, match=edge.MatchAny(given["match"]["any"]))
    limits = given["range"]
    return edge.FieldCondition(key, range=edge.RangeFloat(gte=limits["gte"], lte=limits["lte"]))


def _query(own: QdrantServer, name: str, body: bytes) -> Any:
    given = json.loads(body)
    query = given["query"]
    query = query["nearest"] if isinstance(query, dict) and "nearest" in query else query
    nearest = edge.Query.Nearest(_vector(query), given["using"])
    request = edge.QueryRequest(
        limit=given["limit"], query=nearest, filter=_filter(own, name, given.get("filter"))
    )
    hits = own.shard(name).query(request)
    return {"points": [{"id": one.id, "version": 1, "score": one.score} for one in hits]}


def _make_snapshot(own: QdrantServer, name: str, body: bytes) -> Any:
    if name not in own.shards:
        raise AnswerError(404, f"Not found: Collection `{name}` doesn't exist!")
    shard = own.shards[name]
    shard.flush()
    folder = own.folder.parent / "snapshots" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{name}-1.snapshot", "w") as archive:
        archive.add(own.folder / name, "shard")
    return {"name": f"{name}-1.snapshot", "creation_time": "2026-01-01T00:00:00", "size": 1}


def _snapshot_file(own: QdrantServer, name: str, snapshot: str) -> Path:
    path = own.folder.parent / "snapshots" / name / snapshot
    if not path.is_file():
        raise AnswerError(404, f"Not found: Snapshot {snapshot} not found")
    return path


def _get_snapshot(own: QdrantServer, name: str, snapshot: str, body: bytes) -> Any:
    return _snapshot_file(own, name, snapshot)


def _drop_snapshot(own: QdrantServer, name: str, snapshot: str, body: bytes) -> Any:
    _snapshot_file(own, name, snapshot).unlink()
    return True


def _upload_snapshot(own: QdrantServer, name: str, body: bytes) -> Any:
    if name in own.shards:
        _drop(own, name, b"")
    start = body.index(b"\r\n\r\n") + 4
    path = own.folder / "uploaded.tar"
    own.folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body[start : body.rindex(b"\r\n--")])
    try:
        with tarfile.open(path) as archive:
            archive.extractall(own.folder / name, filter="data")
    except tarfile.TarError as error:
        raise AnswerError(400, f"Wrong input: the snapshot cannot be read: {error}") from None
    inner = own.folder / name / "shard"
    for one in inner.iterdir():
        one.rename(own.folder / name / one.name)
    inner.rmdir()
    own.shards[name] = edge.EdgeShard.load(str(own.folder / name))
    own.indexed[name] = set(own.shards[name].info().payload_schema)
    return True


_C = r"/collections/([^/]+)"
ROUTES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"GET /", _info),
    (r"GET /collections", _list),
    (rf"GET {_C}", _collection),
    (rf"GET {_C}/cluster", _cluster),
    (rf"PUT {_C}", _create),
    (rf"DELETE {_C}", _drop),
    (r"GET /aliases", _all_aliases),
    (r"POST /collections/aliases", _change_aliases),
    (rf"PUT {_C}/index", _create_index),
    (rf"PUT {_C}/points", _upsert),
    (rf"POST {_C}/points/delete", _delete),
    (rf"POST {_C}/points", _retrieve),
    (rf"POST {_C}/points/count", _count),
    (rf"POST {_C}/points/query", _query),
    (rf"POST {_C}/snapshots", _make_snapshot),
    (rf"POST {_C}/snapshots/upload", _upload_snapshot),
    (rf"GET {_C}/snapshots/([^/]+)", _get_snapshot),
    (rf"DELETE {_C}/snapshots/([^/]+)", _drop_snapshot),
)
