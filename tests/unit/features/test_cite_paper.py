"""A chosen paper is cited in the form that fits what stands at the place."""

import msgspec
import pytest

from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits
from citewell.features.actions.placeholder import PaperToCite, cite_all_at, cite_at, plan_cite
from citewell.model import Author, Work
from citewell.model.document import Span
from citewell.options import Options

WORK = Work(
    id="w:1",
    title="Graph Attention Networks",
    authors=(Author("Veličković", "Petar"),),
    year=2018,
    kind="inproceedings",
    booktitle="ICLR",
)


def cited(text, scan, command="", known=("a", "b")):
    """The text after citing `new` at `|`, or in place of what stands between two of them; with the
    cursor behind the citation."""
    start = text.index("|")
    end = text.rindex("|") - (1 if text.count("|") == 2 else 0)
    document = scan(text.replace("|", ""))
    change, end = cite_at(document, Span(start, end), "new", command, known.__contains__)
    after = apply_edits(document.text, [change] if change else [])
    return f"{after[:end]}|{after[end:]}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # An open place takes the key.
        (r"as \cite{a, |} shows", r"as \cite{a, new}| shows"),
        (r"as \cite{a,|} shows", r"as \cite{a,new}| shows"),
        (r"as \cite{|} shows", r"as \cite{new}| shows"),
        (r"as \citep[see]<graph att|ention> shows", r"as \citep[see]{new}| shows"),
        (r"as |\cite<graphs> shows", r"as \cite{new}| shows"),
        ("as [CITA|TION] shows", r"as \cite{new}| shows"),
        ("as |[CITATION]| shows", r"as \cite{new}| shows"),
        # A citation takes one key more.
        (r"as \cite{a|} shows", r"as \cite{a,new}| shows"),
        (r"as \cite{a}| shows", r"as \cite{a,new}| shows"),
        (r"as |\cite{a} shows", r"as \cite{a,new}| shows"),
        (r"as \cite{|a, b} shows", r"as \cite{a, new, b}| shows"),
        (r"as \cite{a, b}| shows", r"as \cite{a, b, new}| shows"),
        (r"as \ci|te[p.~5]{a} shows", r"as \cite[p.~5]{a,new}| shows"),
        (r"as \cites{a|}{b} shows", r"as \cites{a,new}{b}| shows"),
        # A key that no .bib knows was on its way to become this one.
        (r"as \cite{a,graphatt|} shows", r"as \cite{a,new}| shows"),
        # Elsewhere: behind the word, tied to it.
        ("graphs| are", r"graphs~\cite{new}| are"),
        ("gra|phs are", r"graphs~\cite{new}| are"),
        ("graphs |are", r"graphs \cite{new}| are"),
        ("graphs | are", r"graphs \cite{new}| are"),
        ("graphs.|", r"graphs. \cite{new}|"),
        ("graphs|.", r"graphs~\cite{new}|."),
        ("|", r"\cite{new}|"),
        ("a (|)", r"a (\cite{new}|)"),
        ("graphs~|", r"graphs~\cite{new}|"),
        ("a\n|\nb", "a\n\\cite{new}|\nb"),
        ("Müller 😋 gráp|hs are", "Müller 😋 gráphs~\\cite{new}| are"),
        (r"see \em|ph{x}", r"see \cite{new}| \emph{x}"),
        (r"see |\emph{x}", r"see \cite{new}| \emph{x}"),
        # What is selected makes room.
        ("as |some paper| shows", r"as \cite{new}| shows"),
    ],
)
def test_in_latex(before, after):
    assert cited(before, scan_latex) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("as [@a; @|] shows", "as [@a; @new]| shows"),
        ("as [@?graph at|tention] shows", "as [@new]| shows"),
        ("as [@a|] shows", "as [@a; @new]| shows"),
        ("as [see @a, p. 5|] shows", "as [see @a, p. 5; @new]| shows"),
        ("as |[@a] shows", "as [@a; @new]| shows"),
        ("as @a| shows", "as @a; @new| shows"),
        ("as |@a shows", "as [@new]| @a shows"),
        ("graphs| are", "graphs [@new]| are"),
        ("gra|phs are", "graphs [@new]| are"),
        ("graphs |are", "graphs [@new]| are"),
        ("as |some paper| shows", "as [@new]| shows"),
        ("as \\citep{a} and graphs|", "as \\citep{a} and graphs \\citep{new}|"),
    ],
)
def test_in_markdown(before, after):
    assert cited(before, scan_markdown) == after


