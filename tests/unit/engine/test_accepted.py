"""Where accepted records are kept, and which of them stand behind a library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from citewell.corpus.library import Library
from citewell.engine.accepted import append_records, build_command, drop_records
from citewell.engine.which_library import (
    accepted_library,
    keeps_accepted,
    open_library,
    snapshot_of,
)
from citewell.model import Author, Provenance, Work
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import FileSource

KETTLE = Work(
    id="crossref:10.5555/kettle",
    title="The patience of kettles",
    authors=(Author("Elm", "Ann"),),
    year=2020,
    doi="10.5555/kettle",
    provenance=(Provenance("crossref", "10.5555/kettle", "2026-01-02"), Provenance("arxiv", "1")),
)
CUP = Work(id="dblp:cup", title="Cups and their handles", authors=(Author("Fir", "Bo"),), year=2021)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    return replace(Options(), library=replace(Options().library, path=tmp_path / "libraries"))


def build(folder: Path, *works: Work) -> None:
    append_records(folder, works)
    source = FileSource(path=str(folder / "accepted.jsonl"), format="records")
    build_library(folder, add=[source], builders=default_builders(Options()))


def test_records_keep_who_gave_them_and_when(options: Options) -> None:
    folder = accepted_library(options)
    build(folder, KETTLE)
    with Library.open(folder) as library:
        (work,) = library.iter_works()
    assert work.id == KETTLE.id
    assert work.provenance == KETTLE.provenance


def test_a_work_that_the_library_holds_is_left_out(options: Options, tmp_path: Path) -> None:
    build(accepted_library(options), KETTLE, CUP)
    build(tmp_path / "libraries" / "default", replace(KETTLE, id="acl:1"))
    library, problems = open_library(options)
    with library:
        assert problems == ()
        assert [work.id for work in library.iter_works()] == ["acl:1", "dblp:cup"]
        assert len(library) == 2
        assert library.work("dblp:cup") == library.works([library.rows - 1])[0]
        assert library.snapshot == snapshot_of(options)


def test_a_library_that_may_not_be_written_leaves_them_to_the_data_folder(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert accepted_library(options) == tmp_path / "libraries" / "accepted"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert accepted_library(options) == tmp_path / "data" / "libraries" / "accepted"


def test_records_of_another_encoder_are_not_searched_together(
    options: Options, tmp_path: Path
) -> None:
    build(tmp_path / "libraries" / "default", KETTLE)
    folder = accepted_library(options)
    append_records(folder, [CUP])
    source = FileSource(path=str(folder / "accepted.jsonl"), format="records")
    own = replace(Options(), retrieval=replace(Options().retrieval, dense=False))
    build_library(folder, add=[source], builders=default_builders(own))
    library, _ = open_library(options)
    with library:
        assert len(library) == 1
    assert "retrieval.bm25=true" in build_command(options, folder)


def test_dropped_records_are_gone_and_the_others_stay(options: Options) -> None:
    folder = accepted_library(options)
    append_records(folder, [KETTLE, CUP])
    assert drop_records(folder, {KETTLE.id}) == 1
    assert b"Cups" in (folder / "accepted.jsonl").read_bytes()


def test_the_library_of_accepted_records_is_not_put_behind_itself(options: Options) -> None:
    assert keeps_accepted(options)
    assert not keeps_accepted(replace(options, library=replace(options.library, name="accepted")))
    assert not keeps_accepted(replace(options, sources=replace(options.sources, keep=False)))
