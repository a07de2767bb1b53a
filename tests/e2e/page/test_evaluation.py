"""The pages about Citewell itself: reports of eval, and the steps of a search."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

PAPER = r"""\documentclass{article}
\begin{document}
Neighbours in a graph can be weighed by attention \cite{a}.
Very deep networks are trained with residual connections \cite{b}.
\bibliography{refs}
\end{document}
"""
BIB = """@inproceedings{a, title={Graph Attention Networks}, author={Veličković, Petar}, year={2018}}
@inproceedings{b, title={Deep Residual Learning for Image Recognition}, author={He, Kaiming}, year={2016}}
"""
NO_SCRIPT = "Blocked script execution in"
TOKEN = "a-token-of-the-page"


def test_a_report_of_eval_is_listed_and_opens_behind_the_token(
    open_page: Any, page_env: dict[str, str], serving: Any, tmp_path: Path
) -> None:
    env = page_env | {"CITEWELL_DATA": str(tmp_path / "data")}
    with serving(env, token=TOKEN) as (url, _):
        page, seen = open_page(url, f"/?view=evaluation#{TOKEN}")
        expect(page.get_by_text("There is no report yet.")).to_be_visible()
        expect(page.get_by_text("citewell eval paper.tex --html report.html")).to_be_visible()
        (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
        (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
        command = [sys.executable, "-m", "citewell", "eval", "paper.tex", "--html", "own.html"]
        subprocess.run(
            [*command, "--latency-calls", "1"], env=env, cwd=tmp_path, check=True,
            capture_output=True,
        )  # fmt: skip
        page.reload()
        link = page.get_by_role("table").get_by_role("link")
        expect(link).to_contain_text("How well Citewell finds your citations")
        with page.context.expect_page() as opened:
            link.click()
        report = opened.value
        expect(report.get_by_role("heading", level=1)).to_contain_text("your citations")
        # The script that the tests put into every page does not run in a report: nothing does.
        seen.allowed.append(NO_SCRIPT)
        assert any(NO_SCRIPT in one for one in seen.messages)
        own = (tmp_path / "own.html").read_text(encoding="utf-8")
        assert report.title() in own
        assert (
            report.locator("main").evaluate("(node) => getComputedStyle(node).maxWidth") != "none"
        )
        assert TOKEN not in report.url


def test_the_library_page_draws_the_steps_of_a_search_with_their_times(
    open_page: Any, page_env: dict[str, str], serving: Any
) -> None:
    with serving(page_env) as (url, _):
        page, _seen = open_page(url, "/?view=library")
        picture = page.get_by_role("img", name="On: ")
        expect(picture).to_be_visible()
        assert "BM25" in (picture.get_attribute("alt") or "")
        assert picture.evaluate("(node) => node.decode().then(() => node.naturalWidth)") > 500
        rows = page.get_by_role("region", name="Steps of a search")
        page.get_by_text("The steps and their times").click()
        expect(rows.get_by_role("row", name="Language model")).to_contain_text("off")
        expect(rows).not_to_contain_text(" ms")
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
        page.get_by_role("searchbox").fill("attention")
        page.keyboard.press("Enter")
        expect(page.locator(".paper:visible").first).to_be_visible()
        page.get_by_role("navigation").get_by_role("link", name="Library").click()
        page.get_by_text("The steps and their times").click()
        expect(rows.get_by_role("row", name="BM25")).to_contain_text(" ms")
        expect(rows.get_by_role("row", name="BM25")).to_contain_text("on")
