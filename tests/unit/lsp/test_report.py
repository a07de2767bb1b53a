"""Diagnostics are kept encoded, and compressed where they are long."""

import json
import sys
from pathlib import Path

import pytest

from citewell.lsp.diagnostics.wire import Report, encoded, result_id
from citewell.lsp.protocol.line_index import LineIndex
from citewell.model.bib import BibFile
from citewell.model.diagnostic import Diagnostic, Level
from citewell.model.document import Span

BIB = BibFile("refs.bib", "")


@pytest.mark.parametrize("count", [1, 20_000])
def test_a_report_gives_back_its_items_whatever_their_number(count):
    items = json.dumps([{"message": f"Unused entry: key{number}"} for number in range(count)])
    report = Report.of(items.encode(), (), BIB)
    assert report.items == items.encode()
    assert report.result_id == result_id(items.encode())
    assert not report.is_empty


def test_long_reports_are_compressed():
    items = b"[%b]" % b",".join([b'{"code":"unused-entry"}'] * 20_000)
    assert len(Report.of(items, (), BIB).packed) < len(items) / 10


def test_a_report_without_items_is_empty():
    assert Report.of(b"[]", (), BIB).is_empty


def test_each_diagnostic_is_encoded_and_let_go_before_the_next_is_found():
    made = [
        Diagnostic(code="unused-entry", span=Span(at, at + 1), message=f"At {at}", level=Level.HINT)
        for at in (4, 0, 2)
    ]
    known_here = sys.getrefcount(made[0])
    kept = []

    def found():
        for number in range(3):
            yield made[number]
            kept.append([sys.getrefcount(made[one]) - known_here for one in range(number)])

    items = encoded(found(), Path("refs.bib"), lambda _: LineIndex("abcdef", "utf-8"))
    assert kept == [[], [0], [0, 0]]
    assert [one["message"] for one in json.loads(items)] == ["At 0", "At 2", "At 4"]


def test_where_nothing_is_found_no_line_is_looked_up():
    assert encoded((), Path("refs.bib"), lambda _: pytest.fail("looked up")) == b"[]"
