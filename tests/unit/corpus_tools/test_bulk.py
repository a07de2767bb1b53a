"""Patterns of files: read by several processes, resumed by file, bounded when merged."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from citewell.corpus.errors import LibraryError
from citewell.corpus.library import Library
from citewell.model import Work
from citewell.options import Options
from citewell_corpus.build import BuildReport, build_library, default_builders
from citewell_corpus.processes import run_tasks
from citewell_corpus.sources import source_at
from citewell_corpus.stages import clusters
from citewell_corpus.stages.importing import read_files
from citewell_corpus.stages.staging import KeyCollector, RecordKeyTable, map_tables, save_table

PARTS = 4
TITLES = ("Hedgehogs", "Tunnels", "Gardens", "Fences", "Cameras", "Highways", "Meadows", "Ponds")

BUILD = """
import sys
from pathlib import Path
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

if __name__ == "__main__":
    folder, pattern = sys.argv[1:]
    build_library(
        Path(folder), add=[source_at(pattern)], builders=default_builders(Options()), jobs=2
    )
"""


def openalex(number: int, references: tuple[int, ...] = ()) -> dict[str, Any]:
    return {
        "id": f"https://openalex.org/W{number}",
        "title": f"{TITLES[number % len(TITLES)]} beside roads, part {number}",
        "publication_year": 2000 + number % 20,
        "type": "article",
        "authorships": [{"author": {"display_name": f"Kim Name{number}"}}],
        "cited_by_count": number,
        "referenced_works": [f"https://openalex.org/W{one}" for one in references],
        "abstract_inverted_index": {"Animals": [0], "and": [1], "roads": [2]},
    }


def write_gz(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A small snapshot of OpenAlex: its parts are in folders named after a day, one record is in
    two parts, and what papers cite is in other parts."""
    for part in range(PARTS):
        numbers = range(10 * part, 10 * part + 10)
        records = [
            openalex(one, tuple(n % 40 for n in range(one + 7, one + 11))) for one in numbers
        ]
        if part == 1:
            records.append(openalex(3, (20, 21, 22)))
        day = tmp_path / "works" / f"updated_date=2026-11-0{part + 1}"
        write_gz(day / "part_000.gz", [json.dumps(record) for record in records])
    return tmp_path / "works" / "*" / "*.gz"


def content(folder: Path) -> tuple[list[Work], list[list[int]]]:
    with Library.open(folder) as library:
        assert library.verify() == []
        works = [msgspec.structs.replace(w, provenance=()) for w in library.iter_works()]
        priors = [part.priors() for part in library.citing]
        return works, [one.key.tolist() + one.list_cited.tolist() for one in priors]


