"""Lists of all entries are put together from what is kept of each: they must say the same as lists
that are made from nothing, whatever was edited before."""

import json
import random
from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.features.navigation.folding import block_folds, body_folds, comment_folds
from citewell.features.navigation.links import entry_links
from citewell.features.navigation.symbols import entry_symbol, macro_symbols
from citewell.lsp.documents import positions
from citewell.lsp.protocol.line_index import LineIndex, units
from citewell.lsp.requests.folding import _folds
from citewell.lsp.requests.links import _bib_links
from citewell.lsp.requests.symbols import _outline
from citewell.model.document import Span

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
    line, character, last, end = index.places(span)
    return {
        "start": {"line": line, "character": character},
        "end": {"line": last, "character": end},
    }


def outline(bib, index):
    found = [*macro_symbols(bib), *map(entry_symbol, bib.entries)]
    return [
        (one.name, one.detail, range_of(index, one.span), range_of(index, one.name_span))
        for one in sorted(found, key=lambda one: one.span)
    ]


def links(bib, index):
    folder = Path(bib.path).parent
    found = [link for entry in bib.entries for link in entry_links(entry, folder)]
    return [
        (range_of(index, one.span), one.url or None, list(one.files) or None)
        for one in sorted(found, key=lambda one: one.span)
    ]


def folds(bib, index):
    spans = [
        (Span(entry.start + span.start, entry.start + span.end), False)
        for entry in bib.entries
        for span in body_folds(entry.body)
    ]
    spans += [(one.span, one.is_comment) for one in (*block_folds(bib), *comment_folds(bib))]
    lines = [(index.places(span)[0], index.places(span)[2], c) for span, c in spans]
    return sorted(line for line in lines if line[1] > line[0])


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
        index = LineIndex.of(bib.text, encoding)
        found = json.loads(_outline(bib, encoding, None).data)
        shown = [(s["name"], s["detail"], s["range"], s["selectionRange"]) for s in found]
        assert shown == outline(bib, index)
        flat = json.loads(_outline(bib, encoding, "file:///refs.bib").data)
        assert [s["location"] for s in flat] == [
            {"uri": "file:///refs.bib", "range": place} for _, _, place, _ in shown
        ]
        found = json.loads(_bib_links(bib, encoding).data)
        assert [(s["range"], s.get("target"), s.get("data")) for s in found] == links(bib, index)
        found = json.loads(_folds(bib, 0).data)
        lines = [(f["startLine"], f["endLine"], f.get("kind") == "comment") for f in found]
        assert lines == folds(bib, index)
        bib = reparse(bib, edited(bib.text, dice))


def test_entries_of_a_large_file_stand_where_the_line_index_has_them():
    dice = random.Random(5)
    gaps = (" ", "\n", "\n\n", "% a\n ", "\f\n")
    text = "".join(f"{dice.choice(gaps)}@misc{{k{n},\n title={{T}}}}" for n in range(3_000))
    bib = parse_bib(text)
    index = LineIndex.of(text, "utf-16")
    found = [(line, column) for _, line, column in positions.placed(bib, "utf-16")]
    assert found == [index.places(Span(e.start, e.start + 1))[:2] for e in bib.entries]
    assert len(set(found)) == 3_000


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
    bib, counted = parse_bib(text), []
    monkeypatch.setattr(
        positions, "units", lambda part, of: (counted.append(len(part)), units(part, of))[1]
    )
    places = [(line, column) for _, line, column in positions.placed(bib, "utf-8")]
    assert places == [(0, units(text[: entry.start], "utf-8")) for entry in bib.entries]
    assert sum(counted) <= len(text)
