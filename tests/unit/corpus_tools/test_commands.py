"""The commands, run as a user runs them: in a process of their own or through click."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from citewell.corpus.library import Library
from citewell_corpus.cli.app import root, run

MadeUp = Callable[..., list[dict[str, Any]]]
Write = Callable[..., Path]
Call = Callable[..., Result]


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings name a folder of their own for libraries."""
    folder = tmp_path / "libraries"
    config = tmp_path / "config.toml"
    config.write_text(f"[library]\npath = {json.dumps(str(folder))}\n", encoding="utf-8")
    monkeypatch.setenv("CITEWELL_CONFIG", str(config))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def call(libraries: Path) -> Call:
    def invoke(*arguments: str, **how: Any) -> Result:
        return CliRunner().invoke(root, ["library", *arguments], catch_exceptions=False, **how)

    return invoke


@pytest.fixture
def source(tmp_path: Path, made_up: MadeUp, write_jsonl: Write) -> Path:
    return write_jsonl(tmp_path / "papers.jsonl", made_up(30))


def test_one_command_adds_builds_and_indexes(call: Call, libraries: Path, source: Path) -> None:
    result = call("add", str(source))
    assert result.exit_code == 0
    assert "30 papers" in result.stdout
    with Library.open(libraries / "default") as library:
        assert len(library) == 30
        assert {"bm25", "dense"} <= set(library.manifest.indexes)


def test_every_command_answers_in_json(call: Call, source: Path) -> None:
    added = json.loads(call("add", str(source), "--json").stdout)
    assert (added["works"], added["sources"][0]["records"]) == (30, 30)
    status = json.loads(call("status", "--json").stdout)
    assert (status["works"], status["problems"]) == (30, [])
    assert status["size"] > 1000
    (listed,) = json.loads(call("list", "--json").stdout)
    assert listed["name"] == "default"
    again = json.loads(call("build", "--json").stdout)
    assert again["up_to_date"]
    assert json.loads(call("remove", "--yes", "--json").stdout)["removed"]


def test_status_counts_sources_and_names_what_is_wrong(
    call: Call, libraries: Path, source: Path
) -> None:
    assert call("status").exit_code == 1
    call("add", str(source))
    result = call("status", "--verify")
    assert result.exit_code == 0
    for word in ("30", str(source), "index bm25", "encoder citation"):
        assert word in result.stdout
    source.unlink()
    result = call("status")
    assert result.exit_code == 1
    assert "source-missing" in result.stderr
    (catalogue,) = (libraries / "default").glob("segments/*/catalogue.sqlite")
    catalogue.write_bytes(b"x")
    result = call("status")
    assert "library-corrupt" in result.stderr
    assert "--fresh" in result.stderr


def test_status_counts_the_author_lists_that_are_damaged(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "split.bib"
    path.write_text("@misc{a, title={Slow Rivers and Dams}, year=2020, author={Ge and Weifeng}}")
    call("add", str(path))
    assert "1 with damaged author lists" in call("status").stdout
    status = json.loads(call("status", "--json").stdout)
    assert [one["malformed"] for one in status["sources"].values()] == [1]


def test_remove_takes_a_source_or_asks_and_takes_all(
    call: Call, libraries: Path, source: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    other = write_jsonl(tmp_path / "other.jsonl", made_up(5, seed=3))
    call("add", str(source), str(other))
    result = call("remove", "--source", str(other))
    assert result.exit_code == 0
    assert "30 papers" in result.stdout
    assert call("remove", input="n\n").exit_code == 1
    assert (libraries / "default" / "CURRENT").is_file()
    assert call("remove", input="y\n").exit_code == 0
    assert not (libraries / "default").exists()


def test_remove_never_deletes_a_folder_that_is_no_library(
    libraries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (libraries / "default").mkdir(parents=True)
    (libraries / "default" / "thesis.tex").write_text("x", encoding="utf-8")
    assert run(["library", "remove", "--yes"]) == 2
    assert "library-foreign" in capsys.readouterr().err
    assert (libraries / "default" / "thesis.tex").is_file()


def test_bad_records_are_told_with_file_and_line(call: Call, source: Path) -> None:
    source.write_text(source.read_text("utf-8") + "{broken\n", encoding="utf-8")
    result = call("add", str(source))
    assert result.exit_code == 0
    assert "1 bad" in result.stdout
    assert f"{source}:31" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add", "nowhere.bib"], "source-missing"),
        (["add", "config.toml"], "source-unknown"),
        (["add", "config.toml", "--format", "cookbook"], "source-unknown"),
        (["status", "--name", "../up"], "library-name"),
        (["remove", "--yes"], "library-missing"),
    ],
)
def test_what_cannot_be_done_ends_with_code_2_and_a_cure(
    libraries: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    assert run(["library", *arguments]) == 2
    shown = capsys.readouterr().err
    assert code in shown
    assert len(shown.splitlines()) == 2


def test_the_command_runs_as_a_process_with_progress_on_stderr(
    libraries: Path, source: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "citewell", "library", "add", str(source), "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["works"] == 30
    assert re.fullmatch(r"Done in \d+\.\d s\.\n", done.stderr)


def test_without_its_package_the_starter_says_what_to_install(
    libraries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["library", "add", "starter"]) == 2
    shown = capsys.readouterr().err
    assert "starter-missing" in shown
    assert "corpus_tools/starter" in shown


def test_remove_leaves_a_file_that_somebody_keeps_in_a_library(
    call: Call, libraries: Path, source: Path
) -> None:
    call("add", str(source))
    for name in ("notes.txt", ".DS_Store", ".sources.json.1.tmp"):
        (libraries / "default" / name).write_text("mine")
    assert call("remove", "--yes").exit_code == 0
    kept = sorted(path.name for path in (libraries / "default").iterdir())
    assert kept == [".DS_Store", "notes.txt"]
