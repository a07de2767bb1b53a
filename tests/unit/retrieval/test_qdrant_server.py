"""A Qdrant server: what goes wrong is a problem with a code, and a rebuild leaves no gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")
from qdrant_client import QdrantClient

from citewell.model import CitewellError
from citewell.retrieval.attributes import AUTHOR, LANGUAGE, YEAR, Between
from citewell.retrieval.backend import qdrant
from citewell.retrieval.backend.connection import (
    CHECK_SECONDS,
    PAUSE_SECONDS,
    Connection,
    HeldSegments,
    open_backend,
    open_target,
    restore,
)
from citewell.retrieval.backend.contract import (
    CITED,
    AnyOf,
    Backend,
    Batch,
    Payload,
    ScoredPoints,
    State,
    TermWeights,
    point_numbers,
    server_address,
)

STATE = State(dim=4, encoder="e", words="w", segments={"000001-a": 20}, left_out={"000001-a": "/"})
VECTOR = np.array([1, 0, 0, 0], np.float32)
TERM = TermWeights(np.array([7], np.uint32), np.array([2.0], np.float32))
KEY = "a-key-of-this-test"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CITEWELL_QDRANT_KEY", "QDRANT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(qdrant, "RETRY_SECONDS", (0.0, 0.0))


def write(address: str, state: State = STATE, *, fresh: bool = False) -> str:
    """Write twenty points; the collection that holds them."""
    target = open_target(address, state, fresh=fresh)
    vectors = np.zeros((20, state.dim), np.float32)
    vectors[:, 0] = 1
    words = [TermWeights(np.array([7], np.uint32), np.array([0.5], np.float32))] * 20
    points = point_numbers("000001-a", np.arange(20))
    target.backend.upsert(Batch(points, vectors, words, [{}] * 20))
    target.backend.set_state(state)
    target.backend.optimize()
    target.publish()
    return str(target.backend.collection)  # type: ignore[attr-defined]


def code_of(call: Any) -> str:
    """The code of the problem that a call raises; no message holds the key."""
    with pytest.raises(CitewellError) as raised:
        call()
    assert KEY not in str(raised.value)
    return raised.value.problem.code


def test_addresses_name_server_port_and_collection() -> None:
    found = server_address("qdrant://localhost/papers")
    assert found is not None and found.url == "http://localhost:6333" and found.is_local
    found = server_address("qdrants://[2001:db8::1]:443/a.b-c_1")
    assert found is not None and found.url == "https://[2001:db8::1]:443"
    assert str(found) == "qdrants://[2001:db8::1]:443/a.b-c_1" and not found.is_local
    assert server_address("edge:/folder") is None


@pytest.mark.parametrize(
    "text",
    ["qdrant://localhost", "qdrant:///papers", "qdrant://h:99999/p", "qdrant://h/a/b",
     "qdrant://h/..", "qdrant://h/p?api_key=1", "qdrant:papers", f"qdrant://user:{KEY}@h/p"],
)  # fmt: skip
def test_malformed_addresses_are_reported_without_their_password(text: str) -> None:
    assert code_of(lambda: open_backend(text)) == "backend-address"


def test_a_missing_server_and_a_missing_collection_have_codes(qdrant_server: Any) -> None:
    address = qdrant_server.address("papers")
    assert code_of(lambda: open_backend(address).state()) == "backend-missing"
    qdrant_server.stop()
    assert code_of(lambda: open_backend(address)) == "backend-unreachable"
    qdrant_server.start()


def test_an_old_server_has_a_code(qdrant_server: Any) -> None:
    qdrant_server.version = "1.9.4"
    assert code_of(lambda: open_backend(qdrant_server.address("papers"))) == "backend-server"


def test_the_key_of_the_environment_is_sent_and_a_wrong_one_has_a_code(
    qdrant_server: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    address = qdrant_server.address("papers")
    qdrant_server.key = KEY
    assert code_of(lambda: open_backend(address).state()) == "backend-key"
    monkeypatch.setenv("QDRANT_API_KEY", "another")
    assert code_of(lambda: open_backend(address).state()) == "backend-key"
    monkeypatch.setenv("CITEWELL_QDRANT_KEY", KEY)
    write(address)
    assert open_backend(address).count() == 20
    assert qdrant_server.keys == {"another", KEY}
    assert KEY not in caplog.text


def test_a_key_is_not_sent_unencrypted_over_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_QDRANT_KEY", KEY)
    assert code_of(lambda: open_backend("qdrant://192.0.2.1/papers")) == "backend-key"


def test_a_server_without_tls_does_not_answer_an_encrypted_request(qdrant_server: Any) -> None:
    address = qdrant_server.address("papers").replace("qdrant:", "qdrants:")
    assert code_of(lambda: open_backend(address)) == "backend-unreachable"


@pytest.mark.parametrize(
    ("kind", "code"),
    [("hang", "backend-late"), ("die", "backend-unreachable"), ("408", "backend-late"),
     ("429", "backend-late"), ("503", "backend-late"), ("500", "backend-failed"),
     ("403", "backend-key")],
)  # fmt: skip
def test_queries_that_fail_have_codes(qdrant_server: Any, kind: str, code: str) -> None:
    address = qdrant_server.address("papers")
    write(address)
    with qdrant_server.failing("/points/query", kind):
        backend = open_backend(address, 1)
        assert code_of(lambda: backend.nearest(VECTOR, 5)) == code
        assert code_of(lambda: backend.weighted(TERM, 5)) == code
    assert len(backend.nearest(VECTOR, 5).points) == 5


def test_a_vector_of_another_length_has_a_code(qdrant_server: Any) -> None:
    address = qdrant_server.address("papers")
    write(address)
    wrong = np.ones(3, np.float32)
    assert code_of(lambda: open_backend(address).nearest(wrong, 5)) == "backend-dimension"


def test_writing_outlives_a_server_that_is_busy_for_a_moment(qdrant_server: Any) -> None:
    address = qdrant_server.address("papers")
    with qdrant_server.failing("PUT .*/points", "503", times=2) as fault:
        write(address)
    assert fault.times == 0 and open_backend(address).count() == 20


def test_a_library_with_other_vectors_replaces_the_old_one_at_once(qdrant_server: Any) -> None:
    address = qdrant_server.address("papers")
    assert write(address) == "papers-1"
    assert write(address) == "papers-1"
    other = msgspec.structs.replace(STATE, dim=5)
    target = open_target(address, other)
    assert open_backend(address).count() == 20  # the old one, until the new one is whole
    target.backend.set_state(other)
    assert write(address, other) == "papers-2"  # continues what was begun
    state = open_backend(address).state()
    assert state is not None and state.dim == 5
    assert set(qdrant_server.shards) == {"papers-2"}
    assert write(address, other, fresh=True) == "papers-3"


def test_a_collection_of_others_is_never_written(qdrant_server: Any) -> None:
    assert write(qdrant_server.address("papers")) == "papers-1"
    assert code_of(lambda: write(qdrant_server.address("papers-1"))) == "backend-address"


def test_a_damaged_snapshot_leaves_what_is_searched(qdrant_server: Any, tmp_path: Path) -> None:
    address = qdrant_server.address("papers")
    write(address)
    file = open_backend(address).snapshot(tmp_path / "copies")
    assert [one.name for one in (tmp_path / "copies").iterdir()] == [file.name]
    damaged = tmp_path / "damaged.snapshot"
    damaged.write_bytes(file.read_bytes()[:1000])
    assert code_of(lambda: restore(address, damaged)) == "backend-failed"
    assert open_backend(address).count() == 20
    assert restore(address, file).count() == 20


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
@pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")
def test_the_local_mode_of_the_client_gives_what_edge_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It checks every request, and searches and filters by code of its own."""
    client = QdrantClient(":memory:")
    for module in (qdrant, qdrant):
        monkeypatch.setattr(module, "connect", lambda address, seconds: client)
    rng = np.random.default_rng(3)
    count = 300
    dense = rng.normal(size=(count, 8)).astype(np.float32)
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    cited = np.concatenate([dense, rng.random((count, 1), np.float32)], axis=1)
    cited[::3] = 0
    words = [
        TermWeights(rng.choice(50, 6, replace=False).astype(np.uint32), rng.random(6, np.float32))
        for _ in range(count)
    ]
    payloads: list[Payload] = [
        {YEAR: int(rng.integers(2000, 2010)), AUTHOR: [1 << 62, int(rng.integers(9))],
         LANGUAGE: 5 if row % 4 else 0}
        for row in range(count)
    ]  # fmt: skip
    points = point_numbers("000001-a", np.arange(count))
    backends: list[Backend] = []
    for address in ("qdrant://localhost/papers", f"edge:{tmp_path / 'edge'}"):
        target = open_target(address, msgspec.structs.replace(STATE, dim=8, cited="c"))
        target.backend.set_state(msgspec.structs.replace(STATE, dim=8, cited="c"))
        for _ in range(2):  # points are replaced
            target.backend.upsert(Batch(points, dense, words, payloads, cited))
        target.backend.delete(points[:5])
        target.publish()
        backends.append(open_backend(address))
        assert backends[-1].count() == count - 5
    query = TermWeights(np.arange(20, dtype=np.uint32), rng.random(20, np.float32))
    for where in (
        (), (Between(YEAR, 2003, 2006),), (AnyOf(AUTHOR, (3, 1 << 61)),), (AnyOf(AUTHOR, ()),),
        (AnyOf(LANGUAGE, (4,)),), (AnyOf(LANGUAGE, (4, 0)),),
        (AnyOf(LANGUAGE, (5,)), AnyOf(AUTHOR, (1 << 62,)), Between(YEAR, 1, 2004)),
    ):  # fmt: skip
        for search in (
            lambda one, where=where: one.nearest(dense[7], 400, where),
            lambda one, where=where: one.nearest(cited[8], 400, where, CITED),
            lambda one, where=where: one.weighted(query, 400, where),
        ):
            first, second = (
                dict(zip(found.points.tolist(), found.scores.tolist(), strict=True))
                for found in map(search, backends)
            )
            assert second == pytest.approx(first, abs=5e-3)


