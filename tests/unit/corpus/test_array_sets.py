"""Arrays as sets give what numpy's own functions give."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.corpus.arrays import distinct, is_among

ARRAYS = [
    np.array([3, 1, 3, 2, 1], np.int64),
    np.array([7], np.int32),
    np.zeros(0, np.int64),
    np.array([0xFFFFFFFF, 0, 0xFFFFFFFF], np.uint32),
    np.array([2**63, 1, 2**63], np.uint64),
    np.array([0.5, -1.0, 0.5], np.float32),
]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda one: f"{one.dtype}-{len(one)}")
def test_distinct_values_are_those_of_numpy(values: np.ndarray) -> None:
    before = values.copy()
    found = distinct(values)
    assert found.tolist() == np.unique(values).tolist()
    assert found.dtype == values.dtype
    assert (values == before).all()


@pytest.mark.parametrize("values", ARRAYS, ids=lambda one: f"{one.dtype}-{len(one)}")
def test_the_values_among_others_are_those_of_numpy(values: np.ndarray) -> None:
    for others in (values[:1], values[1:], np.zeros(0, values.dtype), values + 1):
        found = is_among(values, others)
        assert found.tolist() == np.isin(values, others).tolist()
        assert found.dtype == np.bool_
