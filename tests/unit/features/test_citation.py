import pytest

from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.documents.textfile import apply_edits
from citewell.features.citing.citation import citation_edit, until


def filled(document, default=""):
    (placeholder,) = document.placeholders
    edit = citation_edit(document, placeholder, "key2020", default)
    return apply_edits(document.text, [edit])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"as \cite<graph attention> shows", r"as \cite{key2020} shows"),
        (r"as \citep*<graph attention>.", r"as \citep*{key2020}."),
        (r"\citep[see][p.~5]<graph attention>", r"\citep[see][p.~5]{key2020}"),
        (r"\cite<graph attention>{}", r"\cite{key2020}"),
        (r"\cite<>", r"\cite{key2020}"),
        (r"\cite{}", r"\cite{key2020}"),
        (r"\citep{?}", r"\citep{key2020}"),
        (r"\cite{TODO}", r"\cite{key2020}"),
        (r"\cite{neural machine translation}", r"\cite{key2020}"),
        (r"\citep[p.~5]{a, neural machine translation}", r"\citep[p.~5]{a, key2020}"),
        (r"\cite{a,}", r"\cite{a,key2020}"),
        (r"\cite{a,,b}", r"\cite{a,key2020,b}"),
        (r"\cite{neural machine translation, b}", r"\cite{key2020, b}"),
        (r"words [CITATION] \cite{x}", r"words \cite{key2020} \cite{x}"),
        (
            r"words [?] and \citet{x} or \citet{y}",
            r"words \citet{key2020} and \citet{x} or \citet{y}",
        ),
        ("\\cite<graph\nattention>", r"\cite{key2020}"),
        ("é😋 \\cite<graph attention> 漢", "é😋 \\cite{key2020} 漢"),
    ],
)
def test_a_latex_placeholder_becomes_a_citation_and_nothing_else_changes(before, after):
    assert filled(scan_latex(before)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("as [@graph attention] shows", "as [@key2020] shows"),
        ("as [@?graph attention] shows", "as [@key2020] shows"),
        ("as [@?] shows", "as [@key2020] shows"),
        ("as [@] shows", "as [@key2020] shows"),
        ("as @? shows", "as @key2020 shows"),
        ("as [@graph attention, p. 3] shows", "as [@key2020, p. 3] shows"),
        ("as [see @?graph attention, pp. 3-4; @a]", "as [see @key2020, pp. 3-4; @a]"),
        ("as [@?graph attention, chap. iv, and more]", "as [@key2020, chap. iv, and more]"),
        ("as [@web ranking, page views] shows", "as [@key2020] shows"),
        ("as [see @a; @?] shows", "as [see @a; @key2020] shows"),
        ("as [CITATION] shows", "as [@key2020] shows"),
        ("as [CITATION] shows [@a; @b]", "as [@key2020] shows [@a; @b]"),
        ("as \\cite<graph attention> shows", "as \\cite{key2020} shows"),
    ],
)
def test_a_markdown_placeholder_becomes_a_citation_and_nothing_else_changes(before, after):
    assert filled(scan_markdown(before)) == after


@pytest.mark.parametrize(
    ("text", "query", "after"),
    [
        (
            r"as \cite<graph atten| and more prose",
            "graph atten",
            r"as \cite{key2020} and more prose",
        ),
        (
            r"as \cite{graph atten| and more prose",
            "graph atten",
            r"as \cite{key2020} and more prose",
        ),
        (r"as \cite{a, graph atten| and more", "graph atten", r"as \cite{a, key2020} and more"),
    ],
)
def test_what_nothing_closes_yet_reaches_to_the_cursor_only(text, query, after):
    cursor = text.index("|")
    document = scan_latex(text.replace("|", ""))
    (placeholder,) = document.placeholders
    typed = until(document, placeholder, cursor)
    assert typed.query == query
    assert apply_edits(document.text, [citation_edit(document, typed, "key2020")]) == after


def test_an_unclosed_markdown_placeholder_reaches_to_the_cursor_only():
    text = "as [@graph atten and more prose"
    document = scan_markdown(text)
    (placeholder,) = document.placeholders
    typed = until(document, placeholder, text.index(" and"))
    assert typed.query == "graph atten"
    assert (
        apply_edits(text, [citation_edit(document, typed, "key2020")])
        == "as [@key2020] and more prose"
    )
