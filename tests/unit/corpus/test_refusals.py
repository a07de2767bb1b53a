"""A library that is missing, foreign, damaged or of another version is refused with a cure."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import digest, library_path
from citewell.corpus.library import Library


def code_of(folder: Path) -> str:
    with pytest.raises(LibraryError) as caught:
        Library.open(folder)
    assert caught.value.problem.hint
    return caught.value.problem.code


def only(folder: Path, pattern: str) -> Path:
    """The one file or folder of the pattern, what a source says of citations left aside."""
    found = [path for path in folder.glob(pattern) if not any(path.parent.glob("list_starts.npy"))]
    (one,) = found
    return one


def rename(folder: Path, manifest: Path, facts: dict[str, Any]) -> None:
    """Write a manifest that its own snapshot's id agrees with, as somebody with intent would."""
    data = json.dumps(facts).encode()
    snapshot = f"000009-{digest(data)[:16]}"
    manifest.write_bytes(data)
    manifest.parent.rename(manifest.parent.with_name(snapshot))
    (folder / "CURRENT").write_text(snapshot, encoding="utf-8")


def test_a_folder_that_is_not_there_is_missing(tmp_path: Path) -> None:
    assert code_of(tmp_path / "nowhere") == "library-missing"


def test_a_path_that_is_a_library_itself_is_told_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text("1", encoding="utf-8")
    with pytest.raises(LibraryError) as caught:
        Library.open(tmp_path / "default")
    message = caught.value.problem.message
    assert f"`library.path` to {tmp_path.parent}" in message
    assert f"`library.name` to {tmp_path.name}" in message


def test_an_empty_folder_is_missing(tmp_path: Path) -> None:
    assert code_of(tmp_path) == "library-missing"


def test_a_folder_of_something_else_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir", encoding="utf-8")
    assert code_of(tmp_path) == "library-foreign"


@pytest.mark.parametrize("text", ["", "nonsense", "../../etc", "000001-0123456789abcdef/.."])
def test_a_current_that_names_no_snapshot_is_corrupt(folder: Path, text: str) -> None:
    (folder / "CURRENT").write_text(text, encoding="utf-8")
    assert code_of(folder) == "library-corrupt"


def test_a_current_that_names_a_snapshot_that_is_gone_is_corrupt(folder: Path) -> None:
    shutil.rmtree(folder / "snapshots")
    assert code_of(folder) == "library-corrupt"


def test_a_changed_manifest_is_corrupt(folder: Path) -> None:
    path = only(folder, "snapshots/*/manifest.json")
    path.write_bytes(path.read_bytes().replace(b'"works": 4', b'"works": 5'))
    assert code_of(folder) == "library-corrupt"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"format": 99}, "library-newer"),
        ({"format": 0}, "library-older"),
        ({"kind": "cookbook"}, "library-foreign"),
        ({"segments": "none"}, "library-corrupt"),
    ],
)
def test_a_manifest_of_another_kind_or_version_is_named(
    folder: Path, change: dict[str, object], code: str
) -> None:
    path = only(folder, "snapshots/*/manifest.json")
    rename(folder, path, json.loads(path.read_bytes()) | change)
    assert code_of(folder) == code


@pytest.mark.parametrize(
    "name", ["../../../../etc/passwd", "/etc/passwd", "..\\x", "C:/x", "a/../b"]
)
def test_a_segment_that_names_files_elsewhere_is_corrupt(folder: Path, name: str) -> None:
    path = only(folder, "segments/*/segment.json")
    record = json.loads(path.read_bytes())
    record["files"][name] = {"size": 1, "blake2b": "00"}
    data = json.dumps(record).encode()
    path.write_bytes(data)
    manifest = only(folder, "snapshots/*/manifest.json")
    facts = json.loads(manifest.read_bytes())
    facts["segments"][0]["record"] = digest(data)
    rename(folder, manifest, facts)
    assert code_of(folder) == "library-corrupt"


@pytest.mark.parametrize("name", ["..", "../../x", "000001-0123456", ""])
def test_a_manifest_that_names_a_segment_elsewhere_is_corrupt(folder: Path, name: str) -> None:
    manifest = only(folder, "snapshots/*/manifest.json")
    facts = json.loads(manifest.read_bytes())
    facts["segments"][0]["id"] = name
    rename(folder, manifest, facts)
    assert code_of(folder) == "library-corrupt"


@pytest.mark.parametrize("name", ["segment.json", "catalogue.sqlite", "year.npy", "citations.npy"])
@pytest.mark.parametrize("damage", ["gone", "cut", "longer"])
def test_a_file_that_is_gone_or_of_another_size_is_corrupt(
    folder: Path, name: str, damage: str
) -> None:
    path = only(folder, f"segments/*/{name}")
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else data + b"x")
    assert code_of(folder) == "library-corrupt"


def test_a_file_of_the_right_size_that_is_no_catalogue_is_refused(folder: Path) -> None:
    path = only(folder, "segments/*/catalogue.sqlite")
    path.write_bytes(b"x" * path.stat().st_size)
    assert code_of(folder) == "library-corrupt"


def test_a_foreign_database_in_place_of_the_catalogue_is_refused(folder: Path) -> None:
    path = only(folder, "segments/*/catalogue.sqlite")
    size = path.stat().st_size
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE works (row INTEGER PRIMARY KEY, blob BLOB)")
    connection.commit()
    connection.close()
    with path.open("ab") as stream:
        stream.truncate(max(size, path.stat().st_size))
    assert code_of(folder) in ("library-foreign", "library-corrupt")


def test_verify_names_every_file_with_a_changed_byte(folder: Path) -> None:
    path = only(folder, "segments/*/catalogue.sqlite")
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with Library.open(folder) as library:
        assert [problem.path for problem in library.verify()] == [str(path)]


def test_verify_finds_nothing_in_a_whole_library(library: Library) -> None:
    assert library.verify() == []


def test_a_damaged_record_is_an_error_with_a_cure_and_no_crash(folder: Path) -> None:
    path = only(folder, "segments/*/catalogue.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE works SET blob = zeroblob(length(blob))")
    connection.commit()
    connection.close()
    with Library.open(folder) as library, pytest.raises(LibraryError) as caught:
        library.works([0])
    assert caught.value.problem.code == "library-corrupt"
    assert "--fresh" in caught.value.problem.hint


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", ".hidden", "x" * 101])
def test_a_name_that_would_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LibraryError) as caught:
        library_path(tmp_path, name)
    assert caught.value.problem.code == "library-name"