def test_a_pattern_gives_the_library_of_the_same_records_in_one_file(
    snapshot: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.jsonl"
    files = sorted((tmp_path / "works").rglob("*.gz"))
    whole.write_bytes(b"".join(gzip.decompress(file.read_bytes()) for file in files))
    made = {}
    for name, path, jobs in (("one", whole, 1), ("two", snapshot, 1), ("three", snapshot, 3)):
        builders = default_builders(Options())
        report = build_library(
            tmp_path / name, add=[source_at(str(path))], builders=builders, jobs=jobs
        )
        assert report.works == 40
        assert report.sources[0].lists == 41
        made[name] = content(tmp_path / name)
    assert made["one"] == made["two"] == made["three"]
    # The references of a part lead to works of others.
    assert len(made["two"][1][0]) > 40


def test_a_bad_line_and_a_damaged_file_cost_nothing_else(
    snapshot: Path, tmp_path: Path, build: Callable[..., BuildReport]
) -> None:
    first = tmp_path / "works" / "updated_date=2026-11-01" / "part_000.gz"
    lines = gzip.decompress(first.read_bytes()).decode().splitlines()
    write_gz(first, [*lines[:4], '{"id": "https://openalex.org/W', *lines[4:]])
    cut = tmp_path / "works" / "updated_date=2026-11-04" / "part_000.gz"
    cut.write_bytes(cut.read_bytes()[:-40])
    (tmp_path / "works" / "updated_date=2026-11-04" / "notes.gz").write_bytes(gzip.compress(b"hi"))
    report = build(snapshot, jobs=2)
    assert report.works == 30
    (source,) = report.sources
    assert (source.bad, source.skipped) == (2, {"other files": 1})
    bad, damaged = source.problems
    assert (bad.code, bad.path, bad.line) == ("record-bad", str(first), 5)
    assert (damaged.code, damaged.path) == ("source-unreadable", str(cut))


def test_an_increment_marks_retractions_and_adds_works_and_reads_its_file_alone(
    snapshot: Path, tmp_path: Path, build: Callable[..., BuildReport]
) -> None:
    assert build(snapshot).works == 40
    increment = tmp_path / "works-2026-12.gz"
    records = [openalex(3) | {"is_retracted": True, "cited_by_count": 900}, openalex(99)]
    write_gz(increment, [json.dumps(record) for record in records])
    added = build(increment)
    assert (added.works, added.added) == (41, 1)
    assert [one.records for one in added.sources] == [2]
    with Library.open(tmp_path / "library") as library:
        changed = [one for one in library.iter_works() if one.retracted]
    assert [(one.id, one.citations) for one in changed] == [("openalex:W3", 900)]


def test_a_pattern_without_files_is_a_problem_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(LibraryError) as caught:
        source_at(str(tmp_path / "*.gz"))
    assert caught.value.problem.code == "source-missing"
    assert "No file matches" in caught.value.problem.message


def test_finished_files_are_not_read_again(snapshot: Path, tmp_path: Path) -> None:
    source = source_at(str(snapshot))
    files = sorted((tmp_path / "works").rglob("*.gz"))
    folder = tmp_path / "staged"
    read_files(folder, "works", source, files[:2], 1, lambda count: None)
    half_read = folder / "part-000002.4711"
    half_read.mkdir()
    for file in files[:2]:
        write_gz(file, ["{}"])
    read = read_files(folder, "works", source, files, 2, lambda count: None)
    assert [counts.records for _, counts in read] == [10, 11, 10, 10]
    assert not half_read.exists()


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_build_takes_its_processes_along_and_goes_on_to_the_same_library(
    snapshot: Path, tmp_path: Path
) -> None:
    lines = gzip.decompress(next((tmp_path / "works").rglob("*.gz")).read_bytes()) * 400
    write_gz(tmp_path / "works" / "zz-last" / "part_000.gz", lines.decode().splitlines())
    build_library(
        tmp_path / "expected", add=[source_at(str(snapshot))], builders=default_builders(Options())
    )
    folder = tmp_path / "killed"
    script = tmp_path / "build.py"
    script.write_text(BUILD, encoding="utf-8")
    child = subprocess.Popen([sys.executable, str(script), str(folder), str(snapshot)])
    staged = folder / "staging" / "source-0"
    workers: list[psutil.Process] = []
    deadline = time.monotonic() + 120
    while not list(staged.glob("part-000001/read.json")) and time.monotonic() < deadline:
        workers = psutil.Process(child.pid).children(recursive=True) or workers
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    kept = {path: path.stat().st_mtime_ns for path in staged.glob("part-*/read.json")}
    assert kept
    build_library(
        folder, add=[source_at(str(snapshot))], builders=default_builders(Options()), jobs=2
    )
    assert content(folder) == content(tmp_path / "expected")


def _die(report: Callable[[int], None]) -> None:
    os._exit(9)


def test_a_process_that_dies_is_a_problem_that_says_how_to_go_on() -> None:
    with pytest.raises(LibraryError) as caught:
        run_tasks([_die, _die], 2, lambda count: None)
    assert caught.value.problem.code == "build-process-died"
    assert "--jobs" in caught.value.problem.hint


def tables(made_up: Callable[..., list[dict[str, Any]]]) -> list[RecordKeyTable]:
    """Records in three tables, a fifth of them twice."""
    found = []
    for seed in range(3):
        collector = KeyCollector()
        records = made_up(60, seed=seed) + made_up(20, seed=0)
        for number, record in enumerate(records):
            collector.add(Work(id=record["id"], title=record["title"], year=record["year"]), number)
        found.append(collector.table())
    return found


def test_records_are_clustered_alike_whatever_is_sorted_at_once(
    made_up: Callable[..., list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for number, table in enumerate(tables(made_up)):
        paths.append(tmp_path / f"{number}.npz")
        save_table(table, paths[-1])
    joined, lengths = map_tables(paths, tmp_path / "keys")
    assert lengths == [80, 80, 80]
    whole = clusters.cluster(joined, lambda record: "")
    monkeypatch.setattr(clusters, "_BAND", 8)
    banded = clusters.cluster(joined, lambda record: "")
    assert whole.root.tolist() == banded.root.tolist()
    assert whole.by_identifier == banded.by_identifier == 60


def titles_of(library: Library) -> set[str]:
    return {work.title for work in library.iter_works()}


def rows_named(library: Library, *numbers: int) -> set[int]:
    """The rows of works of OpenAlex; -1 for one that the library lacks."""
    return set(library.rows_of([f"openalex:W{one}" for one in numbers]).tolist())


class TestMergedWorks:
    """OpenAlex lists works that it merged into others; the snapshot then lacks them."""

    def merged(self, folder: Path, *pairs: tuple[object, object]) -> str:
        rows = [f"2026-11-0{at % 9 + 1},{old},{new}" for at, (old, new) in enumerate(pairs)]
        path = folder / "merged_ids" / "works" / "2026-11-20.csv.gz"
        write_gz(path, ["merge_date,id,merge_into_id", *rows])
        return str(path)

    def library(self, folder: Path, numbers: range) -> Path:
        path = folder / "works.gz"
        write_gz(path, [json.dumps(openalex(one)) for one in numbers])
        build_library(folder / "library", add=[source_at(str(path))])
        return folder / "library"

    def test_two_works_become_one_that_both_ids_name(self, tmp_path: Path) -> None:
        library = self.library(tmp_path, range(6))
        with Library.open(library) as opened:
            before = titles_of(opened)
        pairs = ("W2", "https://openalex.org/W5"), ("W77", "W78"), ("W79", "W1")
        merged = self.merged(tmp_path, *pairs)
        report = build_library(library, add=[source_at(merged)])
        assert (report.added, report.updated, report.works) == (0, 2, 5)
        with Library.open(library) as opened:
            (kept,) = rows_named(opened, 2, 5)
            work = opened.works([kept])[0]
            assert {work.id, *work.same_as} == {"openalex:W2", "openalex:W5"}
            assert titles_of(opened) < before and len(titles_of(opened)) == 5
            assert rows_named(opened, 79) == rows_named(opened, 1)
            assert rows_named(opened, 77, 78) == {-1}
            assert opened.origins_of(kept) == (str(tmp_path / "works.gz"),)

    def test_deleted_works_leave_the_library_and_are_not_joined(self, tmp_path: Path) -> None:
        library = self.library(tmp_path, range(6))
        deleted = "W4285719527"
        pairs = ("W2", deleted), ("W5", deleted), ("W1", "W3"), ("W88", deleted)
        report = build_library(library, add=[source_at(self.merged(tmp_path, *pairs))])
        assert (report.updated, report.removed, report.works) == (1, 2, 3)
        for _ in range(2):
            with Library.open(library) as opened:
                assert rows_named(opened, 2, 5, 88, 4285719527) == {-1}
                assert len(rows_named(opened, 1, 3)) == 1
                assert min(rows_named(opened, 0, 4)) >= 0
            build_library(library, fresh=True)

    def test_rows_that_name_no_works_are_reported_with_their_line(self, tmp_path: Path) -> None:
        library = self.library(tmp_path, range(3))
        merged = self.merged(tmp_path, ("W1", ""), ("A5", "W2"), ("W0", "W2"))
        report = build_library(library, add=[source_at(merged)])
        assert report.works == 2
        (source,) = report.sources
        assert [problem.line for problem in source.problems] == [2, 3]


class TestDeletedPapers:
    """The increments of Semantic Scholar's data sets name the papers that it deleted."""

    def papers(self, folder: Path, name: str, numbers: range) -> str:
        lines = [
            json.dumps(
                {
                    "corpusid": one,
                    "title": f"Study {one} of {'graph parsing speech vision'.split()[one % 4]}",
                    "authors": [{"name": f"Ada Smith{one}"}],
                    "year": 2010 + one,
                    "externalids": {"DOI": f"10.1234/study.{one}"},
                }
            )
            for one in numbers
        ]
        write_gz(folder / name, lines)
        return str(folder / name)

    def deletes(self, folder: Path, *numbers: object) -> str:
        path = folder / "deletes.jsonl.gz"
        write_gz(path, [json.dumps({"corpusid": one}) for one in numbers])
        return str(path)

    def held(self, library: Path) -> set[str]:
        with Library.open(library) as opened:
            return {work.id for work in opened.iter_works()}

    def test_they_leave_the_library_and_a_fresh_build(self, tmp_path: Path) -> None:
        library = tmp_path / "library"
        build_library(library, add=[source_at(self.papers(tmp_path, "papers.gz", range(6)))])
        report = build_library(library, add=[source_at(self.deletes(tmp_path, 1, 4, 77))])
        assert (report.added, report.removed, report.works) == (0, 2, 4)
        left = {f"s2:{one}" for one in (0, 2, 3, 5)}
        assert self.held(library) == left
        build_library(library, fresh=True)
        assert self.held(library) == left

    def test_a_work_that_another_source_holds_stays(self, tmp_path: Path) -> None:
        library, bib = tmp_path / "library", tmp_path / "refs.bib"
        bib.write_text(
            "@article{s, author={Smith1, Ada}, title={Study 1 of parsing}, year={2011},"
            " journal={J}, doi={10.1234/study.1}}\n",
            encoding="utf-8",
        )
        papers = self.papers(tmp_path, "papers.gz", range(3))
        build_library(library, add=[source_at(papers), source_at(str(bib))])
        report = build_library(library, add=[source_at(self.deletes(tmp_path, 0, 1))])
        assert (report.removed, report.works) == (1, 2)
        with Library.open(library) as opened:
            assert {work.doi for work in opened.iter_works()} == {
                "10.1234/study.1",
                "10.1234/study.2",
            }
        build_library(library, fresh=True)
        with Library.open(library) as opened:
            (kept,) = (work for work in opened.iter_works() if work.doi == "10.1234/study.1")
        assert {one.source for one in kept.provenance} == {f"bibtex:{bib}"}

    def test_a_paper_that_a_later_file_brings_again_is_held(self, tmp_path: Path) -> None:
        library = tmp_path / "library"
        build_library(library, add=[source_at(self.papers(tmp_path, "papers.gz", range(3)))])
        build_library(library, add=[source_at(self.deletes(tmp_path, 1))])
        assert self.held(library) == {"s2:0", "s2:2"}
        again = self.papers(tmp_path, "papers-later.gz", range(1, 2))
        build_library(library, add=[source_at(again)])
        assert self.held(library) == {"s2:0", "s2:1", "s2:2"}
        build_library(library, fresh=True)
        assert self.held(library) == {"s2:0", "s2:1", "s2:2"}
