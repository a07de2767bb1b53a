"""`citewell library harvest`: references followed level by level over a local OpenAlex, with faults
and a kill in the middle, over a graph of real citations."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, citewell_in
from tests.fakes.bulk import BulkServer

from citewell.corpus.library import Library

SHARED = Path(__file__).parents[3] / "shared" / "data" / "graph"


@pytest.fixture
def run(fetch_env: dict[str, str], tmp_path: Path, bulk: BulkServer) -> Run:
    bulk.count = 200
    return citewell_in(tmp_path, fetch_env, "library", "harvest")


def titles(fetch_env: dict[str, str]) -> set[str]:
    with Library.open(Path(fetch_env["CITEWELL_LIBRARY_PATH"]) / "mine") as found:
        return {work.title for work in found.iter_works()}


def harvested(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    found: dict[str, object] = json.JSONDecoder().raw_decode(done.stdout)[0]
    return found


def test_references_are_followed_to_the_depth_that_is_asked_for(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.edges = {0: [1, 2], 1: [3], 2: [3, 4], 3: [0, 5], 5: [6]}
    done = run("10.5555/oa.0", "--depth", "2", "--json")
    assert done.returncode == 0, done.stderr
    report = harvested(done)
    assert report["levels"] == [
        {"works": 1, "edges": 2}, {"works": 2, "edges": 3}, {"works": 2, "edges": 1},
    ]  # fmt: skip
    assert {int(title.rsplit(" ", 1)[1]) for title in titles(fetch_env)} == {0, 1, 2, 3, 4}
    assert "papers cite" in done.stdout


def test_seeds_are_papers_bib_files_identifiers_and_words(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    bulk.edges = {}
    (tmp_path / "refs.bib").write_text(
        "@article{a, title={On the growth of the Fir number 5}, author={Fir, Ann}, year=2005}\n"
        "@article{b, title={Another}, author={Ivy, A.}, year=2001, doi={10.5555/oa.7}}\n"
        "@article{c, title={Nowhere to be found}, author={Elm, A.}, year=2001}\n"
    )
    (tmp_path / "paper.md").write_text("---\nbibliography: refs.bib\n---\nSee [@b].\n")
    done = run("refs.bib", "paper.md", "10.5555/oa.9", "trees that grow", "--depth", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert harvested(done)["missing_seeds"] == 1
    assert {int(title.rsplit(" ", 1)[1]) for title in titles(fetch_env)} == {0, 5, 7, 9}


def test_the_most_works_end_it_and_more_are_brought_by_the_next_run(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    done = run("10.5555/oa.150", "--depth", "5", "--max", "7", "--json")
    assert harvested(done)["works"] == 7
    assert harvested(done)["done"] is False
    done = run("10.5555/oa.150", "--depth", "5", "--max", "12", "--json")
    assert harvested(done)["works"] == 12
    assert len(titles(fetch_env)) == 12


def test_a_source_that_stops_keeps_what_there_is_and_the_next_run_goes_on(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.fault = lambda number, path: (403, {}, b"") if number >= 4 else None
    done = run("10.5555/oa.150", "--depth", "5")
    assert done.returncode == 1
    assert "fetch-stopped" in done.stderr
    before = len(titles(fetch_env))
    bulk.fault = lambda number, path: None
    done = run("10.5555/oa.150", "--depth", "5")
    assert done.returncode == 0, done.stderr
    assert before < len(titles(fetch_env)) == 16


def test_nothing_is_sent_when_the_source_is_not_allowed(
    bulk: BulkServer, run: Run, fetch_env: dict[str, str]
) -> None:
    fetch_env["CITEWELL_SOURCES_ALLOW"] = "crossref"
    done = run("10.5555/oa.0", "--source", "openalex")
    assert done.returncode == 2
    assert "citewell sources allow openalex" in done.stderr
    assert bulk.requests == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the graph of citations is not there")
@pytest.mark.skipif(sys.platform == "win32", reason="no process is killed so there")
def test_thousands_of_works_of_real_citations_survive_a_kill(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    numbers: dict[str, int] = {}
    edges: dict[int, list[int]] = {}
    for name in ("edges.tsv.gz", "edges2.tsv.gz"):
        with gzip.open(SHARED / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                citing, cited = line.split()[:2]
                for one in (citing, cited):
                    if one not in numbers and len(numbers) < 4_000:
                        numbers[one] = len(numbers)
                if citing in numbers and cited in numbers:
                    edges.setdefault(numbers[citing], []).append(numbers[cited])
    bulk.count, bulk.edges, bulk.slow = len(numbers), edges, 0.02
    # Those that cite the most works of their kind.
    seeds = sorted(edges, key=lambda i: -len(edges[i]))[:30]
    expected, level = set(seeds), set(seeds)
    for _ in range(3):
        level = {j for i in level for j in edges.get(i, ())} - expected
        expected |= level
    arguments = [f"10.5555/oa.{i}" for i in seeds] + ["--depth", "3", "--max", "20000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "citewell", "library", "harvest", *arguments], cwd=tmp_path,
        env=fetch_env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(bulk.requests) < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    bulk.slow = 0.0
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    report = harvested(done)
    assert report["works"] == len(expected)
    assert report["edges"] == sum(
        j in expected for i in expected for j in dict.fromkeys(edges.get(i, ())[:500])
    )
    assert len(titles(fetch_env)) == len(expected)
