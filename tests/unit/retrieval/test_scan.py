"""Products of coded vectors against numpy in full precision."""

from __future__ import annotations

import numpy as np

from citewell.retrieval.scan import CodedVectors


def test_cosines_are_those_of_the_decoded_rows() -> None:
    random = np.random.default_rng(0)
    rows = random.integers(-7, 8, (1300, 24)).astype(np.int8)
    rows[600] = 0
    vector = random.normal(size=24).astype(np.float32)
    vector /= np.linalg.norm(vector)
    length = np.linalg.norm(rows.astype(np.float64), axis=1)
    expected = rows @ vector.astype(np.float64) / np.where(length > 0, length, 1)
    found = CodedVectors(rows).cosines(vector)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[600] == 0


def test_no_rows_have_no_cosines() -> None:
    vectors = CodedVectors(np.zeros((0, 24), np.int8))
    assert len(vectors) == 0
    assert vectors.cosines(np.ones(24, np.float32)).shape == (0,)
