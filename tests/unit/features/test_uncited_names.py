"""Which names of a paper count as used without a citation."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.project.files import scan_document
from citewell.features.review.names import name_diagnostics, uncited_names
from citewell.model import Author, Work
from citewell.options.tree import DocumentOptions

HEAD = "\\documentclass{article}\n\\begin{document}\n"
END = "\n\\end{document}\n"
ORCH = Work(id="x:orch", title="OrchNet: Pruning Trees in Rows", authors=(Author("Ash", "Ann"),))


def names_of(text: str, bib: str = "", title: str = "") -> list[str]:
    document = scan_document("main.tex", f"{HEAD}{text}{END}", DocumentOptions())
    entries = parse_bib(bib, "refs.bib").entries
    return [use.name for use in uncited_names({Path("main.tex"): document}, entries, title)]


@pytest.mark.parametrize(
    "text",
    [
        "We prune with OrchNet.",
        "We prune with \\textsc{OrchNet}, as others do.",
        "OrchNet-base is small \\emph{and} quick. Others \\cite{a} are not.",
    ],
)
def test_a_name_with_capitals_inside_counts_in_prose_and_in_macros(text: str) -> None:
    assert any(name.startswith("OrchNet") for name in names_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "We prune with OrchNet \\cite{ash}. OrchNet is quick.",
        "We prune with the OrchNet model~\\citep{ash}.",
        "We present OrchNet, which prunes trees.",
        "Our system, called OrchNet, prunes trees.",
        "See \\ref{fig:OrchNet} and \\includegraphics{OrchNet.pdf}.",
        "% OrchNet is a comment\nTrees are green.",
        "We trust orchards and Trees.",
    ],
)
def test_what_is_cited_introduced_or_no_prose_does_not_count(text: str) -> None:
    assert names_of(text) == []


def test_a_cited_title_or_key_or_the_own_title_has_the_name() -> None:
    assert names_of("We use OrchNet.", "@misc{a, title = {OrchNet: Pruning Trees}}") == []
    assert names_of("We use OrchNet.", "@misc{orchnet2020, title = {Trees}}") == []
    assert names_of("We use OrchNet.", title="OrchNet: Pruning Trees in Rows") == []
    assert names_of("We read ICML and ACL.") == []


def test_a_finding_names_the_work_and_the_key_that_has_it() -> None:
    text = f"{HEAD}We use OrchNet and the Grand Apple Tree (GAT).{END}"
    document = scan_document("main.tex", text, DocumentOptions())
    documents = {Path("main.tex"): document}
    bib = parse_bib("@misc{ash2020, title = {OrchNet: Pruning Trees in Rows}}", "refs.bib")
    uses = uncited_names(documents, (), "")
    works = [ORCH, None]
    assert [use.name for use in uses] == ["OrchNet", "GAT"]
    ((path, one),) = name_diagnostics(uses, works, documents, bib.by_key)
    assert path == Path("main.tex") and text[one.span.start : one.span.end] == "OrchNet"
    assert one.data == {"key": "ash2020", "work": "x:orch", "hint": "Cite 'ash2020' here."}
    # The paper writes the name out in other words.
    assert not [*name_diagnostics(uses, [None, ORCH], documents, bib.by_key)]
