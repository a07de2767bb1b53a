"""Corrections of a .bib: only what is wrong changes, and the check passes it afterwards."""

import datetime

import pytest

from citewell.documents.textfile import apply_edits
from citewell.features.actions.verification import plan_fixes
from citewell.features.checking.check import claims_in_files, counts
from citewell.model import Author, Provenance, Work
from citewell.verification.checker import Checker
from citewell.verification.identify import MemoryRecords

PAPER = Work(
    id="m:paper", title="Seven Ways of Walking on Directed Graphs", year=2012, venue="icml",
    booktitle="International Conference on Machine Learning", kind="inproceedings",
    authors=(Author("Ash", "Ann"), Author("Béech", "Ben"), Author("Cedar", "Cy")),
    arxiv="1201.00001", provenance=(Provenance("dblp"), Provenance("crossref")),
)  # fmt: skip
ARTICLE = Work(
    id="m:article", title="A Slow Survey of Rivers and Their Dams", year=2018, venue="tacl",
    journal="Transactions of the Association for Computational Linguistics", volume="6",
    kind="article", authors=(Author("Dogwood", "Dan"), Author("Elm", "Eve")),
)  # fmt: skip
CHECKER = Checker([MemoryRecords([PAPER, ARTICLE])], today=datetime.date(2026, 1, 1))


def fixed(tmp_path, text, **how):
    """The plan for a file with this text, and what the file would hold."""
    path = tmp_path / "refs.bib"
    path.write_text(text, encoding="utf-8", newline="")
    claims = claims_in_files([path]).claims
    plan = plan_fixes(CHECKER.check(claims), CHECKER.check, root=tmp_path, **how)
    after = text
    for edit in plan.edits:
        after = apply_edits(text, edit.edits)
    return plan, after


def test_a_missing_author_is_put_in_and_all_else_stays(tmp_path):
    text = (
        "% mine\n@InProceedings{w,\n  title = {Seven Ways of Walking on Directed Graphs},\r\n"
        "  author = \"A. Ash and Cy Cedar\",\n  booktitle = ICML # { proceedings},\n"
        "  year = 2012, note={dear},\n}\n\nfree text\n"
    )  # fmt: skip
    plan, after = fixed(tmp_path, text)
    assert after == text.replace("A. Ash and Cy Cedar", "A. Ash and Ben Béech and Cy Cedar")
    assert [(one.key, one.codes, one.safe) for one in plan.fixed] == [
        ("w", ("author-missing",), True)
    ]
    assert plan.diffs[0].startswith("--- a/refs.bib")


@pytest.mark.parametrize("year", ["year = {2011}", "date = {2011-12}"])
def test_a_corrected_venue_brings_its_year(tmp_path, year):
    text = (
        f"@article{{w, title={{{PAPER.title}}},\n  author={{Ash, Ann and others}},\n"
        f"  journal={{NeurIPS}},\n  {year}\n}}\n"
    )
    _, after = fixed(tmp_path, text)
    assert year.replace("2011", "2012") in after
    assert "{International Conference on Machine Learning}" in after


PREPRINT = (
    "@article{w, title={Seven Ways of Walking on Digraphs},\n  author={Ash, Ann and Cedar, Cy},\n"
    "  journal={arXiv preprint arXiv:1201.00001},\n  year={2011}}\n"
)


def test_a_preprint_becomes_the_paper_only_on_request(tmp_path):
    plan, after = fixed(tmp_path, PREPRINT)
    assert after == PREPRINT
    plan, after = fixed(tmp_path, PREPRINT, unsafe=True)
    assert [one.safe for one in plan.fixed] == [False]
    for part in ("@inproceedings{w", PAPER.title, "Béech, Ben", "International Conference", "2012"):
        assert part in after
    assert "arXiv preprint" not in after


@pytest.mark.parametrize("unsafe", [False, True])
def test_what_is_invented_is_never_corrected_without_being_asked(tmp_path, unsafe):
    text = (
        "@misc{w, title={Seven Ways of Walking on Directed Graphs}, year={2012},\n"
        "  author={Zoe Zinnia and Yan Yew}}\n"
    )
    plan, after = fixed(tmp_path, text, unsafe=unsafe)
    assert (after == text) is not unsafe
    assert bool(plan.left) is not unsafe


def test_after_every_fix_the_check_passes(tmp_path):
    text = "".join(
        f"@inproceedings{{k{n}, title={{{PAPER.title}}},\n  author={{{author}}},\n"
        f"  booktitle={{{venue}}},\n  year={{{year}}}}}\n"
        for n, (author, venue, year) in enumerate([
            ("Ann Ash and Ben Béech", "ICML", 2012),
            ("Cy Cedar and Ann Ash and Ben Béech", "ICML", 2012),
            ("Ann Ash and Ben Béech and Cy Cedar", "CVPR", 2012),
            ("Ann Ash and Zoe Zinnia and Cy Cedar", "NeurIPS", 2016),
        ])
    )  # fmt: skip
    plan, after = fixed(tmp_path, text)
    assert len(plan.fixed) == 4
    (tmp_path / "refs.bib").write_text(after, encoding="utf-8")
    again = CHECKER.check(claims_in_files([tmp_path / "refs.bib"]).claims)
    assert not any(counts(finding) for check in again for finding in check.findings)
