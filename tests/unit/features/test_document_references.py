"""The list of a document's references as plain data."""

import pytest

from citewell.features.document_references import MAX_REFERENCES, document_references
from citewell.model import Author, Provenance, Work
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict

RECORD = Work(
    id="x",
    title="Graphs",
    authors=(Author("Kipf", "Thomas"), Author("Welling", "Max")),
    year=2017,
    venue="ICLR",
    provenance=(Provenance("acl-anthology"),),
)
LATE = FieldFinding(
    code="year-differs",
    field="year",
    message="The year is 2012.",
    severity=Severity.WARNING,
    expected="2017",
)
CHECKS = {
    "kipf": Check(
        claim=Claim(), verdict=Verdict.WRONG_DETAIL, findings=(LATE,), work=RECORD, evidence=("W.",)
    ),
    "vas": Check(claim=Claim(), verdict=Verdict.VERIFIED),
    "ghost": Check(claim=Claim(), verdict=Verdict.NOT_FOUND, evidence=("No record.",)),
    "plain": Check(claim=Claim(), verdict=Verdict.UNCHECKED, evidence=("Nothing to look up.",)),
}
PAPER = r"""%! main.tex
\documentclass{article}
\begin{document}
|
\input{part}
Late \cite{vas, nobody} and \citep{vas}.
\nocite{*}
\bibliography{refs}
\end{document}
%! part.tex
First \cite{kipf, \ghost}\cite{ghost}.
%! refs.bib
@article{kipf, author = {Kipf, Thomas and Welling, Max}, title = {{G}raphs}, year = {2012}}
@misc{ghost, title = {Gone}, author = {Ghost, A}}
@misc{plain, title = {Plain}}
@book{vas, author = {A, B and C, D and E, F}, title = {Attention}, date = {2017-06}, publisher = {P}}
""".replace(r", \ghost", "")


def check_of(bib, entry):
    return CHECKS.get(entry.key)


def listed(written, name):
    return document_references(written.table, written.folder / name, check_of)


def test_a_paper_lists_what_is_wrong_first_then_what_it_cites_its_own_keys_first(write_files):
    written = write_files(PAPER)
    found = listed(written, "main.tex")
    assert [(r.key, r.state, r.citations) for r in found.references] == [
        ("nobody", "undefined", 1),
        ("kipf", "wrong-detail", 1),
        ("vas", "verified", 2),
        ("ghost", "not-found", 1),
    ]
    assert found.total == 4
    from_part = listed(written, "part.tex")
    assert [r.key for r in from_part.references] == ["nobody", "kipf", "ghost", "vas"]


def test_each_says_who_when_where_and_what_is_wrong(write_files):
    written = write_files(PAPER)
    nobody, kipf, vas, ghost = listed(written, "main.tex").references
    assert (vas.authors, vas.year, vas.venue, vas.title) == ("A et al.", 2017, "P", "Attention")
    assert vas.problems == () and vas.fixes == ()
    assert [written.show(p.path, p.span) for p in vas.cited] == ["main.tex 4 vas"] * 2
    assert written.show(vas.defined.path, vas.defined.span) == "refs.bib 4 vas"
    assert nobody.defined is None
    assert [(p.code, str(p.level)) for p in nobody.problems] == [("undefined-key", "error")]
    assert kipf.title == "Graphs"
    assert [p.code for p in kipf.problems] == ["year-differs"]
    assert "2017" in kipf.problems[0].message
    assert kipf.fixes[0].name == "field"
    assert kipf.fixes[0].arguments["key"] == "kipf"
    assert (ghost.problems, ghost.words) == ((), "not found")


def test_the_entry_of_the_asked_file_is_meant_where_two_have_the_key(write_files):
    written = write_files(
        r"""%! main.tex
\cite{a}\bibliography{one,two}
|
%! one.bib
@misc{a, title = {One}}
%! two.bib
@misc{a, title = {Two}}
"""
    )
    assert listed(written, "main.tex").references[0].title == "One"
    assert listed(written, "two.bib").references[0].title == "Two"


def test_a_reference_of_the_document_itself_is_no_error(write_files):
    written = write_files(
        r"""%! main.tex
\cite{own}
|
\begin{thebibliography}{9}
\bibitem{own} Somebody. A Title. 2020.
\end{thebibliography}
"""
    )
    (own,) = listed(written, "main.tex").references
    assert (own.state, own.words) == ("unchecked", "in the document itself")


@pytest.mark.parametrize("count", [MAX_REFERENCES + 20])
def test_a_huge_file_is_cut_and_says_how_much_there_is(write_files, count):
    entries = "".join(f"@misc{{k{n}, title = {{T}}}}\n" for n in range(count))
    written = write_files("%! main.tex\n\\cite{k1}\\bibliography{refs}\n|\n%! refs.bib\n" + entries)
    found = listed(written, "refs.bib")
    assert len(found.references) == MAX_REFERENCES
    assert found.total == count


def test_the_style_of_a_bib_is_looked_at_once_however_many_entries_are_wrong(
    write_files, monkeypatch
):
    import citewell.features.document_references as feature

    looked = []
    detect = feature.detect_style
    monkeypatch.setattr(feature, "detect_style", lambda bib: looked.append(bib) or detect(bib))
    entries = "".join(
        f"@article{{k{n}, author = {{Kipf, T and Welling, M}}, title = {{Graphs}}, year = 2012}}\n"
        for n in range(40)
    )
    written = write_files("%! main.tex\n\\cite{k1}\\bibliography{refs}\n|\n%! refs.bib\n" + entries)
    found = document_references(
        written.table, written.folder / "refs.bib", lambda _bib, _entry: CHECKS["kipf"]
    )
    assert sum(bool(one.fixes) for one in found.references) == 40
    assert len(looked) == 1
