"""Leave-one-out on whole real papers, from `citewell eval paper.tex` to the page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from citewell.options.tree import DocumentOptions
from citewell_lab.evaluation import results
from citewell_lab.evaluation.leave_one_out import questions_of

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
PROJECTS = DATA / "projects"
CORPORA = ("acl", "ml")

PAPERS = {
    "latex/MWPainter__thesis/Oxford_Thesis.tex": 200,
    "latex/blodstone__NAACL-HLT-2019-Hardy-/acl2019.tex": 100,
    "latex/mdeff__paper-cheblienet/neurips_2021.tex": 90,
    "latex/mitliagkas__dshs/yellowfin_icml.tex": 70,
    "latex/slanglab__qsb/emnlp/emnlp-ijcnlp-2019.tex": 75,
    "latex/zenna__OmegaPaper/icmlsoft.tex": 40,
    "markdown/x-tabdeveloping__turftopic/paper.md": 25,
    "markdown/sepandhaghighi__pycm/paper/paper.md": 15,
}
"""Paper -> least number of citations that become questions."""

pytestmark = pytest.mark.skipif(
    not PROJECTS.is_dir(), reason="needs ../shared/data/projects beside the checkout"
)


@pytest.mark.parametrize(("paper", "least"), list(PAPERS.items()))
def test_nearly_every_citation_of_a_real_paper_becomes_a_question(paper, least):
    questions, info, _ = questions_of([PROJECTS / paper], DocumentOptions())
    assert len(questions) >= least
    assert len(questions) >= 0.9 * info.counts["citations of keys"]
    assert len({question.id for question in questions}) == len(questions)


@pytest.mark.skipif(
    not all((DATA / "corpus" / f"{name}.jsonl.zst").exists() for name in CORPORA),
    reason="needs ../shared/data/corpus beside the checkout",
)
def test_a_real_paper_is_evaluated_and_gets_its_page(tmp_path, monkeypatch):
    from citewell.cli.app import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["citewell", "eval", "paper.tex"])
    config = tmp_path / "config.toml"
    config.touch()
    paper = PROJECTS / "latex/mdeff__paper-cheblienet/neurips_2021.tex"
    corpora = [word for name in CORPORA for word in ("--corpus", name)]
    arguments = [
        "--config",
        str(config),
        "eval",
        str(paper),
        *corpora,
        "--setting",
        "warm",
        "--latency-calls",
        "2",
    ]
    assert run([*arguments, "--json", "r.json", "--html", "p.html"]) == 0
    saved = results.load(tmp_path / "r.json")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    held = [item for item in saved.items if item.held]
    assert len(held) >= 40
    assert all(run.unbacked == 0 and run.emitted for run in saved.runs)
    strip = page.partition('class="strip"')[2].partition("</div>")[0]
    assert strip.count("<i ") == len(saved.items)
    assert "ChebLieNet" in page and "<h3>Cited</h3>" in page
