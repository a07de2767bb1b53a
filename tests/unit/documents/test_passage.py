"""The words of a selection or of the paragraph at a place."""

import pytest

from citewell.documents.context import passage_text
from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.model.document import Span

LATEX = r"""\documentclass{article}
\begin{document}
\section{Graphs}
Attention over \emph{neighbours} works well \citep{a}, as
shown (\cite{b}).

Words % not this
are more. \subsection{Later}
The end.
\end{document}
"""
MARKDOWN = """---
title: A note
---

# Graphs

Attention over *neighbours* works well [@a].
It is shown.

Words.
"""


@pytest.mark.parametrize(
    ("text", "scan", "here", "wanted"),
    [
        (LATEX, scan_latex, "over", "Attention over neighbours works well, as shown."),
        (LATEX, scan_latex, "are more", "Words are more."),
        (LATEX, scan_latex, "end.", "The end."),
        (MARKDOWN, scan_markdown, "over", "Attention over neighbours works well. It is shown."),
        (MARKDOWN, scan_markdown, "Words", "Words."),
        ("", scan_markdown, "", ""),
    ],
)
def test_the_paragraph_at_a_place(text, scan, here, wanted):
    at = text.index(here)
    assert passage_text(scan(text), Span(at, at)) == wanted


def test_every_place_of_a_document_has_a_paragraph():
    for text, scan in ((LATEX, scan_latex), (MARKDOWN, scan_markdown)):
        document = scan(text)
        for at in range(len(text) + 1):
            words = passage_text(document, Span(at, at))
            assert "\n" not in words and "\\cite" not in words
