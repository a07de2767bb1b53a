import random
import re
from itertools import pairwise

import pytest
from lsprotocol import types

from citewell.lsp.protocol.open_document import (
    FEW_LINES,
    LineIndex,
    OpenDocument,
    code_points,
    line_starts,
    units,
)
from citewell.model.document import Span

ENCODINGS = ("utf-8", "utf-16", "utf-32")
ALPHABET = ["a", "é", "漢", "😋", "\n", "\r\n", "\r", "\f", "\u2028", "\x85", "}", " "]


def split_lines(text):
    """The lines of a text with their ends; at least one, and the last has no end."""
    return [
        *(match[0] for match in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r)", text)),
        re.split(r"\r\n|\n|\r", text)[-1],
    ]


def lines_of(document):
    return [document.source[a:b] for a, b in pairwise(document.index.starts)]


def test_a_line_ends_at_lf_crlf_or_cr_and_nowhere_else():
    text = "a\fb\u2028c\nd\r\ne\rf"
    assert [text[a:b] for a, b in pairwise(line_starts(text))] == split_lines(text)
    assert split_lines("a\fb\u2028c\nd\r\ne\rf") == ["a\fb\u2028c\n", "d\r\n", "e\r", "f"]
    assert split_lines("") == [""]
    assert split_lines("a\n") == ["a\n", ""]


@pytest.mark.parametrize(("encoding", "length"), [("utf-8", 10), ("utf-16", 5), ("utf-32", 4)])
def test_a_character_counts_as_many_units_as_the_encoding_says(encoding, length):
    text = "aé漢😋"
    assert units(text, encoding) == length
    assert code_points(text, length, encoding) == 4


def test_a_position_inside_a_character_is_the_start_of_that_character():
    assert code_points("a😋b", 2, "utf-16") == 1
    assert code_points("a😋b", 3, "utf-8") == 1


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_offset_survives_the_way_to_the_client_and_back(encoding):
    text = "x = é 漢 😋 \\cite<a>\r\nüb\n\n😋"
    index = LineIndex(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # between CR and LF no position exists
        assert index.offset(index.position(offset)) == offset


def test_positions_outside_of_the_text_are_held_inside():
    index = LineIndex("ab\ncd", "utf-16")
    assert index.offset(types.Position(line=0, character=99)) == 2
    assert index.offset(types.Position(line=9, character=0)) == 5
    assert index.position(99) == types.Position(line=1, character=2)
    assert index.range(Span(1, 4)) == types.Range(
        start=types.Position(line=0, character=1), end=types.Position(line=1, character=1)
    )


def test_a_lone_surrogate_from_a_careless_client_does_no_harm():
    index = LineIndex("a\ud83db", "utf-8")
    assert index.offset(index.position(3)) == 3


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_thousands_of_random_edits_leave_the_text_that_plain_replacement_gives(encoding):
    rng = random.Random(encoding)
    document = OpenDocument("file:///a.tex", "", 1, "latex", encoding)
    text = ""
    for step in range(3_000):
        index = LineIndex(text, encoding)
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice([0, 0, 1, 2, 7]))
        new = "".join(rng.choices(ALPHABET, k=rng.choice([0, 1, 1, 2, 5])))
        start, end = (index.offset(index.position(offset)) for offset in (start, end))
        document.apply_change(
            types.TextDocumentContentChangePartial(range=index.range(Span(start, end)), text=new)
        )
        text = text[:start] + new + text[end:]
        if len(text) > 200 and rng.random() < 0.02:
            document.apply_change(types.TextDocumentContentChangeWholeDocument(text=text[:50]))
            text = text[:50]
        assert document.source == text, step
        assert lines_of(document) == split_lines(text), step


def test_the_offsets_that_follow_edits_are_those_of_a_fresh_index():
    dice = random.Random(7)
    text = "".join(f"line {number}\r\n" for number in range(3 * FEW_LINES))
    document = OpenDocument("file:///a.bib", text, 1, "bibtex", "utf-16")
    pieces = ("x", "\n", "\r", "\r\n", "é🎉", "", "a\nb\nc")
    for step in range(80):
        for _ in range(dice.choice((1, 1, 2, 8, 3 * 8))):
            line = dice.randrange(len(lines_of(document)) + 1)
            last = min(len(lines_of(document)), line + dice.choice((0, 0, 1, 3)))
            places = (types.Position(line, dice.randrange(9)), types.Position(last, 3))
            change = types.Range(*sorted(places, key=lambda p: (p.line, p.character)))
            new = "".join(dice.choices(pieces, k=dice.randrange(3)))
            document.apply_change(types.TextDocumentContentChangePartial(range=change, text=new))
        if dice.random() < 0.8:
            fresh = LineIndex(document.source, "utf-16")
            assert document.index.starts == fresh.starts, step
    assert split_lines(document.source) == lines_of(document)


def test_a_document_keeps_an_equal_text_as_the_object_that_others_hold():
    text = "line é\n" * 10
    document = OpenDocument("file:///a.bib", text, 1, "bibtex", "utf-16")
    before = document.index
    shared = "".join(["line é\n"] * 10)
    document.share(shared)
    assert document.source is shared
    assert document.index.starts == before.starts
    document.share(shared + "x")
    assert document.source is shared
