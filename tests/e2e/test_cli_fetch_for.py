"""`citewell library fetch --for PAPER`: a selection planned from what a paper cites, shown, agreed
to, and fetched, against a server with the limits and faults of OpenAlex."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.e2e.conftest import Run, citewell_in
from tests.fakes.bulk import BulkServer

from citewell.corpus.library import Library

BIB = """@article{a, title={On the growth of the Alder number 40}, author={Alder, Ann}, year=2000,
  doi={10.5555/oa.40}}
@article{b, title={On the growth of the Cedar number 42}, author={Cedar, Ann}, year=2002,
  doi={10.5555/oa.42}}
@article{c, title={On the growth of the Dogwood number 43}, author={Dogwood, Ann}, year=2003}
@article{d, title={Nowhere to be found}, author={Elm, A.}, year=2001}
@article{e, title={Uncited}, author={Elm, A.}, year=2001, doi={10.5555/oa.9}}
"""
PAPER = r"""\documentclass{article}\begin{document}
Trees grow \cite{a,b,c,d}.
\bibliography{refs}\end{document}
"""


@pytest.fixture
def run(fetch_env: dict[str, str], tmp_path: Path) -> Run:
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    (tmp_path / "paper.md").write_text("---\nbibliography: refs.bib\n---\nSee [@a; @b; @c].\n")
    return citewell_in(tmp_path, fetch_env, "library")


def numbers(fetch_env: dict[str, str]) -> set[int]:
    with Library.open(Path(fetch_env["CITEWELL_LIBRARY_PATH"]) / "mine") as found:
        return {int(work.title.rsplit(" ", 1)[1]) for work in found.iter_works()}


@pytest.mark.parametrize("paper", ["paper.tex", "paper.md", "."])
def test_the_plan_says_in_words_what_would_be_fetched_and_fetches_nothing(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, paper: str
) -> None:
    done = run("fetch", "--for", paper)
    assert done.returncode == 1, done.stderr
    known = 3
    cited = 3 if paper == "paper.md" else 4
    message = " ".join(done.stderr.split())
    assert "About 232 works on Growth of Trees from 2000 on, most cited first" in message
    assert "with what your references cite, and the latest of Journal of Trees" in message
    assert f"4 requests to OpenAlex, which knows {known} of your {cited} references." in message
    assert "No key of OpenAlex is set" in message
    assert "Nothing was fetched: add --yes" in message
    assert not (Path(fetch_env["CITEWELL_LIBRARY_PATH"]) / "mine").exists()
    # The uncited entry and the sentences of the paper stay here.
    sent = unquote(" ".join(bulk.requests))
    assert "oa.9" not in sent and "Trees grow" not in sent


ITEMS = [
    {"itemType": "journalArticle", "itemKey": f"AAAA{number}", "date": "2000",
     "title": f"On the growth of the Alder number {number}", "DOI": f"10.5555/oa.{number}"}
    for number in (40, 42)
]  # fmt: skip


@pytest.mark.parametrize("named", ["zotero:My bees", "zotero.json"])
def test_a_collection_of_zotero_is_planned_as_a_paper_is(
    zotero: Any, run: Run, tmp_path: Path, named: str
) -> None:
    (tmp_path / "zotero.json").write_text(json.dumps({"items": ITEMS}), encoding="utf-8")
    service = zotero(raw=json.dumps({"items": ITEMS}).encode())
    done = run("fetch", "--for", named, CITEWELL_ZOTERO_URL=service.url)
    assert "which knows 2 of your 2 references" in " ".join(done.stderr.split())
    done = run("fetch", "--for", "zotero:My bees", CITEWELL_ZOTERO_URL="http://127.0.0.1:9")
    assert done.returncode == 2 and "Zotero does not answer" in done.stderr
    done = run("fetch", "--for", "none.tex")
    assert done.returncode == 2 and "does not exist" in done.stderr


def test_after_the_yes_references_come_first_then_their_references_then_the_most_cited(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    bulk.edges = {40: [3, 5], 42: [5, 7], 43: [5]}
    done = run("fetch", "--for", "paper.tex", "--max", "12", "--yes")
    assert done.returncode == 0, done.stderr
    found = numbers(fetch_env)
    assert {40, 42, 43, 3, 5, 7} <= found
    # A page is kept whole: of the topics it holds the hundred most cited works.
    assert found - {40, 42, 43, 3, 5, 7} == set(range(250, 450, 2))
    requests = [unquote(path) for path in bulk.requests]
    (first,) = [path for path in requests if "W1040|W1042|W1043|W1005" in path]
    assert requests.index(first) < next(
        n
        for n, path in enumerate(requests)
        if "topics.id:T10,primary_location.source.id:S8" in path
    )


def test_what_the_bounds_leave_is_said(run: Run) -> None:
    done = run("fetch", "--for", "refs.bib", "--max", "100", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["works"] == 100
    done = run("fetch", "--for", "refs.bib", "--max-megabytes", "1", "--dry-run", "--json")
    assert json.loads(done.stdout)["megabytes"] <= 1


def test_nothing_is_sent_without_permission(bulk: BulkServer, run: Run) -> None:
    done = run("fetch", "--for", "paper.tex", "--yes", CITEWELL_SOURCES_ALLOW="crossref")
    assert done.returncode == 2
    assert "citewell sources allow openalex" in done.stderr
    assert bulk.requests == []


def test_a_paper_whose_references_are_unknown_is_said(
    run: Run, fetch_env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "other.bib").write_text("@article{x, title={Never seen}, year=1900}\n")
    done = run("fetch", "--for", "other.bib")
    assert done.returncode == 2 and "knows none of the 1 references" in done.stderr
    (tmp_path / "none.bib").write_text("% nothing\n")
    done = run("fetch", "--for", "none.bib")
    assert done.returncode == 2 and "cites nothing" in done.stderr
    assert run("fetch").returncode == 2
    assert run("fetch", "arxiv", "--for", "paper.tex").returncode == 2


def test_broken_records_are_left_out_of_the_plan(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    broken: list[Any] = [
        None, 7, {}, {"id": None}, {"id": "https://openalex.org/W1", "topics": "x", "doi": 5,
        "primary_location": None, "referenced_works": {"a": 1}, "publication_year": "soon"},
        {"id": "https://openalex.org/W2", "topics": [None, {"id": 3, "display_name": ["x"]}],
        "primary_location": {"source": 4}, "referenced_works": [None, 8, "https://x.org/Q1"]},
    ]  # fmt: skip
    body = json.dumps({"meta": {"count": 6}, "results": broken}).encode()
    bulk.fault = lambda number, path: (200, {}, body) if number == 0 else None
    done = run("fetch", "--for", "paper.tex", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["works"] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="no process is killed so there")
def test_a_killed_fetch_goes_on_with_the_same_plan(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    bulk.page, bulk.slow = 20, 0.1
    process = subprocess.Popen(
        [sys.executable, "-m", "citewell", "library", "fetch", "--for", "paper.tex", "--yes"],
        cwd=tmp_path, env=fetch_env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(bulk.requests) < 12 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before, bulk.slow = len(bulk.requests), 0.0
    done = run("fetch", "--for", "paper.tex", "--yes")
    assert done.returncode == 0, done.stderr
    after = [unquote(path) for path in bulk.requests[before:]]
    # Neither the references nor the pages before the kill are requests for again.
    assert not any("doi:" in path or "title.search" in path for path in after)
    assert not any("W1040|" in path for path in after)
    assert numbers(fetch_env) == {37, 39, 41, 43, *range(0, 450, 2)}


def test_a_refresh_asks_for_new_works_on_the_topics(
    bulk: BulkServer, fetch_env: dict[str, str], run: Run
) -> None:
    assert run("fetch", "--for", "paper.tex", "--max", "12", "--yes").returncode == 0
    (state,) = (Path(fetch_env["CITEWELL_LIBRARY_PATH"]) / ".fetched").glob("*/fetch.json")
    fetched = json.loads(state.read_bytes())
    state.write_text(json.dumps(fetched | {"begun": "2026-01-02"}), encoding="utf-8")
    (age,) = [line for line in run("status").stdout.splitlines() if line.startswith("fetched:")]
    assert "works from OpenAlex on 2026-01-02" in age
    assert age.endswith("days ago; `citewell library refresh` adds what is new")
    before = len(bulk.requests)
    done = run("refresh")
    assert done.returncode == 0, done.stderr
    (request,) = [unquote(path) for path in bulk.requests[before:]]
    assert "topics.id:T10,publication_year:>1999,from_publication_date:2026-01-02" in request
    assert "source.id" not in request
