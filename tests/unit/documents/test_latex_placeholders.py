from __future__ import annotations

import pytest

from citewell.documents.latex.scanner import scan_latex
from citewell.model.document import Placeholder, PlaceholderKind

QUERY, EMPTY = PlaceholderKind.QUERY, PlaceholderKind.EMPTY
FREE, MARKER = PlaceholderKind.FREE_TEXT, PlaceholderKind.MARKER


def only(text: str, **more: object) -> Placeholder:
    document = scan_latex(text, **more)  # type: ignore[arg-type]
    assert len(document.placeholders) == 1, document.placeholders
    return document.placeholders[0]


def covered(text: str, item: Placeholder) -> str:
    return text[item.span.start : item.span.end]


@pytest.mark.parametrize(
    ("text", "kind", "query"),
    [
        (r"\cite<graph attention>", QUERY, "graph attention"),
        ("\\citep<graph\n  attention>", QUERY, "graph attention"),
        (r"\parencite<graph attention>", QUERY, "graph attention"),
        (r"\onlinecite<graph attention>", QUERY, "graph attention"),
        (r"\shortciteA<graph attention>", QUERY, "graph attention"),
        (r"\citet*<graph attention>", QUERY, "graph attention"),
        (r"\cite[p.~5]<graph attention>", QUERY, "graph attention"),
        (r"\cite<graph attention>{}", QUERY, "graph attention"),
        (r"\cite<graph attention>[p. 5]{?}", QUERY, "graph attention"),
        (r"\cite<x -> y mappings>", QUERY, "x -> y mappings"),
        (r"\cite<accuracy > 90 percent>", QUERY, "accuracy > 90 percent"),
        (r"\cite<2017>", QUERY, "2017"),
        (r"\cite<>", EMPTY, ""),
        (r"\cite{}", EMPTY, ""),
        (r"\cite{ }", EMPTY, ""),
        (r"\citep[see][p. 5]{}", EMPTY, ""),
        (r"\citep{?}", EMPTY, ""),
        (r"\citep{??}", EMPTY, ""),
        (r"\cite{TODO}", EMPTY, ""),
        (r"\cite{todo:}", EMPTY, ""),
        (r"\cite{XXX}", EMPTY, ""),
        (r"\cite{FIXME}", EMPTY, ""),
        (r"\cite{citation needed}", EMPTY, ""),
        (r"\cite{add citation}", EMPTY, ""),
        (r"\cite{...}", EMPTY, ""),
        (r"\textcquote{}{words}", EMPTY, ""),
        (r"\volcite{2}{}", EMPTY, ""),
        (r"\cite{neural machine translation}", FREE, "neural machine translation"),
        ("\\cite{neural machine\n  translation}", FREE, "neural machine translation"),
        (r"\cite{TODO: neural machine translation}", FREE, "neural machine translation"),
        (r"\cite{vaswani2017?}", FREE, "vaswani2017"),
        (r"\cite{神经机器翻译}", FREE, "神经机器翻译"),
        (r"\cite{graph attention, message passing}", FREE, "graph attention, message passing"),
        (r"[CITATION]", MARKER, ""),
        (r"[CITE]", MARKER, ""),
        (r"[cite]", MARKER, ""),
        (r"[REF]", MARKER, ""),
        (r"[?]", MARKER, ""),
        (r"(CITE)", MARKER, ""),
        (r"(cite)", MARKER, ""),
        (r"[citation needed]", MARKER, ""),
        (r"(citation needed)", MARKER, ""),
        (r"[add ref]", MARKER, ""),
        (r"[TODO: cite]", MARKER, ""),
        (r"[CITE: graph attention networks]", MARKER, "graph attention networks"),
        (r"[CITE graph attention networks]", MARKER, "graph attention networks"),
        (r"\todo{cite}", MARKER, ""),
        (r"\todo{add cite}", MARKER, ""),
        (r"\todo[inline]{cite graph attention networks}", MARKER, "graph attention networks"),
        (r"\todo{Maybe add a citation for graph attention}", MARKER, "graph attention"),
        (r"\citationneeded", MARKER, ""),
        (r"\todocite{graph attention}", MARKER, "graph attention"),
    ],
)
def test_every_kind_of_placeholder_is_found_whole(
    text: str, kind: PlaceholderKind, query: str
) -> None:
    whole = f"As shown by {text} in prose."
    found = only(whole)
    assert (found.kind, found.query, found.closed) == (kind, query, True)
    assert covered(whole, found).rstrip() == text.removesuffix("{words}")
    assert found.span.start <= found.query_span.start <= found.query_span.end <= found.span.end


