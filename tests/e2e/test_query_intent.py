"""Recent work, methods, surveys: the intent of typed words, on the command line and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import Run, citewell_in, server

RECORDS = [
    {"title": "Parsing of Rivers with Grammars", "year": 2001, "citations": 90},
    {"title": "Parsing of Meadows", "year": 2011, "citations": 40},
    {"title": "Parsing of Valleys by Attention", "year": 2023, "citations": 3},
    {"title": "A Survey of Parsing", "year": 2015, "citations": 50},
    {"title": "Parsing: a critical review", "year": 2009, "citations": 20},
    {"title": "A Corpus of Parsing", "year": 2014, "citations": 30},
    {"title": "Parsing Product Reviews", "year": 2018, "citations": 10},
    {"title": "Helpfulness in Peer Review of Parsing", "year": 2019, "citations": 10},
    {"title": "Book Review: Parsing", "year": 1990, "citations": 0},
    {"title": "Overview of the Shared Task on Parsing", "year": 2017, "citations": 10},
    {"title": "Recent Advances in Weaving of Baskets", "year": 2005, "citations": 10},
    {"title": "Weaving of Baskets", "year": 2020, "citations": 10},
    *({"title": f"Pottery with Glaze {n}", "year": 2010, "citations": n, "venue": "Clay",
       "authors": [f"Bo He{n}"]} for n in range(5)),
    *({"title": f"Glaze and Pottery {n}", "year": 2022, "citations": 100 * n, "venue": "Kiln",
       "authors": ["Chi Okafor"]} for n in range(5)),
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder and an environment with the library of `RECORDS`."""
    from tests.e2e.conftest import clean_env

    folder = tmp_path_factory.mktemp("home")
    env = clean_env(folder) | {"CITEWELL_LIBRARY_PATH": str(folder / "libraries")}
    records = [
        {"id": str(n), "authors": ["Ana Ruiz"], "source": "test-records", **one}
        for n, one in enumerate(RECORDS)
    ]
    (folder / "papers.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    done = citewell_in(folder, env)("library", "add", "papers.jsonl")
    assert done.returncode == 0, done.stderr
    return folder, env


@pytest.fixture(scope="module")
def run(home: tuple[Path, dict[str, str]]) -> Run:
    """`citewell` with this library."""
    return citewell_in(*home)


@pytest.fixture(scope="module")
def url(home: tuple[Path, dict[str, str]]) -> Iterator[str]:
    """The address of a server with this library."""
    with server(home[1]) as (address, _):
        yield address


def search(url: str, **request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = (
        httpx2.post(f"{url}/v1/search", json=request, timeout=120).raise_for_status().json()
    )
    return answer


@pytest.mark.parametrize(
    ("text", "understood", "first"),
    [
        ("recent advances in parsing", "order: recent", "Parsing of Valleys by Attention"),
        ("What is the latest progress in parsing?", "order: recent", "Parsing of Valleys by Attention"),
        ("trends in parsing", "order: recent", "Parsing of Valleys by Attention"),
        ("overview of parsing", "kind: survey", "A Survey of Parsing"),
        ("parsing survey", "kind: survey", "A Survey of Parsing"),
        ("review of parsing", "kind: survey", "A Survey of Parsing"),
    ],
)  # fmt: skip
def test_an_intent_is_shown_and_orders_the_papers(
    run: Run, url: str, text: str, understood: str, first: str
) -> None:
    done = run("find", "--explain", "--json", text)
    assert done.stderr.startswith(understood), done.stderr
    title = {"kind: survey": {first, "Parsing: a critical review"}}.get(understood, {first})
    assert json.loads(done.stdout)["hits"][0]["work"]["title"] in title
    answer = search(url, query=text)
    kind, value = understood.split(": ")
    part = answer["understood"][0]
    assert (part["kind"], part["value"]) == ({"order": "recency"}.get(kind, kind), value)
    assert answer["papers"][0]["title"] in title


def test_methods_come_before_surveys_and_corpora(run: Run, url: str) -> None:
    done = run("find", "--explain", "--json", "methods for parsing")
    assert "kind: method · topic: parsing" in done.stderr
    for papers in (
        [hit["work"]["title"] for hit in json.loads(done.stdout)["hits"]],
        [paper["title"] for paper in search(url, query="methods for parsing")["papers"]],
    ):
        others = {"A Survey of Parsing", "Parsing: a critical review", "A Corpus of Parsing"}
        assert papers.index("Parsing of Meadows") < min(map(papers.index, others))


def test_reviews_of_products_books_and_peers_are_no_surveys(run: Run, url: str) -> None:
    done = run("find", "--kind", "survey", "--json", "parsing")
    surveys = {"A Survey of Parsing", "Parsing: a critical review"}
    assert {hit["work"]["title"] for hit in json.loads(done.stdout)["hits"]} == surveys
    answer = search(url, query="parsing", kind="survey")
    assert {paper["title"] for paper in answer["papers"]} == surveys
    assert "Understood: words alone." in run("find", "--explain", "parsing product reviews").stderr


def test_the_words_of_an_intent_that_begin_a_title_still_find_it(run: Run, url: str) -> None:
    text = "recent advances in weaving of"
    done = run("find", "--json", text)
    assert json.loads(done.stdout)["hits"][0]["work"]["title"] == RECORDS[10]["title"]
    assert search(url, query=text)["papers"][0]["title"] == RECORDS[10]["title"]


@pytest.mark.parametrize(
    ("text", "field"),
    [("neural networks for parsing", "computing"), ("social inequality in schools", "unclear")],
)
def test_the_field_of_a_question_is_shown(run: Run, url: str, text: str, field: str) -> None:
    done = run("find", "--explain", "--json", text)
    assert f"Field: {field}." in done.stderr
    assert json.loads(done.stdout)["field"] == field
    assert f"Field: {field}." in run("explore", "--trace", text).stderr
    assert search(url, query=text)["field"] == field


def test_authority_and_age_weigh_as_much_as_the_user_says(run: Run, url: str) -> None:
    by_authority = "relevance=0,authority=1"
    found = json.loads(run("find", "--json", "--weights", by_authority, "pottery").stdout)["hits"]
    assert found[0]["work"]["title"] == "Glaze and Pottery 4"
    papers = search(url, query="pottery", weights=by_authority)["papers"]
    assert [one["title"] for one in papers] == [one["work"]["title"] for one in found]
    reason = papers[0]["reason"]
    for part in ("times a year", "its venue above", "an author cited 1,000 times"):
        assert part in reason, reason
    assert reason.split(";")[0] in run("find", "--weights", by_authority, "pottery").stdout
    explored = run("explore", "--weights", by_authority, "pottery").stdout.splitlines()
    assert "Glaze and Pottery 4" in explored[0] and "its venue above" in explored[0]

    newest = search(url, query="pottery", weights="relevance=.4,recent=1", k=30)["papers"]
    years = [one["year"] for one in newest if "Pottery" in one["title"]]
    assert years == [2022] * 5 + [2010] * 5
    assert all(f"from {one['year']}" in one["reason"] for one in newest)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("authority=high", "'high' is no number"),
        ("fame=1", "'fame' has no weight"),
        ("recent=-1", "not between 0 and 10"),
        ("recent=nan", "not between 0 and 10"),
        ("relevance=0", "All weights are 0"),
    ],
)
def test_wrong_weights_are_refused_in_words(run: Run, url: str, weights: str, message: str) -> None:
    done = run("find", "--weights", weights, "pottery")
    assert done.returncode == 2 and message in " ".join(done.stderr.split())
    answer = httpx2.post(f"{url}/v1/search", json={"query": "pottery", "weights": weights})
    assert answer.status_code == 422 and message in answer.text
    assert "relevance=1,authority=0.3" in answer.text, "it says how to write them"
