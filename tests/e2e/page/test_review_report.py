"""The HTML report of a review in a browser: read by axe in each window, and without any request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.page.test_accessibility import WINDOWS, violations
from tests.e2e.test_cli_review import STARTER, plant


@pytest.fixture(scope="module")
def report(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (STARTER / "library" / "CURRENT").is_file():
        pytest.skip("needs the starter library")
    folder = tmp_path_factory.mktemp("report")
    plant(folder)
    given = env | {
        "CITEWELL_LIBRARY_PATH": str(folder / "none"),
        "PYTHONPATH": str(STARTER.parent),
    }
    done = subprocess.run(
        [sys.executable, "-m", "citewell", "review", "paper.tex", "--format", "html",
         "--out", "report.html"],
        cwd=folder, env=given, capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return folder / "report.html"


@pytest.mark.parametrize("window", WINDOWS)
def test_the_report_of_a_review_is_accessible(
    browser: Any, report: Path, axe: str, window: str
) -> None:
    context = browser.new_context(**WINDOWS[window], bypass_csp=True)
    requests: list[str] = []
    context.on("request", lambda one: requests.append(one.url))
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("h2").count() == 7
    assert page.locator("svg rect").count() > 3
    assert violations(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert requests == [report.as_uri()]
    context.close()