@pytest.mark.parametrize(
    "text",
    [
        r"\cite<see>[p.~5]{key}",
        r"\cite<see>{key}",
        r"\cite<e.g.,>[][]{key}",
        "\\cite<see>\n{key}",
        r"\cite<2->{key}",
        r"\cite<1,3-5>{key}",
        r"\cite<+->[p. 5]{key}",
        r"\cite{key}",
        r"[12] (a reference) [ref12] (references) [x]",
        r"\item[ref] \foo[CITE] \includegraphics[ref]{x}",
        r"\todo{rewrite this} \todo{Section \ref{x} cites nobody} \todo{\cite{a}}",
        r"Equation~\todo{ref} and Lemma \todo{ref}",
        r"\todo{ref lemma}",
        r"% \cite{} [CITE]",
        r"\begin{verbatim}\cite{} [?]\end{verbatim}",
        r"$[?]$ and \[ \cite{} (cite) \] and $x \cite<y> z$",
        r"\begin{equation} [?] \cite{} \end{equation}",
        r"\newcommand{\todoc}{\cite{}}",
        r"\nocite{}",
        r"\citep[?]{key} \citep[CITE][REF]{key}",
        r"\documentclass[?]{x} \usepackage[cite]{y} [CITE] \begin{document}",
        r"\begin{document} \end{document} [CITE] \cite{}",
        r"\cite{#1}",
    ],
)
def test_what_is_no_placeholder_is_left_alone(text: str) -> None:
    assert scan_latex(text).placeholders == ()


def test_the_rule_for_angle_brackets_holds_with_and_without_apacite() -> None:
    text = r"\cite<see>{}"
    found = only(text)
    assert (found.kind, found.query, found.prefix) == (QUERY, "see", "")
    found = only(text, packages=["apacite"])
    assert (found.kind, found.query, found.prefix) == (EMPTY, "", "<see>")
    found = only(r"\usepackage{apacite} \cite<see>[p. 5]{?}")
    assert (found.kind, found.prefix) == (EMPTY, "<see>[p. 5]")
    # Prose in a group that happens to follow is not the key.
    prose = r"\cite<graph attention> {\em as} they say"
    assert covered(prose, only(prose)) == r"\cite<graph attention>"
    options = r"\cite<graph attention> [a remark in brackets] and so on"
    assert covered(options, only(options)) == r"\cite<graph attention>"
    lines = "\\cite<graph attention>\n\n{key}"
    assert covered(lines, only(lines)) == r"\cite<graph attention>"


def test_options_and_other_keys_are_kept_beside_what_is_wanted() -> None:
    found = only(r"\citep[see][p.~5]{}")
    assert (found.command, found.prefix) == ("citep", "[see][p.~5]")
    found = only(r"\citep*{a,,b}")
    assert (found.command, found.kind, found.other_keys) == ("citep*", EMPTY, ("a", "b"))
    found = only(r"\cite{a, neural machine translation}")
    assert (found.kind, found.query, found.other_keys) == (
        FREE,
        "neural machine translation",
        ("a",),
    )
    text = r"\cites[1]{a}{}{c}"
    found = only(text)
    assert covered(text, found) == r"\cites[1]{a}{}"
    assert found.prefix == "[1]{a}"
    document = scan_latex(text)
    assert [use.key for use in document.citations[0].keys] == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "covers", "query"),
    [
        ("\\cite<neural mach", "\\cite<neural mach", "neural mach"),
        ("\\cite<neural mach\n\nNext paragraph > 5.", "\\cite<neural mach", "neural mach"),
        ("\\cite<neural mach\nnext line", "\\cite<neural mach", "neural mach"),
        ("\\cite<neural mach $p > 0$ text", "\\cite<neural mach", "neural mach"),
        ("\\cite<", "\\cite<", ""),
        ("\\cite{", "\\cite{", ""),
        ("\\cite{neural ", "\\cite{neural", "neural"),
        ("\\cite{neural mach", "\\cite{neural mach", "neural mach"),
        ("\\cite{neural mach\n\nNext \\emph{x}.", "\\cite{neural mach", "neural mach"),
        ("\\cite{neural mach. We find \\emph{x}.", "\\cite{neural mach", "neural mach"),
        ("\\cite{neural mach \\section{Next}", "\\cite{neural mach", "neural mach"),
        ("\\cite{a, neural mach\n\n}", "\\cite{a, neural mach", "neural mach"),
    ],
)
def test_an_unclosed_placeholder_ends_before_the_next_paragraph(
    text: str, covers: str, query: str
) -> None:
    found = only(text)
    assert not found.closed
    assert (covered(text, found), found.query) == (covers, query)


def test_a_key_being_typed_is_a_citation_and_no_placeholder() -> None:
    document = scan_latex("We follow \\citep{vaswani2017\n\nNext.")
    assert document.placeholders == ()
    assert [use.key for use in document.citations[0].keys] == ["vaswani2017"]


def test_the_brace_of_a_footnote_does_not_close_a_placeholder_in_it() -> None:
    text = "A\\footnote{see \\cite{neural mach and then a lot of prose follows up to here} end"
    found = only(text)
    assert not found.closed
    assert covered(text, found) == "\\cite{neural mach"
    assert found.reach == text.index("} end")
    closed = "A\\footnote{see \\cite{neural mach and then a lot of prose follows up to here}} end"
    assert only(closed).closed


def test_a_note_right_behind_an_empty_citation_is_its_query() -> None:
    text = r"as known~\cite{} \todo{cite literature on saddle points}. More"
    found = only(text)
    assert (found.kind, found.query, found.command) == (EMPTY, "saddle points", "cite")
    assert covered(text, found) == r"\cite{} \todo{cite literature on saddle points}"
