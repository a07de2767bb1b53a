"""Papers for passages, searches and ids, as programs get them."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LibraryOptions

ATTENTION = "fx:1"
GRAPHS = "fx:5"
BIB = """@inproceedings{mine, title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam}, year = {2017}}
"""


def test_each_place_of_a_passage_gets_papers(client: Any) -> None:
    text = (
        "Transformers \\cite<attention is all you need> came after "
        "graph attention networks [CITATION]."
    )
    found = client.post("/v1/find", json={"text": text, "k": 3}).json()
    assert found["status"] == "found"
    first, second = found["places"]
    assert first["papers"][0]["id"] == first["pick"] == ATTENTION
    assert first["confidence"] > 0.9
    assert second["papers"][0]["id"] == GRAPHS
    assert "[CITATION]" in second["sentence"]
    assert len(second["papers"]) == 3
    for place in found["places"]:
        for paper in place["papers"]:
            assert paper["source"] and paper["title"] and paper["why"]
            assert "abstract" not in paper


def test_a_passage_without_a_mark_wants_a_citation_at_its_end(client: Any) -> None:
    found = client.post("/v1/find", json={"text": "Attention is all you need."}).json()
    (place,) = found["places"]
    assert place["sentence"].endswith("[CITATION].")
    assert place["papers"][0]["id"] == ATTENTION


def test_several_queries_are_answered_in_order(client: Any, problem: Any) -> None:
    texts = ["attention is all you need", "graph attention networks"]
    body = {"queries": texts, "k": 2, "bib": BIB}
    found = client.post("/v1/find", json=body).json()
    assert [one["sentence"] for one in found["places"]] == texts
    assert [one["papers"][0]["id"] for one in found["places"]] == [ATTENTION, GRAPHS]
    assert found["places"][0]["papers"][0]["key"] == "mine"
    assert {len(one["papers"]) for one in found["places"]} == {2}
    for wrong in ({}, {"queries": []}, {"text": "Attention [CITATION].", "queries": texts}):
        assert problem(client.post("/v1/find", json=wrong)) == (422, "request-invalid")


@pytest.mark.parametrize("given", [{"text": "Graph attention [CITATION]."}, {"queries": ["graph"]}])
def test_papers_to_cite_pass_the_filters_of_a_search(
    client: Any, problem: Any, given: dict[str, Any]
) -> None:
    def papers(**filters: Any) -> list[dict[str, Any]]:
        (place,) = client.post("/v1/find", json={**given, **filters}).json()["places"]
        return place["papers"]

    assert {one["year"] for one in papers(year=2017)} == {2017}
    assert {one["venue"] for one in papers(venue="ICLR", year_to=2016)} == {"ICLR"}
    assert papers(author="Kipf")[0]["id"] == "fx:6"
    wrong = {**given, "year": 2017, "year_to": 2018}
    assert problem(client.post("/v1/find", json=wrong)) == (422, "request-invalid")


def test_a_paper_that_the_bib_has_comes_with_its_key(client: Any) -> None:
    body = {"text": "Attention is all you need [CITATION].", "bib": BIB, "abstracts": True}
    (place,) = client.post("/v1/find", json=body).json()["places"]
    assert place["papers"][0]["key"] == "mine"
    assert place["papers"][0]["abstract"]


def test_a_search_gives_pages_that_join_to_the_whole(client: Any) -> None:
    body = {"query": "neural networks", "k": 12}
    whole = [one["id"] for one in client.post("/v1/search", json=body).json()["papers"]]
    pages: list[str] = []
    cursor = ""
    for _ in range(3):
        page = client.post("/v1/search", json={**body, "k": 4, "cursor": cursor}).json()
        pages += [one["id"] for one in page["papers"]]
        cursor = page["next_cursor"]
    assert pages == whole and len(set(pages)) == 12


def test_a_search_in_the_address_is_the_same_search(client: Any) -> None:
    body = {"query": "attention", "author": "Vaswani", "year_from": 2017, "year_to": 2017, "k": 2}
    posted = client.post("/v1/search", json=body).json()
    assert client.get("/v1/search", params=body).json() == posted
    assert posted["papers"][0]["id"] == ATTENTION
    assert posted["papers"][0]["authors"][0] == "Ashish Vaswani"


def test_a_cursor_of_another_request_is_refused(client: Any, problem: Any) -> None:
    page = client.post("/v1/search", json={"query": "networks", "k": 1}).json()
    for cursor in (page["next_cursor"], "x"):
        found = client.post("/v1/search", json={"query": "language", "cursor": cursor})
        assert problem(found) == (404, "cursor-foreign")


def test_papers_come_by_id_doi_and_arxiv_id_in_order(client: Any) -> None:
    names = ["arXiv:1710.10903v3", ATTENTION, "nothing:1", "10.1162/neco.1997.9.8.1735"]
    found = client.post("/v1/papers", json={"ids": names}).json()
    assert [one["id"] for one in found["papers"]][:2] == [GRAPHS, ATTENTION]
    assert found["papers"][2]["title"] == "Long Short-Term Memory"
    assert found["unknown_ids"] == ["nothing:1"]


def test_a_paper_comes_as_bibtex_csl_and_printed(client: Any) -> None:
    body = {"ids": [ATTENTION, ATTENTION], "forms": ["bibtex", "csl", "reference"]}
    one, again = client.post("/v1/papers", json=body).json()["papers"]
    assert one["bibtex"].startswith("@inproceedings{vaswani2017attention,")
    assert again["bibtex"].startswith("@inproceedings{vaswani2017attentiona,")
    assert one["csl"]["title"] == "Attention Is All You Need"
    assert one["reference"].startswith("Vaswani, A., Shazeer, N.")


def test_a_paper_is_found_in_the_address_whatever_slashes_it_has(client: Any, problem: Any) -> None:
    for name in ("10.1162/neco.1997.9.8.1735", "10.1162%2Fneco.1997.9.8.1735"):
        found = client.get(f"/v1/papers/{name}?forms=bibtex&forms=reference&style=apa")
        assert found.json()["title"] == "Long Short-Term Memory"
        assert "hochreiter1997" in found.json()["bibtex"] and found.json()["reference"]
    assert problem(client.get("/v1/papers/fx:99999")) == (404, "record-unknown")


@pytest.mark.parametrize("style", ["/etc/passwd", "../../x.csl", "/tmp/x.csl", "no-such-style"])
def test_a_style_is_a_name_and_no_file(client: Any, problem: Any, style: str) -> None:
    body = {"ids": [ATTENTION], "forms": ["reference"], "style": style}
    status, code = problem(client.post("/v1/papers", json=body))
    assert (status, code) in ((422, "request-invalid"), (404, "style-unknown"))


def test_the_status_names_the_library_and_no_path(client: Any, paper_options: Options) -> None:
    found = client.get("/v1/status").json()
    assert found["ready"] and found["works"] > 20 and "bm25" in found["retrievers"]
    assert str(paper_options.library.path) not in client.get("/v1/status").text
    assert client.get("/v1/health").json()["status"] == "ok"


def test_the_status_says_what_the_library_covers(client: Any) -> None:
    found = client.get("/v1/status").json()
    (covered,) = found["covers"]
    assert covered["works"] == found["works"] and covered["name"] == found["library"]
    assert sum(covered["years"].values()) <= covered["works"]
    years = sorted(map(int, covered["years"]))
    assert (covered["first"], covered["last"]) == (years[0], years[-1]) and "2017" in covered[
        "years"
    ]


def test_without_a_library_a_search_fails_and_does_not_say_that_nothing_is_there(
    client_of: Any, problem: Any, tmp_path: Path
) -> None:
    options = replace(Options(), library=LibraryOptions(path=tmp_path))
    engine = LocalEngine.open(options)
    try:
        lost = client_of(options, engine)
        for path, body in (
            ("/v1/search", {"query": "attention"}),
            ("/v1/find", {"text": "Attention [CITATION]."}),
            ("/v1/papers", {"ids": [ATTENTION]}),
        ):
            found = lost.post(path, json=body)
            assert problem(found) == (503, "library-missing")
            assert found.headers["retry-after"]
        assert problem(lost.get(f"/v1/papers/{ATTENTION}")) == (503, "library-missing")
        status = lost.get("/v1/status").json()
        assert status["ready"] is False and status["problems"][0]["code"] == "library-missing"
        assert lost.get("/v1/health").json()["status"] == "ok"
    finally:
        engine.close()


def test_a_search_for_nothing_says_that_nothing_was_asked(client: Any) -> None:
    for found in (client.get("/v1/search"), client.post("/v1/search", json={"query": " "})):
        assert found.status_code == 200
        answer = found.json()
        assert (answer["status"], answer["papers"]) == ("nothing_asked", [])
        assert answer["problems"][0]["hint"].startswith("Give at least one")


def test_a_whole_number_may_be_written_with_a_point(client: Any, problem: Any) -> None:
    """JSON has one kind of number: 2.0 is an integer by the schema."""
    plain = client.post("/v1/search", json={"query": "attention", "k": 2}).json()
    body = b'{"query": "attention", "k": 2.0, "year_from": 1e3}'
    found = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert len(found.json()["papers"]) == len(plain["papers"]) == 2
    assert len(client.get("/v1/search?query=attention&k=2.0").json()["papers"]) == 2
    # A text keeps what was written, and a part of a number is none.
    assert client.get("/v1/search?query=2.0").status_code == 200
    for body in ({"query": "a", "k": 2.5}, {"query": "a", "k": "2"}, {"query": 2.0}):
        assert problem(client.post("/v1/search", json=body)) == (422, "request-invalid")
    assert problem(client.get("/v1/search?query=a&k=2.5")) == (422, "request-invalid")


def test_a_passage_without_a_place_is_answered_and_it_is_said(client: Any) -> None:
    for path in ("/v1/find", "/v1/pick"):
        found = client.post(path, json={"text": "```\nx = attention"})
        assert (found.status_code, found.json()["status"]) == (200, "nothing_found")
        assert [one["code"] for one in found.json()["problems"]] == ["request-invalid"]


@pytest.mark.parametrize("other", ["year_from", "year_to"])
def test_one_year_excludes_the_two_others(client: Any, problem: Any, other: str) -> None:
    for words in ({"query": "attention"}, {}):
        found = client.post("/v1/search", json={**words, "year": 2017, other: 2017})
        assert problem(found) == (422, "request-invalid")