def test_what_is_cited_there_already_is_left_alone():
    document = scan_latex(r"as \cite{a,b} shows")
    assert cite_at(document, Span(12, 12), "a") == (None, len(r"as \cite{a,b}"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("graphs| are", "graphs~\\cite{x,y} are"),
        ("as \\cite{a}| shows", "as \\cite{a,x,y} shows"),
        ("as \\cite{a, b}| shows", "as \\cite{a, b, x, y} shows"),
        ("as \\cite{a, x}| shows", "as \\cite{a, x, y} shows"),
        ("as \\cite{x,y}| shows", "as \\cite{x,y} shows"),
        ("as \\citep[p.~5]<some words|> shows", "as \\citep[p.~5]{x,y} shows"),
    ],
)
def test_several_keys_become_one_citation(before, after):
    at = before.index("|")
    document = scan_latex(before.replace("|", ""))
    change, end = cite_all_at(document, Span(at, at), ["x", "y"])
    text = document.text if change is None else apply_edits(document.text, [change])
    assert text == after
    assert after[:end].endswith("}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("graphs| are", "graphs [@x; @y] are"),
        ("as [@a]| shows", "as [@a; @x; @y] shows"),
        ("as [@some words|] shows", "as [@x; @y] shows"),
        ("as [@?|] shows", "as [@x; @y] shows"),
    ],
)
def test_several_keys_in_markdown(before, after):
    at = before.index("|")
    document = scan_markdown(before.replace("|", ""))
    change, _ = cite_all_at(document, Span(at, at), ["x", "y"])
    assert change is not None
    assert apply_edits(document.text, [change]) == after


def planned(folder, files, name, at, **more):
    return planned_chosen(folder, files, name, at, [PaperToCite(**more)])


def planned_all(folder, files, name, behind, works):
    at = files[name].index(behind) + len(behind)
    return planned_chosen(folder, files, name, at, [PaperToCite(work) for work in works])


def planned_chosen(folder, files, name, at, chosen):
    for one, text in files.items():
        (folder / one).write_bytes(text.encode())
    project = Project.open(folder / name, roots=[folder])
    found = plan_cite(project, project.document, Span(at, at), Options(), chosen)
    after = dict(files)
    for edit in found.plan.edits:
        one = edit.path.rpartition("/")[2].rpartition("\\")[2]
        after[one] = apply_edits(after.get(one, ""), edit.edits)
    return found, after


def test_a_chapter_without_citations_takes_the_command_of_its_paper(tmp_path):
    files = {
        "main.tex": "\\documentclass{article}\n\\begin{document}\nSee \\citep{a}.\n"
        "\\input{two}\n\\bibliography{refs}\n\\end{document}\n",
        "two.tex": "% !TEX root = main.tex\nGraphs are useful.\n",
        "refs.bib": "@misc{a, title={A}}\n",
    }
    at = files["two.tex"].index(" are")
    found, after = planned(tmp_path, files, "two.tex", at, work=WORK)
    assert after["two.tex"].endswith("\nGraphs~\\citep{velickovic2018graph} are useful.\n")
    assert after["two.tex"][: found.end].endswith("{velickovic2018graph}")
    assert after["main.tex"] == files["main.tex"]
    assert after["refs.bib"].startswith(files["refs.bib"])
    assert "@inproceedings{velickovic2018graph," in after["refs.bib"]


def test_the_cursor_goes_behind_the_citation_when_the_declaration_stands_before_it(tmp_path):
    files = {"notes.md": "---\ntitle: Notes\n---\n\nGraphs are useful.\n"}
    at = files["notes.md"].index(" are")
    found, after = planned(tmp_path, files, "notes.md", at, work=WORK)
    text = after["notes.md"]
    assert "bibliography:" in text
    assert text[: found.end].endswith("Graphs [@velickovic2018graph]")


def test_an_own_entry_is_cited_without_touching_its_bib(tmp_path):
    files = {"main.tex": "Graphs.\n\\bibliography{refs}\n", "refs.bib": "@misc{a, title={A}}\n"}
    found, after = planned(tmp_path, files, "main.tex", len("Graphs"), key="a")
    assert found.key == "a"
    assert after["main.tex"].startswith("Graphs~\\cite{a}.\n")
    assert after["refs.bib"] == files["refs.bib"]


def test_several_works_get_distinct_keys_and_a_new_bib_that_is_declared_once(tmp_path):
    files = {"main.tex": "\\begin{document}\nGraphs are useful.\n\\end{document}\n"}
    other = msgspec.structs.replace(WORK, id="other", title="Graph Attraction", doi="", arxiv="")
    found, after = planned_all(tmp_path, files, "main.tex", "Graphs", [WORK, other, WORK])
    assert len(found.keys) == len(set(found.keys)) == 2
    assert f"Graphs~\\cite{{{','.join(found.keys)}}} are" in after["main.tex"]
    assert after["main.tex"].count("\\bibliography{") == 1
    assert [after["references.bib"].count(f"{{{key},") for key in found.keys] == [1, 1]
    assert found.entered == (WORK, other)
