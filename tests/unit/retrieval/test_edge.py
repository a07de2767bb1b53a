"""What a folder of Qdrant Edge holds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

pytest.importorskip("qdrant_edge", reason="needs the extra `qdrant`")

from citewell.retrieval.backend.contract import State
from citewell.retrieval.backend.edge import EdgeBackend

STATE = State(dim=16, encoder="e", words="w")


def test_vectors_of_cited_works_take_no_space_where_no_work_has_one(tmp_path: Path) -> None:
    for cited, names in (("", {"dense"}), ("c", {"dense", "cited"})):
        folder = tmp_path / f"folder{cited}"
        EdgeBackend(folder).set_state(msgspec.structs.replace(STATE, cited=cited))
        config = msgspec.json.decode((folder / "edge_config.json").read_bytes())
        assert set(config["vectors"]) == names
