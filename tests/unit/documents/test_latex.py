from __future__ import annotations

import pytest

from citewell.documents.latex.scanner import scan_latex
from citewell.model.document import Document


def cites(text: str, **more: object) -> list[tuple[str, str]]:
    """(command, "key,key") of every citation; the ranges of the keys are checked on the way."""
    document = scan_latex(text, **more)  # type: ignore[arg-type]
    for citation in document.citations:
        assert text[citation.span.start] == "\\"
        for use in citation.keys:
            assert text[use.span.start : use.span.end] == use.key
    return [(c.command, ",".join(u.key for u in c.keys)) for c in document.citations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\cite{a}", ("cite", "a")),
        (r"\cite {a}", ("cite", "a")),
        ("\\cite\n  {a}", ("cite", "a")),
        ("\\cite%\n{a}", ("cite", "a")),
        (r"\citep[see][p.~5]{a, b}", ("citep", "a,b")),
        (r"\citep[{[1]}, see][]{a}", ("citep", "a")),
        (r"\citet*{a}", ("citet*", "a")),
        (r"\Citet{a}", ("Citet", "a")),
        (r"\citeauthor*{a}", ("citeauthor*", "a")),
        (r"\parencite*{a}", ("parencite*", "a")),
        (r"\cites(pre)(post)[a][b]{k1}[c]{k2}{k3}", ("cites", "k1,k2,k3")),
        (r"\textcites{a}{b}", ("textcites", "a,b")),
        (r"\volcite[pre]{2}[p. 5]{a}", ("volcite", "a")),
        (r"\volcites{1}{a}{2}[3]{b}", ("volcites", "a,b")),
        (r"\textcquote[5]{a}[.]{Quoted words}", ("textcquote", "a")),
        (r"\foreigntextcquote{german}[5]{a}{Worte}", ("foreigntextcquote", "a")),
        (r"\begin{displaycquote}[5]{a} Long. \end{displaycquote}", ("displaycquote", "a")),
        (r"\onlinecite{a}", ("onlinecite", "a")),
        (r"\shortciteA<see>{a}", ("shortciteA", "a")),
        (r"\newcite{a}", ("newcite", "a")),
        (r"\yrcite{a}", ("yrcite", "a")),
        (r"\citeti{a}", ("citeti", "a")),
        (r"\possessivecite{a}", ("possessivecite", "a")),
        (r"\bibentry{a}", ("bibentry", "a")),
        (r"\footfullcite{a}", ("footfullcite", "a")),
        (r"\mycite{a}", ("mycite", "a")),
        ("\\cite{a,% a comment, with a comma\n  b}", ("cite", "a,b")),
        (r"\cite{a,*b}", ("cite", "a,b")),
        (r"\cite{DBLP:conf/acl/X-Y_1+2}", ("cite", "DBLP:conf/acl/X-Y_1+2")),
        (r"\cite{yao$t$bench2024}", ("cite", "yao$t$bench2024")),
        ("\\cite{\r\na,\r\nb}", ("cite", "a,b")),
    ],
)
def test_every_kind_of_cite_command_is_read_with_its_keys(
    text: str, expected: tuple[str, str]
) -> None:
    assert cites(f"We follow {text} here.") == [expected]


@pytest.mark.parametrize(
    "text",
    [
        r"\citestyle{acl}",
        r"\setcitestyle{round}",
        r"\let\mine\cite",
        r"\cite is a command",
        r"\AtEveryCite{\x}",
        r"\newcommand{\citex}[1]{\cite{#1}}",
        r"\cite{\thekey}",
        r"\citation{a}",
        r"\explicite{a}",
    ],
)
def test_what_only_looks_like_a_citation_is_none(text: str) -> None:
    document = scan_latex(text)
    assert document.citations == () and document.placeholders == ()


