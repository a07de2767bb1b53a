from hypothesis import given
from hypothesis import strategies as st

from citewell.lsp.documents.positions import Places
from citewell.lsp.protocol.line_index import LineIndex

TEXT = st.text(alphabet="ab\n\ré神🎉\u2028\x0c ", max_size=60)


@given(
    TEXT, st.lists(st.integers(0, 60), max_size=20), st.sampled_from(["utf-8", "utf-16", "utf-32"])
)
def test_positions_are_those_of_the_line_index_in_any_order(text, offsets, encoding):
    places, index = Places(text, encoding), LineIndex.of(text, encoding)
    for offset in offsets:
        found, right = places.position(offset), index.position(offset)
        assert (found.line, found.character) == (right.line, right.character)
