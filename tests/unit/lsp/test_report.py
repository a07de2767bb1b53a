"""Diagnostics are encoded in the order in which they are found; those of a review move with the text."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.state.memory import ReviewedFiles
from citewell.lsp.state.report_wire import encoded
from citewell.model.document import Diagnostic, Level, Span


def test_each_diagnostic_is_encoded_at_its_place():
    found = [
        Diagnostic(code="unused-entry", span=Span(at, at + 1), message=f"At {at}", level=Level.HINT)
        for at in (0, 2, 4)
    ]
    items = json.loads(encoded(found, Path("r.bib"), lambda _: LineIndex("abcdef", "utf-8")))
    assert [one["message"] for one in items] == ["At 0", "At 2", "At 4"]
    assert [one["range"]["start"]["character"] for one in items] == [0, 2, 4]


def test_where_nothing_is_found_no_line_is_looked_up():
    assert encoded((), Path("refs.bib"), lambda _: pytest.fail("looked up")) == b"[]"


def test_a_finding_of_a_review_stays_until_its_text_changes() -> None:
    def at(word: str, text: str) -> Diagnostic:
        span = Span(text.index(word), text.index(word) + len(word))
        return Diagnostic(code="name-uncited", span=span, message=word, level=Level.INFORMATION)

    def left(text: str) -> list[tuple[str, str]]:
        source = SimpleNamespace(path="/paper.tex", text=text)
        return [(o.message, text[o.span.start : o.span.end]) for o in reviewed.of(source)]

    text = "We use BERT and GloVe, and then ResNet."
    reviewed = ReviewedFiles()
    words = ("BERT", "GloVe", "ResNet")
    reviewed.take({Path("/paper.tex"): (text, tuple(at(word, text) for word in words))})
    same = [(word, word) for word in words]
    assert left(text) == same
    # Changes before, between and behind, one after the other.
    for old, new in (
        ("We", "Here we"),
        ("and then", "then"),
        ("Net.", "Net. End."),
        ("Here we", ""),
    ):
        text = text.replace(old, new)
        assert left(text) == same
    text = text.replace("GloVe", "GloVe~\\cite{glove}")
    assert left(text) == [same[0], same[2]]
    assert left(text.replace("ResNet", "ResNets")) == [same[0]]
    assert left("") == []
