"""A folder of Qdrant Edge gets a graph of its vectors once there are many of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("qdrant_edge", reason="needs the extra `qdrant`")

from citewell.model import CitewellError
from citewell.retrieval.attributes import YEAR, Between
from citewell.retrieval.backend import edge
from citewell.retrieval.backend.connection import restore
from citewell.retrieval.backend.contract import Batch, Payload, State, TermWeights
from citewell.retrieval.backend.edge import EdgeBackend

DIM = 16
STATE = State(dim=DIM, encoder="e", words="w")


def vectors(count: int) -> NDArray[np.float32]:
    found = np.random.default_rng(1).normal(size=(count, DIM)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def write(backend: EdgeBackend, dense: NDArray[np.float32], start: int) -> None:
    rows = np.arange(start, len(dense))
    words = [TermWeights(np.array([7], np.uint32), np.array([0.5], np.float32))] * len(rows)
    payloads: list[Payload] = [{YEAR: 2000 + row % 10} for row in rows.tolist()]
    backend.upsert(Batch(rows, dense[start:], words, payloads))
    backend.optimize()


def links(folder: Path) -> int:
    """Links of a point of the graph that the folder is to have."""
    config = msgspec.json.decode((folder / "edge_config.json").read_bytes())
    return int(config["hnsw_config"]["m"])


def test_many_points_get_a_graph_and_few_are_compared_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "_GRAPH_FROM", 16)
    monkeypatch.setattr(edge, "_CODED_FROM", 1)
    backend = EdgeBackend(tmp_path)
    backend.set_state(STATE)
    dense = vectors(1200)
    for begin, count, expected in ((0, 400, 0), (400, 1100, 16), (1100, 1200, 16)):
        write(backend, dense[:count], begin)
        assert links(tmp_path) == expected
        assert backend.count() == count
        state = backend.state()
        assert state is not None and state.encoder == "e"
        for where in ((), (Between(YEAR, 2003, 2005),)):
            found = backend.nearest(dense[13], 10, where).points.tolist()
            passing = np.arange(count)
            if where:
                passing = passing[(passing % 10 >= 3) & (passing % 10 <= 5)]
            best = passing[np.argsort(-(dense[passing] @ dense[13]))[:10]].tolist()
            assert found[0] == 13 and len(set(found) & set(best)) >= 8


def test_vectors_of_cited_works_take_no_space_where_no_work_has_one(tmp_path: Path) -> None:
    for cited, names in (("", {"dense"}), ("c", {"dense", "cited"})):
        folder = tmp_path / f"folder{cited}"
        EdgeBackend(folder).set_state(msgspec.structs.replace(STATE, cited=cited))
        config = msgspec.json.decode((folder / "edge_config.json").read_bytes())
        assert set(config["vectors"]) == names


def test_a_snapshot_is_found_in_the_folder_that_was_named_for_it(tmp_path: Path) -> None:
    backend = edge.open_edge(tmp_path / "papers")
    backend.set_state(STATE)
    write(backend, vectors(30), 0)
    backend.snapshot(tmp_path / "copies")
    for number, named in enumerate((tmp_path / "copies", tmp_path / "copies" / "papers")):
        assert restore(f"edge:{tmp_path / f'restored-{number}'}", named).count() == 30


def test_nothing_is_written_over_and_only_snapshots_are_restored(tmp_path: Path) -> None:
    backend = edge.open_edge(tmp_path / "papers")
    backend.set_state(STATE)
    backend.snapshot(tmp_path / "copies")
    (tmp_path / "notes").mkdir()

    def code(action: object) -> str:
        with pytest.raises(CitewellError) as error:
            action()  # type: ignore[operator]
        return error.value.problem.code

    assert code(lambda: backend.snapshot(tmp_path / "copies")) == "backend-occupied"
    target = f"edge:{tmp_path / 'other'}"
    assert code(lambda: restore(target, tmp_path / "notes")) == "backend-snapshot"
    assert not (tmp_path / "other").exists()
    occupied = f"edge:{tmp_path / 'notes'}"
    assert code(lambda: restore(occupied, tmp_path / "copies")) == "backend-occupied"
