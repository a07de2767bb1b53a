from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from citewell.retrieval.select import BestRows, top, within


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, -np.inf]), max_size=60),
    st.integers(0, 70),
)
def test_top_is_the_head_of_a_full_sort_with_ties_in_row_order(values: list[float], k: int) -> None:
    scores = np.array(values, np.float32)
    whole = sorted(range(len(values)), key=lambda row: (-scores[row], row))
    expected = [row for row in whole if scores[row] > 0][:k]
    assert top(scores, k, above=0.0).tolist() == expected


@given(
    st.integers(0, 2**32 - 1),
    st.integers(16_000, 40_000),
    st.integers(1, 700),
    st.sampled_from([0.0, 0.4, 0.999, 1.0]),
)
def test_among_many_rows_the_same_are_found(seed: int, rows: int, k: int, alike: float) -> None:
    """Most scores of a search by words are 0; a filter leaves many rows out."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 2_000, rows).astype(np.float32)
    scores[rng.random(rows) < alike] = rng.choice([0.0, -np.inf])
    order = np.lexsort((np.arange(rows), -scores))
    for above in (-np.inf, 0.0):
        expected = [row for row in order[:k].tolist() if scores[row] > above]
        assert top(scores, k, above).tolist() == expected
    least = scores[order[k - 1]]
    near = np.flatnonzero((scores >= least - 3) & (scores > -np.inf))
    assert within(scores, k, 3).tolist() == near.tolist()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 30_000),
    st.integers(0, 3_000),
    st.integers(1, 12_000),
    st.sampled_from([0.0, 0.4, 0.999, 1.0]),
)
def test_the_best_of_parts_are_the_best_of_all(
    seed: int, rows: int, k: int, part: int, alike: float
) -> None:
    """Parts of any size, with many equal scores and rows that are left out."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 2_000, rows).astype(np.float32)
    scores[rng.random(rows) < alike] = rng.choice([0.0, -np.inf])
    best, mixed = BestRows(k), BestRows(k)
    for begin in range(0, rows, part):
        best.add(begin, scores[begin : begin + part])
        some = rng.permutation(np.arange(begin, min(begin + part, rows)))
        some = some[scores[some] > -np.inf]
        mixed.add_rows(some, scores[some])
    expected = top(scores, k)
    for one in (best, mixed):
        found, values = one.best()
        assert found.tolist() == expected.tolist()
        assert values.tolist() == scores[expected].tolist()
