"""The page of the OpenAPI document: own files under a strict policy, open where the data is not."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

import pytest

from citewell.engine.local import LocalEngine
from citewell.http.docs_page import PATHS
from citewell.options import Options
from citewell.serving.problem_json import CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("path", sorted(PATHS))
def test_each_file_is_served_under_the_policy(client: Any, path: str) -> None:
    found = client.get(path)
    assert found.status_code == 200 and found.content
    assert found.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["cross-origin-opener-policy"] == "same-origin"


def test_the_page_loads_its_own_files_and_nothing_else(client: Any) -> None:
    text = client.get("/docs").text
    assert client.get("/redoc").text == text
    loaded = re.findall(r'(?:src|href)="([^"]+)"', text)
    own = {urljoin("/docs", one) for one in loaded if not one.startswith("data:")}
    assert own == (PATHS - {"/", "/docs", "/redoc"}) | {"/openapi.json"}
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! type=\"module\" src=)", text)
    script = client.get("/docs/docs.js").text
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?:", script
    )


def test_the_files_hold_no_data_and_need_no_token_but_what_they_show_does(
    paper_options: Options, paper_engine: LocalEngine, client_of: Any
) -> None:
    locked = client_of(paper_options, paper_engine, token="a-token")
    for path in PATHS:
        assert locked.get(path).status_code == locked.head(path).status_code == 200
        assert locked.post(path).status_code == 401
    for path in ("/openapi.json", "/v1/status", "/docs/", "/docs/other", "/docs%2fother"):
        assert locked.get(path).status_code == 401, path
    foreign = {"Origin": "https://evil.example"}
    assert locked.get("/docs", headers=foreign).status_code == 403
