from __future__ import annotations

import pytest

from citewell.documents.context import query_for
from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.model.query import CitingPaper, Reference

PAPER = r"""\title{On Graphs}
\begin{document}
\begin{abstract}Graphs are everywhere.\end{abstract}
\section{Related work}
Before it all.
\subsection{Attention}
One sentence here. Two, by \citet{a}, shows it~\cite{b}. Three has $\alpha_t$ in Fig.~\ref{f}.
% a comment. With sentences.
Four uses \emph{soft} attention~\cite<graph attention>, e.g. of G\"odel~\citep[p.~5]{c},
in every layer. Five follows. Six ends.

Next paragraph.
\section{Method}
Other.
\end{document}
"""


def test_a_query_holds_the_words_and_all_that_surrounds_them() -> None:
    document = scan_latex(PAPER)
    query = query_for(document, document.placeholders[0])
    assert query.text == "graph attention"
    assert query.sentence == (
        "Four uses soft attention [CITATION], e.g. of Gödel [OTHER], in every layer."
    )
    assert query.before == (
        "One sentence here.",
        "Two, by , shows it .",
        "Three has alpha_t in Fig..",
    )
    assert query.after == ("Five follows.",)
    assert query.section == "Related work > Attention"
    assert query.paper == CitingPaper(title="On Graphs", abstract="Graphs are everywhere.")


REFERENCES = tuple(Reference(title=f"Paper {key.upper()}", key=key) for key in "abcdef")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"As \cite{a}. Two \cite{b,c} \nocite{d} and \cite{} or \cite{e}. \cite{f}.", "BCE"),
        (r"By \cite{a}, [CITE] and \cite{}.", "A"),
        (r"By \cite{a,,b}. \cite{c} too.", "AB"),
        (r"Before \cite{a}. \cite{} is alone.", ""),
        (r"By \cite{unknown} and \cite{}.", ""),
    ],
)
def test_what_the_sentence_cites_already_is_told(text: str, expected: str) -> None:
    document = scan_latex(text)
    place = next(p for p in document.placeholders if document.text[p.span.start] == "\\")
    query = query_for(document, place, paper=CitingPaper(references=REFERENCES))
    assert set(query.beside) == {f"Paper {letter}" for letter in expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            r"Long ago \cite{a}. As \cite{b,c} and \cite{d}. But by \cite{e} it fails \cite{}.",
            "BCD",
        ),
        (r"As \cite{a}. It is so. But it fails \cite{}.", ""),
        (r"It fails \cite{}.", ""),
    ],
)
def test_what_the_sentence_before_cites_is_told(text: str, expected: str) -> None:
    document = scan_latex(text)
    paper = CitingPaper(references=REFERENCES)
    query = query_for(document, document.placeholders[0], paper=paper)
    assert set(query.just_before) == {f"Paper {letter}" for letter in expected}


def sentence(text: str) -> str:
    document = scan_latex(text)
    return query_for(document, document.placeholders[0]).sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"See \cite{}.", "See [CITATION]."),
        (r"See~\cite{}, \cite{a} and [CITE].", "See [CITATION], [OTHER] and [OTHER]."),
        (r"\citet<word vectors> show it.", "[CITATION] show it."),
        (r"A \textbf{bold \emph{claim}~\cite{}}.", "A bold claim [CITATION]."),
        (r"A claim\footnote{An aside. With two.}~\cite{} here.", "A claim [CITATION] here."),
        (r"A claim\footnote{An aside by \cite{}. Two.} here.", "An aside by [CITATION]."),
        (
            "Text.\n\\begin{figure}\\caption{A plot of \\cite{}.}\\end{figure}",
            "A plot of [CITATION].",
        ),
        ("One \\begin{figure}\\caption{No. No.}\\end{figure} two \\cite{}.", "One two [CITATION]."),
        ("\\begin{itemize}\\item First.\\item Second \\cite{}\\end{itemize}", "Second [CITATION]"),
        ("A % comment \\cite{x}\n  b \\cite{}.", "A b [CITATION]."),
        (
            r"Cost of 5\% \& more---so ``it'' is \cite{}.",
            'Cost of 5% & more—so "it" is [CITATION].',
        ),
        (r"See \href{http://x.y}{this} \url{http://z} \cite{}.", "See this [CITATION]."),
        (r"Let $x \in \mathbb{R}^{d}$ \cite{}.", "Let x in R^d [CITATION]."),
        (r"By Smith et al. \cite{} it is so.", "By Smith et al. [CITATION] it is so."),
        (r"We use \squad{} and \bert\ of \cite{}.", "We use squad and bert of [CITATION]."),
        ("It ends.\\cite{} Next one.", "It ends.[CITATION]"),
        ("Über uns. Ökonomie \\cite{}.", "Ökonomie [CITATION]."),
        ("Windows\r\nline \\cite{}\r\nends.\r\n\r\nNext.", "Windows line [CITATION] ends."),
    ],
)
def test_markup_is_off_and_the_place_is_marked(text: str, expected: str) -> None:
    assert sentence(text) == expected


def test_context_stays_in_the_section_but_not_in_a_run_in_heading() -> None:
    document = scan_latex("\\section{A} One.\n\\section{B} \\cite{} is it.")
    assert query_for(document, document.placeholders[0]).before == ()
    document = scan_latex("\\section{A} One.\n\\paragraph{Run in.} Two. \\cite{} is it.")
    query = query_for(document, document.placeholders[0])
    assert query.before == ("One.", "Two.")
    assert query.section == "A > Run in."


def test_markdown_context_is_plain_prose() -> None:
    text = (
        "---\ntitle: T\n---\n# Head\n\nFirst *one*. By @a and [@b], see [link](x.html) "
        "`code` <b>x</b>[^1] [@?graph attention]. Last.\n\n[^1]: note\n"
    )
    document = scan_markdown(text)
    query = query_for(document, document.placeholders[0])
    assert query.sentence == "By [OTHER] and [OTHER], see link code x [CITATION]."
    assert (query.before, query.after, query.section) == (("First one.",), ("Last.",), "Head")
    assert query.paper.title == "T"


def test_what_is_cited_around_the_place_is_named_nearest_first() -> None:
    document = scan_latex(PAPER)
    references = tuple(
        Reference(title=title, key=key)
        for key, title in (("a", "Attention A"), ("b", "Attention B"), ("c", "Attention C"))
    )
    query = query_for(document, document.placeholders[0], paper=CitingPaper(references=references))
    assert query.nearby == ("Attention C", "Attention B", "Attention A")
