"""A sentence that says what others found and cites nobody is seen where the cursor stands."""

import pytest

from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.features.checking.support import uncited_at, uncited_sentences


def found(text, scan=scan_latex):
    cursor = text.index("|")
    text = text.replace("|", "")
    at = uncited_at(scan(text), cursor)
    return None if at is None else text[: at.at][-12:]


@pytest.mark.parametrize(
    "text",
    [
        "Attention has been shown to |help machine translation a lot. More.",
        "Several recent studies| explore how graphs can be embedded. More.",
        "The model was first introduced by Turing in| an early report on machines. More.",
        "Following Smith et al., the| rate is set to a small number first. More.",
    ],
)
def test_claims_about_others_want_a_citation(text):
    assert found(text) == text.replace("|", "").partition(". More.")[0][-12:]


@pytest.mark.parametrize(
    "text",
    [
        r"Attention has been shown to |help translation a lot~\cite{a}. More.",
        r"Attention has been shown to |help translation a lot \cite<x>. More.",
        "We show that attention| has been proposed for graphs before all. More.",
        "The weather on the |island is mild in spring and in autumn too. More.",
        "It has been |shown. More.",
        "% Attention has been shown to |help translation a lot. More.",
        r"\section{Recent work has |been proposed for machine translation a lot.}",
        "Recent work has been |proposed without an end\n\nNew paragraph.",
        r"\begin{equation} recent work has |been shown by many. \end{equation}",
        "|",
    ],
)
def test_anything_else_is_left_alone(text):
    assert found(text) is None


@pytest.mark.parametrize(
    ("scan", "text", "ends"),
    [
        (
            scan_markdown,
            "# A heading of seven words and two more\n\nAttention helps translation of long sentences a lot. It does!\n\n"
            "Graphs can be embedded without any labels at all. Others cite what they use here [@a].\n",
            ["sentences a lot", "labels at all"],
        ),
        (
            scan_latex,
            "Attention helps translation (e.g. of long sentences) quite a lot. % a comment of many words follows here.\n"
            "A paragraph may end without a full stop at all\n\nWe show \\citep{a} that it works in all these cases.",
            ["quite a lot", "stop at all"],
        ),
        (scan_markdown, "", []),
        (scan_markdown, "\n\n \n", []),
    ],
)
def test_every_sentence_without_a_citation_has_its_end(scan, text, ends):
    places = [one.at for one in uncited_sentences(scan(text))]
    assert len(places) == len(ends)
    assert all(text[:at].endswith(end) for at, end in zip(places, ends, strict=True))
