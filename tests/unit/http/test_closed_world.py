"""Every paper that leaves an endpoint is a record of the library, and names where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from citewell.engine.local import LocalEngine
from citewell.features.text.evidence import source_of
from citewell.http.endpoints import ENDPOINTS

INVENTED = "Smith et al. (2031), Teacups for Everyone"
PASSAGE = f"{INVENTED} says that attention helps [CITATION]. Cite \\cite<{INVENTED}>."
ENTRY = "@misc{x, title={Teacups for Everyone}, author={Smith, Jo}, year={2031}}"
REQUESTS = {
    "find": {"text": PASSAGE, "k": 50, "bib": ENTRY},
    "places": {"text": "Recent work has shown that attention helps translation."},
    "search": {"query": INVENTED, "k": 50},
    "search_by_address": "?query=attention&k=50",
    "explore": {"query": INVENTED, "k": 50, "rounds": 2, "overview": True},
    "related": {"ids": ["fx:1", "fx:2", "fx:5"]},
    "map": {"ids": ["fx:1", "fx:2", "fx:5"], "k": 20},
    "map_library": "",
    "get_papers": {"ids": ["fx:1", "fx:2", "fx:5", "x"], "forms": ["bibtex", "csl", "reference"]},
    "get_paper": "?forms=bibtex",
    "check": {"text": ENTRY + "@misc{y, title={Attention Is All You Need}, year={2031}}"},
    "review": {"text": "A \\cite{a}.", "files": {"refs.bib": ENTRY}},
    "fill": {"text": PASSAGE, "files": {"refs.bib": ENTRY}, "threshold": 0},
    "pick": {"text": f"{INVENTED} [CITATION]."},
    "verify": {"sentence": INVENTED, "id": "fx:1"},
    "status": "",
    "pipeline": "",
    "reports": "",
    "health": "",
    "find_citation": {"text": PASSAGE, "k": 10},
    "api_health": "",
    "health_summary": "",
}
WITHOUT_PAPERS = {"places", "review", "status", "pipeline", "reports", "health", "api_health",
                  "health_summary"}  # fmt: skip


def papers_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "title" in value and "source" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from papers_in(inner)


@pytest.mark.parametrize("one", ENDPOINTS, ids=lambda one: one.name)
def test_every_paper_is_a_record(client: Any, paper_engine: LocalEngine, one: Any) -> None:
    body = REQUESTS[one.name]
    if one.method == "POST":
        found = client.post(one.path, json=body)
    else:
        found = client.get(one.path.replace("{id}", "fx:1") + str(body))
    assert found.status_code == 200, found.text
    papers = list(papers_in(found.json()))
    assert papers or one.name in WITHOUT_PAPERS
    for paper, work in zip(papers, paper_engine.works([p["id"] for p in papers]), strict=True):
        assert work is not None, paper
        assert (paper["title"], paper["source"]) == (work.title, source_of(work))
        assert paper.get("year") == work.year and paper.get("doi", "") == work.doi


def test_an_entry_that_is_added_is_made_from_its_record(client: Any) -> None:
    found = client.post("/v1/fill", json=REQUESTS["fill"]).json()
    assert found["entries"]
    for entry in found["entries"]:
        (record,) = client.post(
            "/v1/papers", json={"ids": [entry["id"]], "forms": ["bibtex"]}
        ).json()["papers"]
        assert record["title"] in entry["bibtex"].replace("{", "").replace("}", "")
        assert "Teacups" not in entry["bibtex"]
