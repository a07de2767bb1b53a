from hypothesis import given
from hypothesis import strategies as st

from citewell.lsp.protocol.open_document import LineIndex, units
from citewell.model.document import Span

TEXT = st.text(alphabet="ab\n\ré神🎉\u2028\x0c ", max_size=60)


@given(
    st.lists(st.text(alphabet="aé神🎉", min_size=1, max_size=9), min_size=1, max_size=4),
    st.integers(200, 900),
    st.lists(st.integers(0, 40_000), min_size=1, max_size=8),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_columns_of_a_long_line_are_counted_from_its_beginning(parts, times, offsets, encoding):
    text = "first\n" + "".join(parts) * times
    index = LineIndex(text, encoding)
    for offset in offsets:
        end = max(6, min(offset, len(text)))
        column = units(text[6:end], encoding)
        found = index.position(end)
        assert (found.line, found.character) == (1, column)
        assert list(index.places([Span(6, end)])) == [(1, 0, 1, column)]


@given(
    TEXT,
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_many_spans_have_the_places_that_each_has_alone(text, pairs, encoding):
    index = LineIndex(text, encoding)
    spans = [Span(*sorted(min(offset, len(text)) for offset in pair)) for pair in pairs]
    assert list(index.wire_ranges(spans)) == [index.wire_range(span) for span in spans]
