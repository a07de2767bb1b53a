"""`citewell library fetch` and `refresh` against servers that speak the documented protocols, with
faults, and killed in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.e2e.conftest import Run, citewell_in
from tests.fakes.bulk import BulkServer

from citewell.corpus.library import Library


@pytest.fixture
def run(fetch_env: dict[str, str], tmp_path: Path) -> Run:
    return citewell_in(tmp_path, fetch_env, "library")


def library(fetch_env: dict[str, str]) -> Library:
    return Library.open(Path(fetch_env["CITEWELL_LIBRARY_PATH"]) / "mine")


SELECTIONS = {
    "openalex": ("--topic", "tree growth", "--since", "2000", "--cited-at-least", "1"),
    "arxiv": ("--category", "cs.CL"),
    "acl-anthology": (),
    "retraction-watch": (),
    "semantic-scholar": ("--query", "trees"),
    "crossref": ("--query", "trees"),
    "dblp": ("--venue", "TREES"),
}


WHOLE = ("acl-anthology", "retraction-watch")
"""Sources that are one file."""


@pytest.mark.parametrize("source", SELECTIONS)
def test_every_source_is_fetched_page_by_page_and_built(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, source: str
) -> None:
    bulk.count, bulk.page = 230, None if source in WHOLE else 100
    done = run("fetch", source, *SELECTIONS[source])
    assert done.returncode == 0, done.stderr
    missing = 4 if source == "arxiv" else 0  # Deleted records.
    assert f"{230 - missing} works fetched from {source}" in done.stdout
    with library(fetch_env) as found:
        assert len(found) == 230 - missing
        work = next(w for w in found.works(range(len(found))) if w.title.endswith("number 7"))
    assert work.year == 2007
    assert work.authors[0].family == "Hazel"


def test_arxiv_is_asked_for_words_within_categories_and_years(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.count, bulk.page = 230, 100
    arguments = ("--query", "tree growth", "--category", "cs.CL", "--since", "2000")
    done = run("fetch", "arxiv", *arguments)
    assert done.returncode == 0, done.stderr
    assert "230 works fetched from arxiv" in done.stdout
    queries = [dict(parse_qsl(urlsplit(one).query)) for one in bulk.requests if "/query" in one]
    assert [one["start"] for one in queries] == ["0", "100", "200"]
    assert {one["search_query"] for one in queries} == {
        "all:tree AND all:growth AND (cat:cs.CL) AND submittedDate:[200001010000 TO 210012312359]"
    }
    with library(fetch_env) as found:
        work = next(w for w in found.works(range(len(found))) if w.title.endswith("number 7"))
    assert (work.arxiv, work.year, work.authors[0].family) == ("2001.00007", 2007, "Hazel")
    assert work.keywords == ("cs.CL",) and work.abstract == "On trees."


def test_retracted_papers_are_reported_offline_once_their_list_was_fetched(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    bulk.count = 12
    assert run("fetch", "retraction-watch").returncode == 0
    title = "Trees that grow in dry valleys, number 7"
    with library(fetch_env) as found:
        title = next(w.title for w in found.works(range(len(found))) if w.title.endswith(" 7"))
    bib = (
        f"@article{{hazel,\n  title = {{{title}}},\n  author = {{Hazel, Ann}},\n  year = 2007\n}}\n"
    )
    (tmp_path / "refs.bib").write_text(bib, encoding="utf-8")
    sent = len(bulk.requests)
    done = citewell_in(tmp_path, fetch_env)("check", "refs.bib", "--format", "json")
    (check,) = json.loads(done.stdout)["checks"]
    assert check["verdict"] == "wrong-detail"
    assert [one["code"] for one in check["findings"]] == ["retracted"]
    assert "10.5555/notice.7" in json.dumps(check)
    assert len(bulk.requests) == sent


def test_nothing_is_sent_to_a_source_that_is_not_allowed(bulk: BulkServer, run: Run) -> None:
    done = run("fetch", "arxiv", "--category", "cs.CL", CITEWELL_SOURCES_ALLOW="crossref")
    assert done.returncode == 2
    assert "citewell sources allow arxiv" in done.stderr
    assert bulk.requests == []


def test_a_dry_run_says_how_much_it_would_be_and_keeps_nothing(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.count = 12_345
    done = run("fetch", "openalex", "--topic", "trees", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    estimate = json.loads(done.stdout)
    assert estimate["works"] == 12_345
    assert estimate["megabytes"] > 1 and estimate["seconds"] > 10
    # One request for the name, one for the page.
    assert len(bulk.requests) == 2
    assert not (Path(fetch_env["CITEWELL_LIBRARY_PATH"]) / "mine").exists()


def test_a_maximum_is_kept_and_the_next_round_goes_on_behind_it(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.count, bulk.page = 230, 100
    for number in (20, 40):
        done = run("fetch", "crossref", "--query", "trees", "--max", "20")
        assert done.returncode == 0, done.stderr
        with library(fetch_env) as opened:
            assert len(opened) == number
    assert run("fetch", "crossref", "--query", "trees").returncode == 0
    with library(fetch_env) as opened:
        assert len(opened) == 230


def test_names_become_identifiers_and_unknown_ones_are_said(bulk: BulkServer, run: Run) -> None:
    done = run("fetch", "openalex", "--topic", "trees", "--author", "A5", "--max", "10")
    assert done.returncode == 0, done.stderr
    assert "topics.id%3AT77%2Cauthorships.author.id%3AA5" in bulk.requests[1]
    done = run("fetch", "openalex", "--venue", "nowhere at all")
    assert done.returncode == 2
    assert "knows no venue named 'nowhere at all'" in done.stderr
    done = run("fetch", "arxiv", "--topic", "trees")
    assert done.returncode == 2 and "cannot select by --topic." in done.stderr
    assert "It takes --category, --query, --since, --until." in done.stderr
    done = run("fetch", "openalex", "--since", "2020")
    assert done.returncode == 2 and "too many works" in done.stderr


def test_what_openalex_says_of_references_teaches_how_papers_are_cited(
    bulk: BulkServer, run: Run
) -> None:
    done = run("fetch", "openalex", "--topic", "trees")
    assert done.returncode == 0, done.stderr
    assert "papers cite" in done.stdout


FAULTS: dict[str, Any] = {
    "429": (429, {"retry-after": "0"}, b""),
    "503": (503, {}, b"busy"),
    "half a page": "cut",
    "not JSON": (200, {}, b"<html>maintenance</html>"),
    "another shape": (200, {}, b'{"error": "x"}'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_costs_a_retry_and_no_work(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, fault: str
) -> None:
    bulk.count, bulk.page = 90, 30
    bulk.fault = lambda number, path: FAULTS[fault] if number in (2, 3) else None
    done = run("fetch", "openalex", "--topic", "trees")
    assert done.returncode == 0, done.stderr
    with library(fetch_env) as found:
        assert len(found) == 90


def test_a_source_that_refuses_ends_the_fetch_and_keeps_what_there_is(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.fault = lambda number, path: (403, {}, b"") if number >= 3 else None
    done = run("fetch", "openalex", "--topic", "trees")
    assert done.returncode == 1
    assert "fetch-refused" in done.stderr
    assert "run the same command again" in done.stderr


def test_a_cursor_that_the_source_forgot_begins_the_round_again(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.fault = lambda number, path: (400, {}, b"") if number == 2 else None
    done = run("fetch", "openalex", "--topic", "trees")
    assert done.returncode == 0, done.stderr
    with library(fetch_env) as found:
        assert len(found) == 450
    assert sum("cursor=%2A" in path for path in bulk.requests) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no process is killed so there")
def test_a_fetch_that_is_killed_goes_on_with_the_page_that_it_was_at(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    bulk.count, bulk.page, bulk.slow = 1000, 50, 0.1
    process = subprocess.Popen(
        [sys.executable, "-m", "citewell", "library", "fetch", "crossref", "--query", "trees"],
        cwd=tmp_path, env=fetch_env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(bulk.requests) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(bulk.requests)
    bulk.slow = 0.0
    done = run("fetch", "crossref", "--query", "trees")
    assert done.returncode == 0, done.stderr
    assert "1000 in all" in done.stdout.replace(",", "")
    # Pages before the kill are not asked for again; the last one may be.
    assert len(bulk.requests) - before <= 22 - (before - 2)
    with library(fetch_env) as found:
        assert len(found) == 1000


def test_refresh_asks_for_what_is_new_since_and_adds_it(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    assert run("fetch", "crossref", "--query", "trees").returncode == 0
    bulk.count = 460
    first = len(bulk.requests)
    done = run("refresh")
    assert done.returncode == 0, done.stderr
    assert "from-index-date" in bulk.requests[first]
    with library(fetch_env) as found:
        assert len(found) == 460


def test_nothing_fetched_is_said(run: Run) -> None:
    done = run("refresh")
    assert done.returncode == 2
    assert "citewell library fetch" in done.stderr
