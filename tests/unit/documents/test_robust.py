from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.documents.context import context_at, query_for
from citewell.documents.project.files import scan_document
from citewell.model.document import Document, Span

PIECES = [
    *"\\{}[]()<>$%@?`~#-*_&!|;,. \n",
    "\\cite", "\\citep*", "\\cites", "\\volcite", "\\textcquote", "\\nocite{*}", "{a,b}", "<see>",
    "{neural nets}", "\\begin{align}", "\\end{align}", "\\begin{verbatim}", "\\end{verbatim}",
    "\\begin{document}", "\\end{document}", "\\iffalse", "\\fi", "\\else", "\\ifx", "\\verb|",
    "\\newcommand{\\x}[1]", "\\def\\y#1", "\\let\\z\\cite", "\\x{k}", "\\section{S}", "\\title{T}",
    "\\footnote{", "\\caption{", "\\todo{cite ", "\\url{", "\\input{f}", "\\bibliography{b}", "$$",
    "\\[", "\\]", "\\(", "\\)", "[CITE]", "(cite)", "[@", "[@a; @b]", "@key", "@?", "```", "<!--",
    "-->", "---\n", "bibliography: ", "word", "é", "神", "\r\n", "\n\n", "\u2028", "\ue000",
    "[a](b)", "\\documentclass[x]{y}", "\\usepackage{apacite}", "% !TEX root = x", "\\item ",
]  # fmt: skip


def check(document: Document) -> None:
    """Every range lies in the text and says what the record says."""
    text = document.text
    size = len(text)

    def inside(span: Span) -> None:
        assert 0 <= span.start <= span.end <= size

    for citation in document.citations:
        inside(citation.span)
        assert citation.keys
        for use in citation.keys:
            assert citation.span.start <= use.span.start <= use.span.end <= citation.span.end
            assert text[use.span.start : use.span.end] == use.key
    end = 0
    for item in document.placeholders:
        inside(item.span)
        assert item.span.start >= end
        end = item.span.end
        assert item.span.start <= item.query_span.start <= item.query_span.end <= item.span.end
    end = 0
    for span in document.blanked:
        inside(span)
        assert span.start >= end
        end = span.end
    for span in (
        *(h.span for h in document.headings),
        *(b.span for b in document.bibliographies),
        *(i.span for i in document.includes),
        *(u.span for u in document.bibitems),
        *filter(None, (document.body, document.front_matter)),
    ):
        inside(span)


@pytest.mark.parametrize("path", ["a.tex", "a.md"])
@settings(max_examples=300, deadline=None)
@given(text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_scanning_any_mixture_of_markup_never_raises_and_ranges_nest(path: str, text: str) -> None:
    document = scan_document(path, text)
    check(document)
    for item in document.placeholders:
        query_for(document, item)
    context_at(document, len(text) // 2)


@pytest.mark.parametrize("path", ["a.tex", "a.md"])
@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=200))
def test_scanning_any_text_never_raises(path: str, text: str) -> None:
    check(scan_document(path, text))


@pytest.mark.parametrize("path", ["a.tex", "a.md"])
def test_one_long_line_takes_time_in_proportion_to_its_length(path: str) -> None:
    # Each of these has been quadratic once; 100,000 characters of it took minutes then.
    hostile = ["[@", "\\iffalse ", "$1 ", "\\footnote{\\cite{a b c d e f g h i j k} ", " ", "\\cite<a ",
               "\\begin{align}", "${", "[cite ", "\\todo{cite ", "`", "\\cite{a,", "](", "@a-"]  # fmt: skip
    random.seed(1)
    for unit in hostile:
        text = (unit * (100_000 // len(unit) + 1))[:100_000]
        start = time.process_time()
        check(scan_document(path, text))
        assert time.process_time() - start < 5, unit


def test_a_line_of_five_megabytes_is_scanned() -> None:
    prose = "and a good deal of prose in between, of no interest to anybody, " * 8
    text = f"We follow \\cite{{a}}, $x_{{1}}$ {prose} \\cite<graph attention> " * 9_000
    assert len(text) > 5_000_000
    start = time.process_time()
    document = scan_document("a.tex", text)
    assert len(document.placeholders) == 9_000
    assert time.process_time() - start < 20
    start = time.process_time()
    query = query_for(document, document.placeholders[4_500])
    assert "[CITATION]" in query.sentence
    assert time.process_time() - start < 1
