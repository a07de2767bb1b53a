"""The addresses of earlier services answer with the papers of `/v1/find`."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LibraryOptions

TEXT = "Attention is all you need [CITATION]. Graph attention networks weigh neighbours [CITATION]."


@pytest.mark.parametrize("name", ["text", "sentence"])
def test_citations_are_the_papers_of_find_with_key_and_formatted_text(
    client: Any, name: str
) -> None:
    found = client.post("/api/find-citation", json={name: TEXT, "k": 3}).json()
    body = {"text": TEXT, "k": 3, "abstracts": True, "forms": ["reference"]}
    places = client.post("/v1/find", json=body).json()["places"]
    papers = [(n, paper) for n, place in enumerate(places, 1) for paper in place["papers"]]
    assert len(papers) == 6
    for citation, (n, paper) in zip(found["citations"], papers, strict=True):
        assert citation["place"] == n
        assert citation["formatted"] == paper["reference"]
        same = ("id", "title", "authors", "year", "venue", "confidence", "abstract")
        assert [citation.get(one) for one in same] == [paper.get(one) for one in same]
    keys = [citation["key"] for citation in found["citations"]]
    assert len(set(keys)) == len(keys) and keys[0] == "vaswani2017attention"
    assert found["queries"] == [query for place in places for query in place["queries"]]
    assert all("[CITATION]" in query for query in found["queries"])


def test_a_context_is_answered_with_results(client: Any) -> None:
    body = {"context": TEXT, "k": 2, "use_llm_reranker": False}
    found = client.post("/api/find-citation", json=body).json()
    assert found["num_results"] == len(found["results"]) == 4 and "citations" not in found
    first = found["results"][0]
    assert first["citation"] == "vaswani2017attention" and first["reasoning"]
    assert 0 < first["score"] < 1
    assert "@" in first["formatted"]["bibtex"] and first["citation"] in first["formatted"]["bibtex"]
    assert first["formatted"]["apa"] != first["formatted"]["mla"]
    assert len(found["expanded_queries"]) == 2


@pytest.mark.parametrize("body", [{}, {"text": "a", "sentence": "b"}, {"text": "", "sentence": ""}])
def test_one_of_the_two_names_is_wanted(client: Any, problem: Any, body: dict[str, str]) -> None:
    assert problem(client.post("/api/find-citation", json=body)) == (422, "request-invalid")


@pytest.mark.parametrize("path", ["/health", "/api/health"])
def test_health_names_corpus_retrievers_and_model(
    client: Any, paper_options: Options, client_of: Any, tmp_path: Any, path: str
) -> None:
    found = client.get(path).json()
    assert found["status"] == "ok" and found["corpus"]["works"] == 28
    assert found["corpus"]["name"] == "default" and "bm25" in found["retrievers"]
    assert found["model"] == ""
    nothing = replace(paper_options, library=LibraryOptions(path=tmp_path, starter=False))
    engine = LocalEngine.open(nothing)
    try:
        found = client_of(nothing, engine).get(path).json()
    finally:
        engine.close()
    assert (found["status"], found["corpus"]) == ("no_library", {})


def test_a_search_that_waits_for_sources_says_that_none_is_allowed(client: Any) -> None:
    body = {"query": "attention", "online_seconds": 5}
    found = client.post("/v1/search", json=body).json()
    assert found["status"] == "found"
    assert "sources-off" in [one["code"] for one in found["problems"]]
