"""Edits made one after the other are the same as the one set of edits that comes out."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from citewell.documents.textfile import apply_edits
from citewell.features.citing.write import RebasedText
from citewell.model.bib import TextEdit
from citewell.model.document import Span


@given(st.text(alphabet="ab\n", max_size=12), st.data())
def test_any_sequence_of_edits_is_stated_against_the_original(
    text: str, data: st.DataObject
) -> None:
    edited = RebasedText(text)
    for _ in range(data.draw(st.integers(0, 6))):
        length = len(edited.text)
        start = data.draw(st.integers(0, length))
        end = data.draw(st.integers(start, length))
        edits = [TextEdit(Span(start, end), data.draw(st.text(alphabet="XY", max_size=3)))]
        if end < length:
            edits += [TextEdit(Span(length, length), "!"), TextEdit(Span(length, length), "?")]
        expected = apply_edits(edited.text, edits)
        edited.apply(edits)
        assert edited.text == expected
    edits = edited.edits()
    assert apply_edits(text, edits) == edited.text
    spans = [edit.span for edit in edits]
    assert all(a.end < b.start for a, b in itertools.pairwise(spans))


@given(st.text(alphabet="abc", min_size=1, max_size=12), st.data())
def test_characters_that_no_edit_touches_are_found_where_they_moved(
    text: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    marked = text[:place] + "#" + text[place + 1 :]
    edited = RebasedText(marked)
    for _ in range(data.draw(st.integers(0, 5))):
        at = edited.text.index("#")
        left = data.draw(st.booleans())
        low, high = (0, at) if left else (at + 1, len(edited.text))
        start = data.draw(st.integers(low, high))
        end = data.draw(st.integers(start, high))
        edited.apply([TextEdit(Span(start, end), data.draw(st.text(alphabet="XY", max_size=3)))])
    assert edited.text[edited.now(place)] == "#"
