"""Lists of all entries stand where each of their spans stands alone, whatever was edited before."""

import json
import random
from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.lsp.documents.project_state import outline
from citewell.lsp.protocol import open_document
from citewell.lsp.protocol.open_document import LineIndex, units
from citewell.lsp.requests.outline import _folds, _links, _outline, bib_links, folds

REFS = r"""% A comment
% of two lines

@string{acl = "Annual Meeting"}
  @article{müller2020🎉, title = {Über
   Größe 🎉}, author = {Müller, Jürgen and Li, Wei and Smith, Ann}, year = 2020,
   doi = {10.1000/abc}, url = {https://a.example/b}}  @misc{b, note = {see https://x.example/y.}}
@book(kant1781, title = "Kritik", author = "Kant, Immanuel",
  file = {Full text:papers/kant.pdf:application/pdf},
)
words between entries
and more

@comment{of
 two lines}
@misc{broken, title = {never closed
@article{last, title = {T}, eprint = {1706.03762},
  archiveprefix = {arXiv}}
"""
PIECES = ("x", "é", "🎉", "\n", "\r\n", "\r", "{", "}", ",", '"', "@misc{n, title={N}}", "%", " ")


def edited(text, dice):
    start = dice.randrange(len(text) + 1)
    end = min(len(text), start + dice.choice((0, 0, 1, 3, 40)))
    return text[:start] + "".join(dice.choices(PIECES, k=dice.randrange(3))) + text[end:]


def range_of(index, span):
    start, end = index.position(span.start), index.position(span.end)
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }


def symbols(bib, index):
    return [
        (one.name, one.detail, range_of(index, one.span), range_of(index, one.name_span))
        for one in outline(bib)
    ]


def links(bib, index):
    return [
        (range_of(index, one.span), one.url or None, list(one.files) or None)
        for one in sorted(bib_links(bib), key=lambda one: one.span)
    ]


def lines_of_folds(bib, index):
    lines = [(*line_numbers(index, fold.span), fold.is_comment) for fold in folds(bib)]
    return sorted(line for line in lines if line[1] > line[0])


def line_numbers(index, span):
    return index.position(span.start).line, index.position(span.end).line


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_lists_of_all_entries_are_those_of_a_fresh_start_after_any_edit(line_end, encoding):
    dice = random.Random(f"{line_end}{encoding}")
    text = REFS.replace("\n", line_end)
    path = str(Path("refs.bib").absolute())
    bib = parse_bib(text, path)
    for number in range(120):
        if number % 40 == 0:
            bib = parse_bib(text, path)
        index = LineIndex(bib.text, encoding)
        found = json.loads(_outline(bib, encoding, None).data)
        shown = [(s["name"], s["detail"], s["range"], s["selectionRange"]) for s in found]
        assert shown == symbols(bib, index)
        flat = json.loads(_outline(bib, encoding, "file:///refs.bib").data)
        assert [s["location"] for s in flat] == [
            {"uri": "file:///refs.bib", "range": place} for _, _, place, _ in shown
        ]
        found = json.loads(_links(bib_links(bib), bib.text, encoding).data)
        assert [(s["range"], s.get("target"), s.get("data")) for s in found] == links(bib, index)
        found = json.loads(_folds(bib, 0).data)
        lines = [(f["startLine"], f["endLine"], f.get("kind") == "comment") for f in found]
        assert lines == lines_of_folds(bib, index)
        bib = reparse(bib, edited(bib.text, dice))


def test_macros_stand_among_the_entries_of_an_outline_in_the_order_of_the_file():
    bib = parse_bib("@string{a={A}}\n@misc{k}\n@string{b={B}}\n@misc{l}\n")
    found = json.loads(_outline(bib, "utf-16", None).data)
    assert [symbol["name"] for symbol in found] == ["a", "k", "b", "l"]


def test_where_a_client_takes_few_folds_it_gets_the_entries():
    bib = parse_bib("% a\n% b\n@misc{a,\n title = {x\n y}}\n@misc{b,\n title = {z}}\n")
    found = json.loads(_folds(bib, 2).data)
    assert [(f["startLine"], f["endLine"]) for f in found] == [(2, 4), (5, 6)]


def test_each_character_of_a_bib_in_one_line_is_counted_once(monkeypatch):
    text = " ".join(f"@misc{{k{n}, title = {{Größe}}}}" for n in range(400))
    index = LineIndex(text, "utf-8")
    monkeypatch.setattr(open_document, "units", None)
    spans = [entry.span for entry in parse_bib(text).entries]
    found = [line_and_columns(place) for place in index.wire_ranges(spans)]
    assert found == [
        (0, units(text[: s.start], "utf-8"), units(text[: s.end], "utf-8")) for s in spans
    ]


def line_and_columns(place):
    return place.start.line, place.start.character, place.end.character
