"""Placeholders that nothing closes, in the middle of prose: no edit removes what is not theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.documents.textfile import apply_edits
from citewell.features.actions.placeholder import (
    placeholder_actions,
    placeholder_for,
    placeholder_near,
    plan_close,
)
from citewell.features.citing.citation import citation_edit
from citewell.features.citing.complete import wanted
from citewell.model.document import Document, Format, Placeholder, Span

KEY = "kipf2017semi"
WORDS = st.lists(
    st.sampled_from(
        "spectral graph attention networks for word translation BERT größe 2017".split()
    ),
    min_size=1,
    max_size=6,
).map(" ".join)
PIECES = st.sampled_from(
    [
        *("methods", "have", "been", "used", "widely.", "We", "show", "that", "x>y", "a >= b"),
        *("p > 0.05", ">90", "(see", "Figure", "3)", "é😋", "networks,", "however;", "50\\%"),
        *("\\emph{new}", "$a > b$", "\\cite{other}", "\\citep<more words>", "\n", "--", "x -> y"),
    ]
)
PROSE = st.lists(PIECES, max_size=12).map(" ".join)
BREAK = st.sampled_from([" ", "\n", "\n\n", ", ", ". "])
LATEX = st.sampled_from(["\\citep<", "\\cite{", "\\citet[see][p. 5]<", "\\cite{other,", "\\cite<"])
MARKDOWN_PROSE = st.lists(
    st.sampled_from(
        [
            *("methods", "have", "been", "used.", "We", "say", "(see", "x > y", "*new*", "é😋"),
            *("[@other]", "[a link](http://a.b)", "@other", "\n", "\\cite<more>", "it;", "10%"),
        ]
    ),
    max_size=12,
).map(" ".join)


def scanned(text: str, form: Format) -> Document:
    return scan_latex(text, "a.tex") if form is Format.LATEX else scan_markdown(text, "a.md")


def removed(document: Document, placeholder: Placeholder) -> str:
    """What the edit of the placeholder removes, but for a mark that asks for a citation."""
    span = citation_edit(document, placeholder, KEY).span
    return document.text[span.start : span.end].strip("? ")


def check_edits_at(before: str, typed: str, after: str, form: Format) -> None:
    """Every edit at the cursor behind `typed` leaves all that stands before and behind it."""
    text, cursor = before + typed + after, len(before + typed)
    document = scanned(text, form)
    chosen = placeholder_for(document, Span(cursor, cursor))
    if any(
        use.span.start < cursor <= use.span.end for one in document.citations for use in one.keys
    ):
        assert chosen is None or not removed(document, chosen)
        at = wanted(document, cursor)
        assert at is not None
        assert (at.place.span.start, at.place.span.end) == (cursor - len(at.place.typed), cursor)
        assert at.place.typed in typed
        return
    assert chosen is not None
    assert chosen.span.start == len(before)
    assume(not chosen.closed)
    length = chosen.span.end - chosen.span.start
    again = placeholder_near(document, chosen.span.start, chosen.query, length)
    assert again is not None
    edit = citation_edit(document, chosen, KEY)
    assert citation_edit(document, again, KEY) == edit
    done = apply_edits(text, [edit])
    assert done.startswith(before)
    assert done.endswith(after)
    assert KEY in done[len(before) : len(done) - len(after)]

    at = wanted(document, cursor)
    assert at is not None
    assert len(before) <= at.place.span.start
    assert at.place.span.end == cursor
    start = text[: at.place.span.start]
    assert start + at.text_for(KEY, "") + after == done


def check_unattended(before: str, typed: str, after: str, form: Format) -> None:
    """An edit that knows no cursor removes nothing behind what was typed."""
    text, end = before + typed + after, len(before + typed)
    document = scanned(text, form)
    for placeholder in document.placeholders:
        if placeholder.closed or not placeholder.span.start <= end:
            continue
        edit = citation_edit(document, placeholder, KEY)
        assert edit.span.end <= end or not removed(document, placeholder)
        for action in placeholder_actions(placeholder, (), sure=False, open_places=1):
            assert action.name == "close"
            plan = plan_close(document, placeholder)
            (change,) = plan.edits[0].edits
            assert change.span.start == change.span.end
            assert change.text in (">", "}", "]")


@pytest.mark.parametrize(
    ("typed", "form"),
    [
        ("\\cite<kingma & ba 2015", Format.LATEX),
        ("\\cite{kingma & ba", Format.LATEX),
        ("\\cite<Zhou et al., 2015; Luo", Format.LATEX),
        ("\\citep{Zhou et al., 2015; Luo et al., 2016", Format.LATEX),
        ("\\cite<J. Devlin bert", Format.LATEX),
        ("\\cite<Zhou et al. Neural", Format.LATEX),
        ("\\cite<Is it Right? A Study", Format.LATEX),
        ("[@?J. Devlin bert", Format.MARKDOWN),
        ("[@?Zhou et al. Neural", Format.MARKDOWN),
    ],
)
def test_names_and_titles_before_the_cursor_are_words(typed: str, form: Format) -> None:
    before, after = "We agree.\n\n", " which holds. We show more.\n"
    text, cursor = before + typed + after, len(before) + len(typed)
    at = wanted(scanned(text, form), cursor)
    assert at is not None
    assert at.place.span.end == cursor
    assert at.placeholder.query == typed.lstrip("\\citep<{[@?")
    check_unattended(before, typed, after, form)


@given(PROSE, LATEX, WORDS, BREAK, PROSE)
def test_no_edit_of_latex_removes_prose(before, opening, words, gap, after):
    prose = before + "\n\n"
    check_edits_at(prose, opening + words, gap + after, Format.LATEX)
    check_unattended(prose, opening + words, gap + after, Format.LATEX)


@given(MARKDOWN_PROSE, st.sampled_from(["[@", "[@?"]), WORDS, BREAK, MARKDOWN_PROSE)
def test_no_edit_of_markdown_removes_prose(before, opening, words, gap, after):
    assume(opening == "[@?" or len(words.split()) > 1)
    assume(not words.startswith(("BERT", "2017")))  # keys, or words behind a key
    assume(words.split()[1:2] not in (["for"], ["2017"]))
    prose = before + "\n\n"
    check_edits_at(prose, opening + words, gap + after, Format.MARKDOWN)
    check_unattended(prose, opening + words, gap + after, Format.MARKDOWN)


@given(st.text(max_size=40), LATEX, WORDS, st.text(max_size=60))
def test_no_edit_removes_what_stands_behind_the_cursor_in_any_text(before, opening, words, after):
    text = f"{before}\n\n{opening}{words}{after}"
    cursor = len(before) + 2 + len(opening + words)
    document = scan_latex(text, "a.tex")
    chosen = placeholder_for(document, Span(cursor, cursor))
    assume(chosen is not None and not chosen.closed and chosen.span.start == len(before) + 2)
    if any(
        use.span.start < cursor <= use.span.end for one in document.citations for use in one.keys
    ):
        assert not removed(document, chosen)
        return
    done = apply_edits(text, [citation_edit(document, chosen, KEY)])
    assert done.startswith(f"{before}\n\n")
    assert done.endswith(after)


def test_the_sentence_behind_an_open_placeholder_stays():
    text = "We follow \\citep<spectral graph| in what is said here about accuracy >90% and more.\n"
    cursor = text.index("|")
    document = scan_latex(text.replace("|", ""))
    chosen = placeholder_for(document, Span(cursor, cursor))
    assert chosen is not None
    assert chosen.query == "spectral graph"
    assert apply_edits(document.text, [citation_edit(document, chosen, KEY)]) == (
        "We follow \\citep{kipf2017semi} in what is said here about accuracy >90% and more.\n"
    )


@pytest.mark.parametrize(
    ("text", "query", "certain"),
    [
        (r"as \citep<spectral graph methods which have been used", "spectral graph methods", False),
        (r"as \citep<spectral graph, which is", "spectral graph", False),
        (r"as \citep<attention for the which is", "attention", False),
        ("as \\citep<resnet\nand more", "resnet", True),
        ("as \\citep<resnet.\nAnd more", "resnet", True),
        (r"as \citep< in prose that follows", "", True),
        (r"as \cite{spectral graph methods which have been used", "spectral graph methods", False),
        (r"as \cite{other, spectral graph that is", "spectral graph", False),
        (r"as \cite{ in prose that follows", "", True),
    ],
)
def test_without_a_cursor_only_plausible_words_are_searched(text, query, certain):
    (found,) = scan_latex(text).placeholders
    assert (found.query, found.certain, found.closed) == (query, certain, False)


def test_where_the_words_end_is_asked_when_no_cursor_tells():
    text = "as \\citep<spectral graph methods have been used.\n"
    document = scan_latex(text, "a.tex")
    (found,) = document.placeholders
    # An editor that starts from the diagnostic sends its range, and no cursor.
    chosen = placeholder_for(document, found.span)
    assert chosen == found
    (action,) = placeholder_actions(chosen, (), sure=False, open_places=1)
    assert action.title == "End the placeholder after “spectral graph methods”"
    plan = plan_close(document, chosen)
    assert apply_edits(text, plan.edits[0].edits) == (
        "as \\citep<spectral graph methods> have been used.\n"
    )
    assert plan.texts == {Path("a.tex"): text}


@pytest.mark.parametrize(
    "words",
    [
        "accuracy > 90 percent",
        "x -> y mappings",
        "Vaswani et al. Attention is all you need",
        "graph\n  attention",
    ],
)
def test_closed_words_stay_closed(words):
    (found,) = scan_latex(f"as \\cite<{words}> shows, p > 0.").placeholders
    assert found.closed
    assert found.query == " ".join(words.split())


@pytest.mark.parametrize("text", [" in prose x>y holds", " in prose >90 holds", " so a>=b holds"])
def test_a_comparison_in_later_prose_closes_nothing(text):
    (found,) = scan_latex(f"as \\cite<spectral graph{text}").placeholders
    assert not found.closed
