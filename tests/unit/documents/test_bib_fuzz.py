"""No text makes the .bib reader fail, lose exactness, or take more than linear time."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.documents.bib import reader
from citewell.documents.bib.edit import insert_entry
from citewell.documents.bib.reader import parse_bib, reparse
from citewell.model import Author, Work
from citewell.model.bib import BibFile
from citewell.options.tree import BibOptions

FRAGMENTS = [
    "@article{", "@misc{a,", "@book(b,", "\n@inproceedings{c,\n  ", "title = {", "}", "{", '"',
    "= ", 'author="', ",", "\n", "\n}\n", "#", "year = 2000,", "@comment{", "@string{x = {y}}",
    "@string{", "%", "%@misc{q,\n% a", "(", ")", "key", " ", "@", "é", "\r\n", "\n\n", "\\'e",
    'note = jan # "z"', "  doi = {10.1000/x},\n", '\n title = "', "\ufeff",
]  # fmt: skip
BROKEN = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)

WORK = Work(
    id="x",
    title="Zyxology & BERT: 100% of {U-Net} $\\alpha$",
    authors=(Author("van der Tést", "Jan"), Author("Big Team")),
    year=2021,
    kind="inproceedings",
    booktitle="Proceedings of Things",
    doi="10.1234/zyx_1",
)


def check_ranges(bib: BibFile) -> None:
    text, last = bib.text, 0
    for entry in bib.entries:
        assert last <= entry.start < entry.end <= len(text)
        last = entry.end
        assert text[entry.start] == "@" and text[entry.start : entry.end] == entry.body.text
        assert text[entry.key_span.start : entry.key_span.end] == entry.key
        at = entry.start
        for field in entry.fields:
            assert at <= field.name_span.start < field.name_span.end <= field.value_span.start
            assert field.value_span.start <= field.value_span.end <= entry.end
            assert text[field.name_span.start : field.name_span.end].lower() == field.name
            assert text[field.value_span.start : field.value_span.end] == field.raw
            assert isinstance(field.value, str)
            at = field.value_span.end
        body = entry.body
        assert isinstance(body.doi + body.arxiv + body.title_key, str)
        assert isinstance(body.authors, tuple)
    assert all(problem.code.startswith("bib-") and problem.line for problem in bib.problems)


def view(bib: BibFile) -> object:
    return (
        [(e.type, e.key, e.start, e.body.text, e.body.marks, e.body.faults) for e in bib.entries],
        [(b.type, b.start, b.body.text, b.body.faults) for b in bib.blocks],
        bib.strings,
        bib.problems,
    )


@given(st.text(max_size=200) | BROKEN)
@settings(max_examples=300, deadline=None)
def test_every_text_is_read_with_exact_ranges(text: str) -> None:
    check_ranges(parse_bib(text, "x.bib"))


@given(BROKEN)
@settings(max_examples=200, deadline=None)
def test_an_entry_that_is_read_at_once_says_what_the_careful_scan_finds(text: str) -> None:
    text = f"@misc{{a, title = {{T}}, year = 2000}}\n{text}\n@misc{{b, title = {{U}},\n}}\n"

    def read() -> object:
        bib = parse_bib(text, "x.bib")
        return view(bib), [(entry.body.reach, entry.body.closed) for entry in bib.entries]

    at_once = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "plain_entry", lambda *_, **__: None)
        assert read() == at_once


@given(st.integers(min_value=0, max_value=2**32))
@settings(max_examples=60, deadline=None)
def test_reading_an_edit_again_equals_reading_all_again(seed: int) -> None:
    dice = random.Random(seed)
    text = "".join(dice.choice(FRAGMENTS) for _ in range(dice.randrange(40)))
    bib = parse_bib(text, "x.bib")
    for _ in range(25):
        begin = dice.randrange(len(text) + 1)
        end = min(len(text), begin + dice.choice([0, 0, 0, 1, 2, 10, 100]))
        new = "".join(dice.choice(FRAGMENTS) for _ in range(dice.choice([0, 1, 1, 2, 4])))
        text = text[:begin] + new + text[end:]
        bib = reparse(bib, text)
        assert view(bib) == view(parse_bib(text, "x.bib"))


@given(BROKEN)
@settings(max_examples=200, deadline=None)
def test_an_insertion_into_any_file_keeps_every_byte_and_every_entry(text: str) -> None:
    bib = parse_bib(text, "x.bib")
    edit, key = insert_entry(bib, WORK, None, BibOptions())
    assert edit is not None and edit.path == "x.bib"
    (change,) = edit.edits
    at = change.span.start
    assert change.span.end == at
    after = parse_bib(text[:at] + change.text + text[at:], "x.bib")
    (new,) = [entry for entry in after.entries if entry.key == key]
    assert new.get("doi") == WORK.doi and new.body.closed and not new.body.faults
    others = [(e.type, e.key, e.body.text) for e in after.entries if e is not new]
    assert others == [(e.type, e.key, e.body.text) for e in bib.entries]
    assert insert_entry(after, WORK, None, BibOptions()) == (None, key)


@pytest.mark.parametrize(
    "piece",
    [
        "{", "}", "@", "@a", "@a{", "@a{b,\n", "@a{b,t={\n", "@a{b, t={x ", "\n a = {x", '\n a = "x{',
        "\n a = {{}", ",", "#x", "x ", "x=", "%\n", "@comment{\n", "@string{a=\n", '"', "? {", "\\'{",
        "%@a{b\n", "@a(b, t={x}\n", "}}, x={", "k ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("start", ["", "@a{b,", "@a{b, t = {", '@a{b, t = "'])
def test_nasty_text_takes_linear_time(start: str, piece: str) -> None:
    def seconds(size: int) -> float:
        text = start + piece * (size // len(piece))
        begin = time.process_time()
        parse_bib(text)
        return time.process_time() - begin

    # Quadratic time would make ten times the text a hundred times slower.
    small = max(seconds(8_000), 0.01)
    # Of three, for the garbage of the tests before may be collected in one.
    assert any(seconds(80_000) < 40 * small for _ in range(3))
