"""Diagnostics are kept encoded, and compressed where they are long."""

import json

import pytest

from citewell.lsp.diagnostics.wire import Report, result_id
from citewell.model.bib import BibFile

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
