from __future__ import annotations

import pytest

from citewell.lsp.requests.navigation import define

PAPER = r"""
%! main.tex
\documentclass{article}
\begin{document}
\input{sec/one}
\cite{a,twice}
\bibliography{refs,more}
\end{document}
%! sec/one.tex
One \citep[see][]{sib} and \cite{nobody}.
%! refs.bib
@string{acl = "Annual Meeting"}
@article{a, title={A}, journal=acl, crossref={twice}}
@misc{twice, title={First}}
%! more.bib
@misc{twice, title={Second}}
@misc{x, ids={sib, other}, note={see \cite{a}}}
%! notes.md
---
bibliography: refs
---
Also [-@a] and @twice.
%! thesis.tex
\documentclass{book}
\begin{document}
\cite{own}
\begin{thebibliography}{1}
\bibitem[O]{own} Own.
\end{thebibliography}
\end{document}
"""


def defined(write_files, line_and_marks: tuple[str, str]) -> tuple[str, list[str]] | None:
    line, marks = line_and_marks
    files = write_files(PAPER.replace(line, f"{line}\n{marks}", 1))
    found = define(files.table, files.projects, files.path, files.cursor)
    if found is None:
        return None
    origin = files.show(files.path, found.origin).split(" ", 2)[2]
    return origin, [files.show(t.path, t.name) for t in found.targets]


@pytest.mark.parametrize(
    "line, marks, origin, targets",
    [
        (r"\cite{a,twice}", "      |", "a", ["refs.bib 2 a"]),
        (r"\cite{a,twice}", "       |", "a", ["refs.bib 2 a"]),
        (r"\cite{a,twice}", "        |", "twice", ["refs.bib 3 twice", "more.bib 1 twice"]),
        ("One \\citep[see][]{sib} and \\cite{nobody}.", " " * 19 + "|", "sib", ["more.bib 2 sib"]),
        ("One \\citep[see][]{sib} and \\cite{nobody}.", " " * 34 + "|", "nobody", []),
        ("@misc{x, ids={sib, other}, note={see \\cite{a}}}", " " * 43 + "|", "a", ["refs.bib 2 a"]),
        ("@article{a, title={A}, journal=acl, crossref={twice}}", " " * 46 + "|", "twice",
         ["refs.bib 3 twice", "more.bib 1 twice"]),
        ("@article{a, title={A}, journal=acl, crossref={twice}}", " " * 32 + "|", "acl",
         ["refs.bib 1 acl"]),
        ("Also [-@a] and @twice.", "        |", "a", ["refs.bib 2 a"]),
        ("Also [-@a] and @twice.", " " * 18 + "|", "twice", ["refs.bib 3 twice"]),
        (r"\cite{own}", "       |", "own", ["thesis.tex 5 own"]),
        (r"\input{sec/one}", "        |", "sec/one", ["sec/one.tex 1 "]),
        (r"\bibliography{refs,more}", " " * 20 + "|", "more", ["more.bib 1 "]),
        ("bibliography: refs", " " * 15 + "|", "refs", ["refs.bib 1 "]),
    ],
)  # fmt: skip
def test_a_name_leads_to_what_defines_it(write_files, line, marks, origin, targets):
    assert defined(write_files, (line, marks)) == (origin, targets)
