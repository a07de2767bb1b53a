import pytest

from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits
from citewell.features.citing.insert import plan_insert
from citewell.model import Author, Work
from citewell.options import Options

WORK = Work(
    id="w:1",
    title="Graph Attention Networks",
    authors=(Author("Veličković", "Petar"), Author("Cucurull", "Guillem")),
    year=2018,
    kind="inproceedings",
    booktitle="ICLR",
    arxiv="1710.10903",
)
PAPER = "\\documentclass{article}\n\\begin{document}\nx\n\\bibliography{refs}\n\\end{document}\n"


def planned(folder, files, **more):
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    project = Project.open(folder / "main.tex", roots=[folder])
    plan = plan_insert(project, WORK, Options(), for_path=folder / "main.tex", **more)
    after = dict(files)
    for edit in plan.edits:
        name = edit.path.rpartition("/")[2].rpartition("\\")[2]
        assert plan.texts[edit.path] == files.get(name, "")
        assert edit.create == (name not in files)
        after[name] = apply_edits(plan.texts[edit.path], edit.edits)
    return plan, after


def test_the_entry_goes_to_the_declared_bib_and_nothing_else_changes(tmp_path):
    old = "@book{zuse1969,\n\ttitle = {Raum},\n}\n"
    plan, after = planned(tmp_path, {"main.tex": PAPER, "refs.bib": old})
    assert plan.key == "velickovic2018graph"
    assert after["main.tex"] == PAPER
    assert after["refs.bib"].startswith(old)
    assert "@inproceedings{velickovic2018graph,\n\t" in after["refs.bib"]


def test_a_work_that_is_there_keeps_its_key_and_nothing_changes(tmp_path):
    old = "@misc{gat, title={Graph attention networks}, author={Velickovic, P.}, year=2017}\n"
    plan, _ = planned(tmp_path, {"main.tex": PAPER, "refs.bib": old})
    assert (plan.key, plan.edits) == ("gat", ())


def test_a_paper_without_bibliography_gets_one_and_declares_it(tmp_path):
    bare = PAPER.replace("\\bibliography{refs}\n", "")
    plan, after = planned(tmp_path, {"main.tex": bare})
    assert "velickovic2018graph" in after["references.bib"]
    assert "\\bibliography{references}" in after["main.tex"]
    assert len(plan.edits) == 2


def test_a_wanted_key_is_taken_over_unless_another_entry_has_it(tmp_path):
    plan, _ = planned(tmp_path, {"main.tex": PAPER, "refs.bib": ""}, key="gat18")
    assert plan.key == "gat18"
    other = "@misc{GAT18, title={Something}}\n"
    plan, _ = planned(tmp_path, {"main.tex": PAPER, "refs.bib": other}, key="gat18")
    assert plan.key == "velickovic2018graph"


def test_a_key_that_another_bib_of_the_project_has_is_not_used_again(tmp_path):
    files = {
        "main.tex": PAPER.replace("{refs}", "{refs,more}"),
        "refs.bib": "",
        "more.bib": "@misc{velickovic2018graph, title={Something else}}\n",
    }
    plan, _ = planned(tmp_path, files)
    assert plan.key == "velickovic2018grapha"


def test_a_bib_that_cannot_be_written_is_a_problem_with_a_cure(tmp_path):
    (tmp_path / "refs.bib").mkdir()
    plan, _ = planned(tmp_path, {"main.tex": PAPER})
    assert plan.problems or plan.key
    assert all(problem.message for problem in plan.problems)


def test_a_write_protected_bib_is_said_and_nothing_is_changed(tmp_path):
    (tmp_path / "refs.bib").write_text("@misc{a, title={A}}\n")
    (tmp_path / "refs.bib").chmod(0o444)
    (tmp_path / "main.tex").write_text(PAPER)
    plan = plan_insert(Project.open(tmp_path / "main.tex", roots=[tmp_path]), WORK, Options())
    assert (plan.edits, plan.key) == ((), "")
    assert [problem.code for problem in plan.problems] == ["bib-not-writable"]
    assert "refs.bib" in plan.problems[0].message


def test_a_stray_bib_is_never_made_silently(tmp_path):
    (tmp_path / "part.tex").write_text("\\section{A}")
    plan = plan_insert(Project.open(tmp_path / "part.tex", roots=[tmp_path]), WORK, Options())
    assert [edit.create for edit in plan.edits] == [True]
    assert [problem.code for problem in plan.problems] == ["bib-undeclared"]


def test_a_paper_with_a_thebibliography_is_told_that_it_does_not_read_a_bib(tmp_path):
    items = "\\begin{thebibliography}{1}\\bibitem{a} A.\\end{thebibliography}"
    text = f"\\documentclass{{article}}\n\\begin{{document}}\n{items}\n\\end{{document}}\n"
    (tmp_path / "main.tex").write_text(text)
    plan = plan_insert(Project.open(tmp_path / "main.tex", roots=[tmp_path]), WORK, Options())
    (problem,) = plan.problems
    assert problem.code == "bib-undeclared"
    assert "its references are in a `thebibliography`" in problem.message
    assert "`\\bibliography{references}`" in problem.hint


@pytest.mark.parametrize("key", ["a b", "x,\n title={Y}}\n@article{fake", "a%b"])
def test_a_key_that_cannot_be_is_said_and_nothing_is_changed(tmp_path, key):
    (tmp_path / "main.tex").write_text(PAPER)
    project = Project.open(tmp_path / "main.tex", roots=[tmp_path])
    plan = plan_insert(project, WORK, Options(), key=key)
    assert (plan.edits, plan.key) == ((), "")
    assert [problem.code for problem in plan.problems] == ["key-invalid"]
