"""Actions in a .bib change what they say, and no other byte."""

from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.keys.table import BibKeys, DocumentKeys, KeyTable
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits, read_text
from citewell.features.bib.actions import (
    entry_actions,
    file_actions,
    normalise,
    plan_merge,
    plan_removal,
    record_of,
    twins_of,
)
from citewell.features.bib.sort import pieces_of, sort_entries, unused_entries, without
from citewell.features.checking.lint_rule import LintPaper
from citewell.model import Author, Problem, Work

BIB = """% My references

@string{nips = {Advances in Neural Information Processing Systems}}

% the first of all
@book{zuse1969,
  title = {Rechnender Raum},
  author = {Zuse, Konrad},
  year = 1969
}

@inproceedings{b:attention, title={Attention is all you need}, author={Vaswani, Ashish and Shazeer, Noam},
  booktitle=nips, year={2017}, note={read twice}}
% still about attention

@Article{ada1843, author = "Lovelace, Ada", title = "Notes", year = 1843} % trailing

% --- end ---
"""


def after(text, edits):
    assert not isinstance(edits, Problem)
    return apply_edits(text, edits)


def test_comments_belong_to_the_entry_that_they_stand_by():
    bib = parse_bib(BIB, "r.bib")
    shown = [BIB[piece.span.start : piece.span.end] for piece in pieces_of(bib)]
    assert [text.splitlines()[0][:20] for text in shown] == [
        "@string{nips = {Adva",
        "% the first of all",
        "@inproceedings{b:att",
        "@Article{ada1843, au",
    ]
    assert shown[2].endswith("% still about attention")
    assert shown[3].endswith("% trailing")


def test_sorting_moves_entries_with_their_comments_and_keeps_the_gaps():
    bib = parse_bib(BIB, "r.bib")
    text = after(BIB, sort_entries(bib, "key"))
    assert [entry.key for entry in parse_bib(text).entries] == [
        "ada1843",
        "b:attention",
        "zuse1969",
    ]
    assert sorted(text.splitlines()) == sorted(BIB.splitlines())
    assert text.startswith("% My references\n\n@string{nips")
    assert text.endswith("year = 1969\n}\n\n% --- end ---\n")
    assert sort_entries(parse_bib(text, "r.bib"), "key") == ()
    by_author = after(BIB, sort_entries(bib, "author"))
    assert [e.key for e in parse_bib(by_author).entries] == ["ada1843", "b:attention", "zuse1969"]


def test_a_parent_of_crossref_goes_behind_its_children_and_a_macro_before_its_use():
    text = (
        "@proceedings{avol, title={V}, year=2001}\n@misc{z, title={Z}}\n\n@string{pub = {P}}\n"
        "@inproceedings{b, title={B}, crossref={avol}, publisher=pub}\n"
    )
    done = parse_bib(after(text, sort_entries(parse_bib(text, "r.bib"), "key")))
    assert [entry.key for entry in done.entries] == ["b", "z", "avol"]
    assert done.blocks[0].start < done.entries[0].start
    assert done.entries[0].get("publisher") == "P"


def test_a_broken_file_is_not_sorted_and_says_why():
    problem = sort_entries(parse_bib("@misc{b, title={B}}\n@misc{a, title={A\n", "r.bib"), "key")
    assert isinstance(problem, Problem)
    assert problem.code == "bib-not-sortable"


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        (["zuse1969"], ["% My references", "@string", "@inproceedings", "% still", "@Article"]),
        (["ada1843"], ["% My references", "@string", "% the first", "@book", "@inproceedings"]),
        (["zuse1969", "b:attention", "ada1843"], ["% My references", "@string", "% --- end ---"]),
    ],
)
def test_an_entry_is_removed_with_its_comments_and_one_gap(keys, kept):
    bib = parse_bib(BIB, "r.bib")
    text = after(BIB, without(bib, [bib.by_key[key] for key in keys]))
    assert not any(key in text for key in keys)
    assert all(beginning in text for beginning in kept)
    assert "\n\n\n" not in text
    assert text.endswith("\n")


RECORD = Work(
    id="x:1",
    title="Attention Is All You Need",
    authors=(Author("Vaswani", "Ashish"), Author("Shazeer", "Noam"), Author("Parmar", "Niki")),
    year=2017,
    kind="inproceedings",
    booktitle="Advances in Neural Information Processing Systems 30",
    pages="5998-6008",
    doi="10.5555/3295222",
)


def test_an_entry_takes_from_its_record_what_it_lacks_or_has_wrong():
    bib = parse_bib(BIB, "r.bib")
    entry = bib.by_key["b:attention"]
    assert record_of(entry, [RECORD]) is RECORD
    text = after(BIB, normalise(bib, entry, RECORD))
    now = parse_bib(text).by_key["b:attention"]
    assert now.get("author") == "Vaswani, Ashish and Shazeer, Noam and Parmar, Niki"
    assert (now.get("pages"), now.get("doi")) == ("5998–6008", "10.5555/3295222")
    assert now.get("note") == "read twice"
    assert now.get("title") == "Attention is all you need"
    assert "booktitle=nips" in text
    at = entry.start
    assert text[:at] == BIB[:at]
    assert text.endswith(BIB[entry.end :])
    again = parse_bib(text, "r.bib")
    assert normalise(again, again.by_key["b:attention"], RECORD) == ()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            '@misc{k, title="A Title of Some Length Here", author="Doe, J.", year=2001}',
            '@inproceedings{k, title="A Title of Some Length Here", author="Doe, Jane", year=2000, '
            'booktitle="Proc. X"}',
        ),
        (
            "@misc{k,\r\n\ttitle = {A Title of Some Length Here},\r\n\tauthor = {Jane Doe},\r\n"
            "\tyear = {2000},\r\n}",
            "@inproceedings{k,\r\n\ttitle = {A Title of Some Length Here},\r\n\tauthor = {Jane Doe},"
            "\r\n\tyear = {2000},\r\n\tbooktitle = {Proc. X},\r\n}",
        ),
    ],
)
def test_new_fields_are_written_as_the_others_are(entry, expected):
    record = Work(
        id="x:2",
        title="A title of some length here",
        authors=(Author("Doe", "Jane"),),
        year=2000,
        kind="inproceedings",
        booktitle="Proc. X",
    )
    bib = parse_bib(entry, "r.bib")
    assert after(entry, normalise(bib, bib.entries[0], record)) == expected


