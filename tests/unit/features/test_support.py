"""Which sentences are asked about, and what is read for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.documents.project.paper_project import Project
from citewell.features.checking.support import cited_sentences, in_words, readable_work
from citewell.model import Work
from citewell.model.llm import Supported

PAPER = """\
%! main.tex
\\documentclass{article}\\begin{document}
Attention aligns words \\citep[see][p.~5]{a, b}. It is said \\cite{gone} often.
\\nocite{a}
\\input{more}
\\bibliography{refs}\\end{document}
%! more.tex
A note\\footnote{Others agree \\cite{b}.} follows.
%! refs.bib
@misc{a, title={A Paper}, abstract={It says so.}}
@misc{b, title={Another Paper}}

"""


@pytest.fixture
def project(fixture_files: Callable[[str], Any], tmp_path: Path) -> Project:
    fixture_files(PAPER).write(tmp_path)
    return Project.open(tmp_path / "main.tex")


def test_each_key_with_an_entry_is_asked_about_in_its_own_sentence(project: Project) -> None:
    found = cited_sentences(project)
    assert [(Path(one.path).name, one.line, one.column, one.key) for one in found] == [
        ("main.tex", 2, 42, "a"),
        ("main.tex", 2, 45, "b"),
        ("more.tex", 1, 36, "b"),
    ]
    assert found[0].sentence == "Attention aligns words [CITATION]."
    assert found[2].sentence == "Others agree [CITATION]."
    assert [one.key for one in cited_sentences(project, {"a"})] == ["a"]


def test_the_abstract_is_the_librarys_else_the_entrys(project: Project) -> None:
    (bib,) = project.bibs.values()
    entry = bib.by_key["a"]
    assert (
        readable_work(bib, entry, Work(id="x", title="T", abstract="Theirs.")).abstract == "Theirs."
    )
    assert readable_work(bib, entry, Work(id="x", title="T")).abstract == "It says so."
    assert readable_work(bib, entry, None).title == "A Paper"


def test_what_is_told_names_the_model_its_words_and_how_little_it_means() -> None:
    message = in_words("k", Work(id="x", title="T" * 90), Supported(
        verdict="no", words="does not", model="ollama m", program="verify@builtin",
    ))  # fmt: skip
    assert message.startswith(
        "k (“" + "T" * 59 + "…”): says ollama m (verify@builtin): the abstract "
    )
    assert "“does not”" in message and "read the paper" in message
