"""Literature searches over HTTP: the last list at once, or each pass as a line."""

from __future__ import annotations

import json
from typing import Any

LINES = {"Accept": "application/jsonl"}


def test_the_passes_come_as_lines_and_the_last_one_is_the_answer(client: Any) -> None:
    body = {"query": "attention", "k": 10}
    whole = client.post("/v1/explore", json=body).json()
    found = client.post("/v1/explore", json=body, headers=LINES)
    assert found.status_code == 200
    assert found.headers["content-type"] == "application/jsonl"
    lines = [json.loads(line) for line in found.text.splitlines()]
    assert [len(one["passes"]) for one in lines] == list(range(1, len(lines) + 1))
    assert [bool(one.get("ending")) for one in lines] == [False] * (len(lines) - 1) + [True]
    assert [one["name"] for one in lines[-1]["passes"]][:2] == ["search", "references"]
    assert [p["id"] for p in lines[-1]["papers"]] == [p["id"] for p in whole["papers"]]
    assert all(paper["reasons"] for paper in whole["papers"])


def test_a_request_that_fails_is_a_problem_in_both_forms(client: Any) -> None:
    body = {"query": "attention", "kept": ["none"]}
    plain = client.post("/v1/explore", json=body)
    assert plain.status_code == 404, plain.text
    assert plain.json()["code"] == "record-unknown"
    (line,) = client.post("/v1/explore", json=body, headers=LINES).text.splitlines()
    assert json.loads(line)["code"] == "record-unknown"


def test_an_empty_request_says_that_it_is_empty(client: Any) -> None:
    found = client.post("/v1/explore", json={"query": " "})
    assert found.status_code == 200
    assert found.json()["status"] == "nothing_asked"
    (line,) = client.post("/v1/explore", json={"query": " "}, headers=LINES).text.splitlines()
    assert json.loads(line) == found.json()


def test_an_overview_comes_with_the_last_list_and_cites_its_papers(client: Any) -> None:
    body = {"query": "attention", "k": 30, "overview": True}
    found = client.post("/v1/explore", json=body, headers=LINES)
    *before, last = [json.loads(line) for line in found.text.splitlines()]
    assert not any("overview" in one for one in before)
    listed = {paper["id"] for paper in last["papers"]}
    themes = last["overview"]["themes"]
    assert themes
    for theme in themes:
        assert set(theme["ids"]) <= listed
        for sentence in theme.get("sentences", ()):
            assert set(sentence["ids"]) <= set(theme["ids"])


def test_related_papers_name_their_links(client: Any) -> None:
    found = client.post("/v1/related", json={"ids": ["fx:1", "fx:2"]}).json()
    assert found["status"] == "found"
    first = found["papers"][0]
    assert {one["id"] for one in first["links"]} <= {"fx:1", "fx:2"}
    assert first["id"] not in ("fx:1", "fx:2")
    unknown = client.post("/v1/related", json={"ids": ["no-such-id"]})
    assert unknown.json()["code"] == "record-unknown"
