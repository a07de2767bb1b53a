from __future__ import annotations

import pytest

from citewell.lsp.requests.navigation import highlights, references

PAPERS = r"""
%! one/main.tex
\documentclass{article}
\begin{document}
\cite{a} and \citet{a,b}.
\nocite{a}
\bibliography{../shared,own}
\end{document}
%! one/own.bib
@misc{b, title={B}, crossref={a}}
%! two.md
---
bibliography: shared.bib
---
We follow @a. We leave @b.
%! three.md
---
bibliography: other.bib
---
Another @a.
%! other.bib
@misc{a, title={Another}}
%! shared.bib
@string{j = {Journal}}
@article{a, title={A}, journal=j # " of " # J}
@article{c, journal=j}
"""


@pytest.fixture
def at(write_files):
    def place(line, marks):
        return write_files(PAPERS.replace(line, f"{line}\n{marks}", 1))

    return place


ALL_OF_A = {
    "one/main.tex 3 a", "one/main.tex 4 a", "one/own.bib 1 a", "shared.bib 2 a", "two.md 4 a",
}  # fmt: skip


@pytest.mark.parametrize(
    "line, marks",
    [
        (r"\cite{a} and \citet{a,b}.", "      |"),
        ("@misc{b, title={B}, crossref={a}}", " " * 30 + "|"),
        ("We follow @a. We leave @b.", " " * 12 + "|"),
        ('@article{a, title={A}, journal=j # " of " # J}', " " * 9 + "|"),
    ],
)
def test_a_key_is_found_in_all_papers_that_use_its_bib_from_wherever_one_asks(at, line, marks):
    files = at(line, marks)
    found = [files.show(p.path, p.span) for p in references(files.table, files.path, files.cursor)]
    assert set(found) == ALL_OF_A
    assert len(found) == 6
    assert found[0].startswith(files.fixture.cursor_file)


def test_a_key_of_the_papers_own_bib_stays_in_the_paper(at):
    files = at(r"\cite{a} and \citet{a,b}.", " " * 22 + "|")
    found = [files.show(p.path, p.span) for p in references(files.table, files.path, files.cursor)]
    assert found == ["one/main.tex 3 b", "one/own.bib 1 b"]


def test_a_string_macro_is_found_in_any_case(at):
    files = at("@article{c, journal=j}", " " * 20 + "|")
    found = references(files.table, files.path, files.cursor)
    shown = [(files.show(p.path, p.span), p.defines) for p in found]
    assert shown == [
        ("shared.bib 1 j", True), ("shared.bib 2 j", False),
        ("shared.bib 2 J", False), ("shared.bib 3 j", False),
    ]  # fmt: skip
    assert highlights(files.table, files.path, files.cursor) == found
    assert len(references(files.table, files.path, files.cursor, declarations=False)) == 3


CASES = r"""
%! main.tex
\documentclass{article}
\begin{document}
\cite{Zuse} and \citet{zuse}.
       |
\bibliography{refs}
\end{document}
%! refs.bib
@book{ZUSE, title={Raum}}
"""


def test_bibtex_does_not_tell_keys_apart_by_case(write_files):
    files = write_files(CASES)
    shown = {files.show(p.path, p.span) for p in references(files.table, files.path, files.cursor)}
    assert shown == {"main.tex 3 Zuse", "main.tex 3 zuse", "refs.bib 1 ZUSE"}
    assert len(highlights(files.table, files.path, files.cursor)) == 2
    files = write_files(CASES.replace("article}", "article}\\usepackage{biblatex}"))
    shown = {files.show(p.path, p.span) for p in references(files.table, files.path, files.cursor)}
    assert shown == {"main.tex 3 Zuse"}
