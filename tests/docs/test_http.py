"""The page on HTTP knows every endpoint, and its examples answer what it says.

The examples are run by tests/e2e/http/test_page.py; here is what needs no server.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")


def test_every_endpoint_has_a_row_and_every_row_is_an_endpoint() -> None:
    from citewell.http.endpoints import ENDPOINTS

    rows = PAGE.partition("## Endpoints")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(GET|POST) (\S+)` \|", rows, flags=re.MULTILINE)
    assert documented == [(one.method, one.path) for one in ENDPOINTS]


def test_every_endpoint_has_an_example_that_is_run() -> None:
    from citewell.http.endpoints import ENDPOINTS

    examples = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL))
    for one in ENDPOINTS:
        path = re.escape(one.path).replace(r"\{id\}", r"\S+")
        examples_found = re.findall(rf"curl (.*)\$CITEWELL{path}(?![\w/])(.*)", examples)
        bodies = [" -d '{" in f"{before}{after}" for before, after in examples_found]
        assert (one.method == "POST") in bodies, one.name


def test_each_example_has_its_answer() -> None:
    blocks = re.findall(r"^```(\w+)$", PAGE, flags=re.MULTILINE)
    for place, kind in enumerate(blocks):
        if kind == "sh":
            assert blocks[place + 1] == "json"


@pytest.mark.parametrize("name", ["Content-Type", "CITEWELL_HTTP_TOKEN", "--allow-origin"])
def test_what_a_client_must_know_is_told(name: str) -> None:
    assert name in PAGE


def test_each_status_of_a_problem_is_explained() -> None:
    from citewell.http.statuses import BY_BEGINNING, BY_CODE
    from citewell.serving.problem_json import TITLES

    table = PAGE.partition("| status | when |")[2].partition("\n\n")[0]
    documented = {int(number) for number in re.findall(r"\b(\d{3})\b", table)}
    assert (
        {*BY_CODE.values(), *BY_BEGINNING.values(), 401, 403, 421, 500} == documented == {*TITLES}
    )


def test_every_problem_with_a_status_is_a_problem(problem_codes: object) -> None:
    from citewell.http.statuses import BY_CODE

    assert set(BY_CODE) <= set(problem_codes.places)  # type: ignore[attr-defined]


NOT_OVER_HTTP = (
    *("action-", "address-", "argument-", "baseline-", "command-", "compare-", "data-set-"),
    *("demo-", "diagnostic-", "document-", "edit-", "encoding-", "entries-", "evaluation-"),
    *("fetch-", "graph-", "http-missing", "insert-", "mcp-", "merge-", "method-"),
    *(
        "mode-",
        "no-paper-found",
        "office-",
        "policy-",
        "part-",
        "placeholders-",
        "program-",
        "record-bad",
        "rename-",
    ),
    *("settings-", "token-unusable", "tune-", "workspace-", "build-", "ray-"),
)
"""Beginnings of the codes of commands, of editors and of MCP."""


def test_no_problem_is_an_internal_error_by_omission() -> None:
    from citewell.http.statuses import status_of
    from citewell.model import Problem

    page = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
    codes = [code for cell in cells for code in re.findall(r"`([a-z0-9-]+)`", cell)]
    assert len(codes) > 200
    internal = {code for code in codes if status_of(Problem(code, "", "")) == 500}
    assert {code for code in internal if not code.startswith(NOT_OVER_HTTP)} == {"internal-error"}
