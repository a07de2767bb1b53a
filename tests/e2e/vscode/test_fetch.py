"""Papers of a source are brought into the library: measured, confirmed, cancelled, resumed, cited."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.fakes.bulk import NAMES, BulkServer

PAPER = r"""
%! paper.tex
\documentclass{article}
\usepackage{natbib}
\begin{document}
Trees grow.

\bibliographystyle{plainnat}
\bibliography{refs}
\end{document}
%! refs.bib
"""
COUNT = 60
WORDS = "crossref --query trees"
FETCHING = "fetching from crossref"


class Gate:
    """Holds a source's answers back from one request on, until it is opened."""

    def __init__(self, source: BulkServer, first: int) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        self._first = first
        source.fault = self._wait

    def _wait(self, number: int, path: str) -> None:
        if number >= self._first and not self.opened.is_set():
            self.reached.set()
            self.opened.wait()


@pytest.fixture
def source():
    """A source with sixty works, ten on a page."""
    server = BulkServer(count=COUNT, page=10)
    yield server
    server.close()


def ask(code, words: str) -> None:
    code.command("Citewell: Fetch Papers for the Library")
    box = code.find(".quick-input-widget:visible", has_text="Which papers shall be fetched?")
    box.locator("input[type=text]").fill(words)
    code.press("Enter")
    box.wait_for(state="hidden")


def test_papers_are_fetched_from_an_allowed_source_and_cited(
    newcomer, window, fixture_files, source, tmp_path
):
    editor, programs = newcomer()
    (programs / "citewell").symlink_to(Path(sys.executable).parent / "citewell")
    (programs.parent / "config.toml").write_text(
        f'[sources]\nbase_url = "{source.url}"\n', encoding="utf-8"
    )
    code = window(fixture_files(PAPER).write(tmp_path / "paper"), editor)
    code.open("paper.tex")
    code.wait(lambda: "no library" in code.citewell().lower())

    # Nothing is sent before the author allows it, and no missing library is an error.
    ask(code, WORDS)
    code.message("would query scholarly sources")
    assert not any("No library in this folder" in one for one in code.messages())
    assert not source.requests
    code.answer("would query scholarly sources", "Allow")

    # The size comes first, and nothing is fetched without a yes.
    shown = " ".join(code.message("Fetch them into the library").inner_text().split())
    assert f"crossref: {COUNT} works, about 1 MB and 1 min." in shown
    code.screenshots("size")
    code.answer("Fetch them into the library", "Cancel")
    measured = len(source.requests)
    assert measured > 0

    # Progress is shown; the button ends the fetch, and what was fetched is kept.
    gate = Gate(source, measured + 3)
    ask(code, WORDS)
    code.answer("Fetch them into the library", "Fetch")
    progress = code.message(FETCHING)
    code.wait(gate.reached.is_set)
    code.screenshots("progress")
    progress.locator(".monaco-button", has_text="Cancel").first.click()
    code.message("The fetch was cancelled. What was fetched is kept")
    gate.opened.set()
    code.command("Notifications: Clear All Notifications")

    # The same request goes on where it was ended.
    ask(code, WORDS)
    code.answer("Fetch them into the library", "Fetch")
    words = " ".join(code.message("works fetched from crossref").inner_text().split())
    assert f"The library has {COUNT} papers." in words
    assert f"{COUNT} works fetched" not in words
    code.screenshots("fetched")
    code.command("Notifications: Clear All Notifications")
    code.wait(lambda: f"{COUNT} papers" in code.citewell())

    # What was fetched is cited.
    code.goto_text("paper.tex", "grow", after=True)
    code.type(" \\citep<growth of the Cedar number 2>")
    code.wait_suggestion("On the growth")
    code.accept("On the growth")
    code.wait(lambda: code.dirty() == {"paper.tex"})
    code.save_all()
    assert "On the growth of the {Cedar} number 2" in code.read("refs.bib").decode()
    code.screenshots("cited")


def test_the_literature_of_a_paper_is_offered_once_and_fetched_after_a_yes(
    newcomer, window, fixture_files, source, tmp_path
):
    editor, programs = newcomer()
    (programs / "citewell").symlink_to(Path(sys.executable).parent / "citewell")
    (programs.parent / "config.toml").write_text(
        f'[sources]\nbase_url = "{source.url}"\n', encoding="utf-8"
    )
    held = tmp_path / "held.jsonl"
    held.write_text('{"id": "a", "title": "Learning to sit still", "source": "x"}\n')
    environment = os.environ | {
        "CITEWELL_DATA": str(programs.parent / "data" / "citewell"),
        "CITEWELL_CONFIG": str(programs.parent / "config.toml"),
    }
    command = [sys.executable, "-m", "citewell", "library", "add", str(held)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    numbers = range(40, 52)
    entries = "".join(
        f"@article{{k{n}, title = {{On the growth of the {NAMES[n % 10]} number {n}}},\n"
        f"  author = {{{NAMES[n % 10]}, Ann}}, year = {2000 + n % 20}, doi = {{10.5555/oa.{n}}}}}\n"
        for n in numbers
    )
    cited = ",".join(f"k{n}" for n in numbers)
    paper = PAPER.replace("Trees grow.", f"Trees grow \\citep{{{cited}}}.") + entries
    code = window(fixture_files(paper).write(tmp_path / "paper"), editor)
    code.open("paper.tex")

    # Offered by itself; nothing is sent before permission, nothing fetched before the plan is seen.
    offer = "holds 0 of the 12 references of paper.tex"
    code.message(offer)
    code.screenshots("offer")
    assert not source.requests
    code.answer(offer, "Fetch the Literature")
    code.answer("would query scholarly sources", "Allow")
    shown = " ".join(code.message("with what your references cite").inner_text().split())
    assert "works on Growth of Trees and Forest Soils" in shown
    code.screenshots("plan")
    code.answer("with what your references cite", "Fetch")
    code.message("works fetched from openalex")
    code.screenshots("literature")
