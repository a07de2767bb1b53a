from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from citewell.retrieval.select import top


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, -np.inf]), max_size=60),
    st.integers(0, 70),
)
def test_top_is_the_head_of_a_full_sort_with_ties_in_row_order(values: list[float], k: int) -> None:
    scores = np.array(values, np.float32)
    whole = sorted(range(len(values)), key=lambda row: (-scores[row], row))
    expected = [row for row in whole if scores[row] > 0][:k]
    assert top(scores, k, above=0.0).tolist() == expected
