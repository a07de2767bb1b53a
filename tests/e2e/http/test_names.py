"""Names, years and identifiers as a program gives them to a real server."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any


def get(url: str, **params: Any) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{url}/v1/search?{urllib.parse.urlencode(params)}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_names_and_identifiers_mean_what_they_mean_elsewhere(url: str) -> None:
    def ids(**params: Any) -> list[str]:
        status, found = get(url, **params)
        assert status == 200, found
        return [paper["id"] for paper in found["papers"]]

    assert ids(query="https://doi.org/10.18653/v1/N19-1423") == ["fx:4"]
    assert ids(query="arXiv:1710.10903v1") == ["fx:5"]
    assert ids(query="graphs", author="Kipf, Thomas") == ["fx:6"]
    assert ids(author="T. Kipf") == ["fx:6"]
    assert ids(query="attention", venue="NIPS 2017") == ["fx:1"]
    assert len(ids(query="neural networks", year=2015, limit=2)) == 2
    status, lacking = get(url, query="10.1000/attention")
    assert (status, lacking["status"]) == (200, "nothing_found")
    assert lacking["problems"][0]["code"] == "identifier-unknown"
    status, empty = get(url, query="attention", venue="Teacups")
    assert (status, empty["problems"][0]["code"]) == (200, "filter-empty")


def test_an_unknown_field_is_refused_with_the_one_that_was_meant(url: str) -> None:
    status, refused = get(url, query="attention", yeer=2017)
    assert status == 422
    assert "Did you mean `year`?" in json.dumps(refused)