@pytest.mark.parametrize(
    "text",
    [
        "% \\cite{a}\n",
        r"\verb|\cite{a}| \verb*+\cite{a}+",
        r"\lstinline[language=C]{\cite{a}} \mintinline{tex}|\cite{a}|",
        r"\begin{verbatim}\cite{a} % \end{lstlisting}\end{verbatim}",
        "\\begin{lstlisting}[x]\n\\cite{a}\n\\end{lstlisting}",
        r"\begin{minted}{tex}\cite{a}\end{minted}",
        r"\begin{comment}\cite{a}\end{comment}",
        r"\iffalse \ifx\a\b \cite{a} \else \cite{a} \fi \cite{a} \fi",
        r"\if0 \cite{a} \fi",
        r"\end{document} \cite{a}",
        r"\begin{verbatim} never closed \cite{a}",
    ],
)
def test_comments_code_and_false_conditions_count_for_nothing(text: str) -> None:
    assert cites(text + ("\n" if text.startswith("%") else "")) == []


def test_a_real_citation_counts_in_math_footnotes_captions_and_arguments() -> None:
    text = (
        r"$x \text{ by \cite{a}}$ \footnote{see \cite{b}} \caption[s]{\cite{c}} "
        r"\begin{align} x & \text{\cite{d}} \end{align} \emph{\textbf{\cite{e}}} \section{On \cite{f}}"
    )
    assert [keys for _, keys in cites(text)] == ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("definition", "use", "expected"),
    [
        (r"\newcommand{\mine}[1]{\cite{#1}}", r"\mine{a}", ("mine", "a")),
        (
            r"\newcommand\figcite[2]{Figure #1 of \citep[p. 2]{#2}}",
            r"\figcite{3}{a}",
            ("figcite", "a"),
        ),
        (r"\newcommand{\ow}[2][]{\cite[#1]{#2}}", r"\ow[p. 5]{a}", ("ow", "a")),
        (r"\newcommand{\mine}{\protect\citep}", r"\mine[x]{a}", ("mine", "a")),
        (r"\def\mine#1{(\cite{#1})}", r"\mine{a}", ("mine", "a")),
        (r"\let\mine=\citet", r"\mine{a}", ("mine", "a")),
        (r"\NewDocumentCommand{\mine}{s o m m}{\cite{#4}}", r"\mine{x}{a}", ("mine", "a")),
        (r"\DeclareRobustCommand{\mine}[1]{\cite{#1}}", r"\mine{a}", ("mine", "a")),
        (r"\DeclareCiteCommand{\mine}[\mkbibparens]{a}{b}{c}{d}", r"\mine{a}", ("mine", "a")),
        (r"\newcites{sec}{Secondary}", r"\citepsec{a}", ("citepsec", "a")),
    ],
)
def test_the_authors_own_cite_commands_are_found_by_their_definition(
    definition: str, use: str, expected: tuple[str, str]
) -> None:
    assert cites(f"{definition}\nWe follow {use}.") == [expected]


def test_own_commands_of_other_files_and_of_the_settings_are_given_by_name() -> None:
    first = scan_latex(r"\newcommand{\pic}[2]{#1 \cite{#2}}")
    assert first.cite_macros == ("pic#2",)
    assert cites(r"\pic{x}{a}", cite_commands=first.cite_macros) == [("pic", "a")]
    assert cites(r"\ask{a}", cite_commands=("ask",)) == [("ask", "a")]
    assert cites(r"\ask{a}") == []


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        (r"\newcommand{\f}[1]{\input{dir/#1}} \f{one} \f{two}", ["dir/one", "dir/two"]),
        (r"\newcommand\f[1]{{\section{#1} \input{#1/#1.tex}}} \f{a}", ["a/a.tex"]),
        (r"\newcommand{\f}[2][x]{\input{#1/#2}} \f{a} \f[y]{b}", ["x/a", "y/b"]),
        (r"\def\f#1#2{\input #1 \include{#2}} \f{a}{b}", ["b"]),
        (r"\NewDocumentCommand\f{O{p} m}{\subfile{#1/#2}} \f{a}", ["p/a"]),
        (r"\newcommand{\f}[1]{\import{sections/}{#1}} \f{a}", ["sections/a"]),
        (r"\newcommand{\all}{\input{a}\input{b}} \all", ["a", "b"]),
        (r"\newcommand{\f}[1]{\input{d/#1}}\newcommand{\g}[1]{\f{e/#1}} \g{a}", ["d/e/a"]),
        (r"\let\f=\input \f{a}", ["a"]),
        (r"\newcommand{\f}[1]{\input{dir/#1}}", []),
        (r"\newcommand{\f}[1]{\input{dir/#1}} \f{open", []),
        (r"\newcommand{\f}[1]{\input{dir/#1}} % \f{a}", []),
        (r"\def\f#1.{\input{#1}} \f{a}", []),
        (r"\newcommand{\f}[1]{\emph{#1}} \f{a}", []),
        (r"\renewcommand{\input}[1]{\include{x/#1}} \input{a}", ["a"]),
    ],
)
def test_own_include_commands_are_taken_for_what_they_include(text, targets):
    document = scan_latex(text)
    assert [include.target for include in document.includes] == targets
    for include in document.includes:
        span = include.span
        written = text[span.start : span.end]
        assert written and "{" not in written.replace("}{", ""), written