PAPER = r"""
%! main.tex
\documentclass{article}
\begin{document}
First \cite{att1}, then \citep[see][p.~5]{zuse1969,att2}, both \cite{att2, att1} \cite{att2}.
\input{part}
\bibliography{refs}
\end{document}
%! part.tex
More of \citet{att2}.
%! refs.bib
@book{zuse1969, title={Rechnender Raum}, author={Zuse, Konrad}, year=1969}

@inproceedings{att1, title={Attention Is All You Need}, author={Vaswani, Ashish}, year=2017}

@inproceedings{att2,
  title={Attention is all you need},
  author={Vaswani, A.},
  year={2017},
  pages={5998--6008}
}

@misc{extra, title={Never Cited}, year=2000, crossref={att2}}
"""


@pytest.fixture
def project(fixture_files, tmp_path: Path) -> Project:
    fixture_files(PAPER).write(tmp_path)
    return Project.open(tmp_path / "main.tex")


@pytest.fixture
def table(project: Project) -> KeyTable:
    files = {path: DocumentKeys(path, d) for path, d in project.documents.items()}
    return KeyTable(files | {path: BibKeys(path, b) for path, b in project.bibs.items()})


def test_two_entries_of_one_work_become_one_wherever_they_are_cited(project, table):
    (bib,) = project.bibliographies
    paper = LintPaper([project])
    kept = bib.by_key["att1"]
    gone = twins_of(bib, kept, paper)
    assert [entry.key for entry in gone] == ["att2"]
    plan = plan_merge(bib, kept, gone, table, [project])
    done = {Path(e.path).name: apply_edits(plan.texts[Path(e.path)], e.edits) for e in plan.edits}
    assert (
        r"First \cite{att1}, then \citep[see][p.~5]{zuse1969,att1}, both \cite{att1} \cite{att1}."
        in done["main.tex"]
    )
    assert done["part.tex"] == "More of \\citet{att1}.\n"
    text = done["refs.bib"]
    assert "att2" not in text
    assert "year=2017, pages={5998--6008}}" in text
    assert "crossref={att1}" in text


def test_the_actions_of_an_entry_and_of_the_file(project, table):
    (bib,) = project.bibliographies
    paper = LintPaper([project])
    titles = [a.title for a in entry_actions(bib, bib.by_key["att1"], paper, table)]
    assert titles == ["Merge `att1` into `att2` and update the citations"]
    titles = [a.title for a in entry_actions(bib, bib.by_key["extra"], paper, table)]
    assert titles == ["Remove the unused entry `extra`"]
    assert [a.title for a in file_actions(bib, paper)] == [
        "Sort the entries by key",
        "Sort the entries by author and year",
        "Remove the unused entry",
    ]


def test_nothing_is_unused_under_nocite_all_or_without_a_paper(project):
    (bib,) = project.bibliographies
    assert [e.key for e in unused_entries(bib, LintPaper([project]))] == ["extra"]
    assert unused_entries(bib, LintPaper([])) == []


def test_every_action_keeps_every_other_byte_of_real_bibliographies(shared_data: Path) -> None:
    """On each .bib of real papers: sorting keeps the lines, removal and completion keep the rest."""
    paths = sorted((shared_data / "projects").rglob("*.bib"))
    assert len(paths) > 10
    for path in paths:
        text = read_text(path).text
        bib = parse_bib(text, str(path))
        bodies = sorted(entry.body.text for entry in bib.entries)
        for by in ("key", "author"):
            edits = sort_entries(bib, by)
            if isinstance(edits, Problem):
                continue
            done = apply_edits(text, edits)
            assert sorted(e.body.text for e in parse_bib(done).entries) == bodies, path
            assert sorted(done.split()) == sorted(text.split()), path
        gone = bib.entries[1::3]
        plan = plan_removal(bib, gone)
        done = apply_edits(text, plan.edits[0].edits) if plan.edits else text
        left = [e.body.text for e in bib.entries if e not in gone]
        assert [e.body.text for e in parse_bib(done).entries] == left, path
        for entry in bib.entries[:: max(1, len(bib.entries) // 2)]:
            _check_completion(bib, entry)


def _check_completion(bib, entry):
    record = Work(
        id="x:1",
        title=entry.get("title") or "A title",
        authors=(Author("Doe", "Jane"), Author("Roe", "Rick")),
        year=1999,
        kind="article",
        journal="Journal of Records",
        volume="3",
        pages="1-9",
        doi="10.1000/record",
    )
    edits = normalise(bib, entry, record)
    done = apply_edits(bib.text, edits)
    now = reparse(bib, done)
    assert done.startswith(bib.text[: entry.start])
    assert done.endswith(bib.text[entry.end :])
    assert len(now.entries) == len(bib.entries)
    same = [e for e in now.entries if e.start == entry.start]
    assert same and same[0].key == entry.key
    assert set(entry.names) - {"journal", "booktitle", "journaltitle"} <= set(same[0].names)
    if edits:
        assert same[0].get("doi") == "10.1000/record"