HELD = HeldSegments(
    {"000001-a": (20, "/")}, "w", "e", "", np.array([1]), np.array([0]), np.array([20]), ()
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def nearest(backend: Backend) -> ScoredPoints:
    return backend.nearest(VECTOR, 5)


def weighted(backend: Backend) -> ScoredPoints:
    return backend.weighted(TERM, 5)


def codes(connection: Connection) -> list[str]:
    """What each part answers: the code of a problem, or nothing."""
    answers = (connection.ask("words", weighted), connection.ask("meanings", nearest))
    return [getattr(one, "code", "") for one in answers]


def test_only_the_part_that_is_late_is_left_alone_and_tried_again(qdrant_server: Any) -> None:
    address, clock = qdrant_server.address("papers"), Clock()
    write(address)
    connection = Connection(address, HELD, 600, clock)
    connection.wait(300)
    assert codes(connection) == ["", ""] and connection.problem is None
    with qdrant_server.failing("/points/query", "503"):
        found = connection.ask("words", weighted)
        assert found.code == "backend-late" and "words were not searched" in found.message  # type: ignore[union-attr]
    assert codes(connection) == ["backend-late", ""]
    assert connection.problem == found
    clock.now += PAUSE_SECONDS
    assert codes(connection) == ["", ""] and connection.problem is None


def test_a_server_that_went_away_is_found_again(qdrant_server: Any) -> None:
    address, clock = qdrant_server.address("papers"), Clock()
    write(address)
    qdrant_server.stop()
    connection = Connection(address, HELD, 600, clock)
    connection.wait(300)
    assert codes(connection) == ["backend-unreachable"] * 2
    qdrant_server.start()
    assert codes(connection) == ["backend-unreachable"] * 2  # not asked before the pause is over
    clock.now += PAUSE_SECONDS
    codes(connection)  # has it looked for
    connection.wait(300)
    assert codes(connection) == ["", ""]
    qdrant_server.stop()
    assert codes(connection) == ["backend-unreachable"] * 2
    qdrant_server.start()


def test_what_others_write_is_noticed(qdrant_server: Any) -> None:
    address, clock = qdrant_server.address("papers"), Clock()
    write(address)
    connection = Connection(address, HELD, 600, clock)
    connection.wait(300)
    write(address, msgspec.structs.replace(STATE, encoder="other"))
    clock.now += CHECK_SECONDS
    codes(connection)
    connection.wait(300)
    assert codes(connection) == ["backend-version"] * 2