def test_include_macros_that_double_each_other_stay_small():
    text = r"\newcommand{\a}[1]{\input{#1#1#1#1}\input{#1}}" + "".join(
        rf"\newcommand{{\{chr(c + 1)}}}[1]{{\{chr(c)}{{#1#1}}\{chr(c)}{{#1}}}}"
        for c in range(ord("a"), ord("y"))
    )
    document = scan_latex(text + r"\y{name}")
    assert len(document.includes) <= 20
    assert all(len(include.target) <= 500 for include in document.includes)


PAPER = r"""% !TEX root = ../main.tex
\documentclass[11pt]{article}
\usepackage[round]{natbib}
\RequirePackage{a,b}
\addbibresource[datatype=bibtex]{bib/refs.bib}
\title[Short]{Long \emph{Title}\thanks{Funded} \\ of G\"odel}
\begin{document}
\begin{abstract}
  We show that $x=1$.
\end{abstract}
\section{First \cite{a}}
\subsection*{Second}
\input{sections/one}
\input sections/two
\include{three}
\import{dir/}{four}
\subfile{five.tex}
\bibliography{first, second}
\begin{thebibliography}{9}
\bibitem[Doe(2000)]{doe} Doe.
\end{thebibliography}
\nocite{*}
\end{document}
trailing \section{No}
"""


def paper() -> Document:
    return scan_latex(PAPER, "chapters/x.tex")


def test_title_abstract_headings_and_body_are_read() -> None:
    document = paper()
    assert document.title == "Long Title of Gödel"
    assert document.abstract == "We show that x=1."
    assert [(h.level, h.title) for h in document.headings] == [(1, "First"), (2, "Second")]
    assert document.body is not None
    assert PAPER[document.body.start :].lstrip().startswith("\\begin{abstract}")
    assert PAPER[document.body.end :].startswith("\\end{document}")
    assert document.document_class == "article"
    assert document.packages == ("natbib", "a", "b")
    assert document.root == "../main.tex"


def test_declarations_and_includes_are_read_with_their_ranges() -> None:
    document = paper()
    assert [(b.command, b.target) for b in document.bibliographies] == [
        ("addbibresource", "bib/refs.bib"),
        ("bibliography", "first"),
        ("bibliography", "second"),
    ]
    for declaration in document.bibliographies:
        assert PAPER[declaration.span.start : declaration.span.end] == declaration.target
    assert [(i.command, i.target) for i in document.includes] == [
        ("input", "sections/one"),
        ("input", "sections/two"),
        ("include", "three"),
        ("import", "dir/four"),
        ("subfile", "five.tex"),
    ]
    assert [use.key for use in document.bibitems] == ["doe"]
    assert document.nocite_all


def test_apacite_is_known_from_the_package_and_from_the_class() -> None:
    for preamble in (
        r"\usepackage{apacite}",
        r"\documentclass[man]{apa6}",
        r"\documentclass[apacite]{x}",
    ):
        assert "apacite" in scan_latex(preamble).packages
    assert "apacite" not in scan_latex(r"\documentclass[biblatex]{apa7}").packages
