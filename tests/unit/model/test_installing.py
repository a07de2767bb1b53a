"""The command that adds an extra is one that works for this installation."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from citewell.model import installing


class Installed:
    """A distribution that was made from a place."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        return self.text if name == "direct_url.json" else None


def from_(monkeypatch: pytest.MonkeyPatch, record: object) -> str:
    text = None if record is None else json.dumps(record)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(text))
    return installing.install_command("online")


def test_a_clone_in_place_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    record = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    shown = from_(monkeypatch, record)
    assert shown.startswith(Path(sys.executable).as_posix())
    assert shown.endswith(f"-m pip install -e '{tmp_path.as_posix()}[online]'")


def test_the_wheel_of_the_installation_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = tmp_path / "citewell-1-py3-none-any.whl"
    wheel.touch()
    shown = from_(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}})
    assert shown.endswith(f"install '{wheel.as_posix()}[online]'")


def test_the_starter_library_is_named_beside_what_was_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from_(monkeypatch, {"url": tmp_path.as_uri(), "dir_info": {}})
    assert installing.starter_command().endswith(f"{tmp_path.as_posix()}/corpus_tools/starter")
    wheel = tmp_path / "citewell-1-py3-none-any.whl"
    wheel.touch()
    from_(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}})
    assert installing.starter_command().endswith("/path/to/clone/corpus_tools/starter")
    starter = tmp_path / "citewell_starter-1-py3-none-any.whl"
    starter.touch()
    assert installing.starter_command().endswith(starter.as_posix())


@pytest.mark.parametrize(
    "record", [None, {}, {"url": "https://example.org/x"}, {"url": "file:///nowhere/x.whl"}]
)
def test_otherwise_a_clone_is_asked_for_and_never_the_index(
    monkeypatch: pytest.MonkeyPatch, record: object
) -> None:
    assert from_(monkeypatch, record).endswith("install '/path/to/clone[online]'")


def test_without_pip_it_is_uv_that_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "find_spec", lambda name: None)
    assert from_(monkeypatch, None).startswith("uv pip install --python ")


def test_one_switch_names_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "PUBLISHED", True)
    assert from_(monkeypatch, None).endswith("-m pip install 'citewell[online]'")
