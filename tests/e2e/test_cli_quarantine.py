"""`citewell library quarantine`: papers with malformed names are kept, and left out of searches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RECORDS = """\
@article{sound, title = {Bridges over slow rivers}, author = {Fir, Clara}, year = 2015,
  journal = {Rivers}, doi = {10.5555/bridges}}
@article{mail, title = {Dams across slow rivers}, author = {elm@example.org}, year = 2016,
  journal = {Rivers}, doi = {10.5555/dams}}
@article{many, title = {Ferries between slow rivers}, author = {Ash, Ann; Beech, Ben}, year = 2017,
  journal = {Rivers}, doi = {10.5555/ferries}}
"""
REPAIRED = """\
@article{dams, title = {Dams Across Slow Rivers}, author = {Elm, Bo}, year = 2016,
  journal = {Rivers}, doi = {10.5555/dams}}
"""


class Commands:
    """Citewell in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "config.toml").touch()
        self._environment = {
            n: v for n, v in os.environ.items() if not n.startswith("CITEWELL")
        } | {
            "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
            "CITEWELL_LIBRARY_NAME": "mine",
            "CITEWELL_LIBRARY_STARTER": "false",
            "CITEWELL_CONFIG": str(folder / "config.toml"),
            "OMP_NUM_THREADS": "1",
        }

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "citewell", *arguments], cwd=self._folder,
            env=self._environment, capture_output=True, encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip

    def titles(self, text: str) -> set[str]:
        """First words of what a search finds."""
        found = json.loads(self("find", "--json", text).stdout)
        return {hit["work"]["title"].split()[0] for hit in found["hits"]}

    def quarantine(self, *arguments: str) -> dict[str, Any]:
        done = self("library", "quarantine", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def run(tmp_path: Path) -> Commands:
    (tmp_path / "refs.bib").write_text(RECORDS, encoding="utf-8")
    return Commands(tmp_path)


def test_a_malformed_name_keeps_a_paper_out_of_search_until_it_is_released(
    run: Commands, tmp_path: Path
) -> None:
    done = run("library", "add", "refs.bib")
    assert "2 papers with malformed author names are left out of searches" in done.stdout
    assert "`citewell library quarantine`" in done.stdout
    assert run.titles("slow rivers") == {"Bridges"}
    # Nothing is lost.
    listed = run("library", "quarantine").stdout
    assert "In quarantine: 2 papers" in listed
    assert "e-mail address: elm@example.org" in listed and "several names in one: " in listed
    assert "Dams across slow rivers" in run("library", "explain", "10.5555/dams").stdout
    assert "2 papers with malformed" in run("library", "status").stdout
    (one, other) = run.quarantine()["quarantined"]
    assert {one["title"].split()[0], other["title"].split()[0]} == {"Dams", "Ferries"}
    assert one["added_from"] == [str(tmp_path / "refs.bib")]

    found = run.quarantine("--release", one["id"])
    assert [work["id"] for work in found["released"]] == [one["id"]]
    assert [work["id"] for work in found["quarantined"]] == [other["id"]]
    first = one["title"].split()[0]
    assert run.titles("slow rivers") == {"Bridges", first}
    # A release holds for later builds.
    (tmp_path / "refs.bib").write_text(RECORDS + "\n", encoding="utf-8")
    assert "1 paper with malformed" in run("library", "build", "--fresh").stdout
    assert run.titles("slow rivers") == {"Bridges", first}
    assert (
        "Not in quarantine: nothing" in run("library", "quarantine", "--release", "nothing").stderr
    )
    assert run.quarantine("--release-all")["quarantined"] == []
    assert run.titles("slow rivers") == {"Bridges", "Dams", "Ferries"}
    assert "with malformed" not in run("library", "build").stdout
    assert run("library", "status", "--verify").returncode == 0


def test_a_record_with_sound_names_ends_the_quarantine(run: Commands, tmp_path: Path) -> None:
    run("library", "add", "refs.bib")
    (tmp_path / "other.bib").write_text(REPAIRED, encoding="utf-8")
    done = run("library", "add", "other.bib")
    assert "1 paper with malformed" in done.stdout, done.stdout
    assert run.titles("slow rivers") == {"Bridges", "Dams"}
    (found,) = json.loads(run("library", "explain", "10.5555/dams", "--json").stdout)
    assert len(found["records"]) == 2 and len(found["added_from"]) == 2
    assert found["work"]["authors"] == [["Elm", "Bo", ""]]
    # Other segments keep theirs.
    (tmp_path / "third.bib").write_text(
        "@misc{x, title = {Mills by slow rivers}, author = {Ivy, Dora}, year = 2001}",
        encoding="utf-8",
    )
    assert "1 paper with malformed" in run("library", "add", "third.bib").stdout
    assert run.titles("slow rivers") == {"Bridges", "Dams", "Mills"}
