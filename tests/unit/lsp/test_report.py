"""Diagnostics are encoded in the order in which they are found."""

import json
from pathlib import Path

import pytest

from citewell.lsp.protocol.open_document import LineIndex
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
