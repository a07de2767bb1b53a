"""Places of hashes, compared with those of a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from citewell.ranking.lexical import HashIndex, matches

HASHES = st.integers(0, 2**32 - 1)
ALIKE = st.sampled_from([0, 1, 2, 1 << 16, (1 << 16) + 1, 1 << 24, 2**32 - 1])
"""Hashes that share upper or lower bits with others."""


@given(st.sets(HASHES | ALIKE, max_size=300), st.lists(HASHES | ALIKE, max_size=200))
def test_values_are_found_at_the_places_of_their_hashes(known: set[int], more: list[int]) -> None:
    keys = np.array(sorted(known), np.uint32)
    values = np.array([*more, *list(known)[::3]], np.uint32)
    place = {key: number for number, key in enumerate(keys.tolist())}
    expected = [place.get(value, -1) for value in values.tolist()]
    assert HashIndex(keys).find(values).tolist() == expected
    at, found = matches(values, keys)
    assert at.tolist() == [number for number, one in enumerate(expected) if one >= 0]
    assert found.tolist() == [one for one in expected if one >= 0]
