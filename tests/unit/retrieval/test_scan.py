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


def test_the_nearest_rows_are_those_of_the_exact_cosines() -> None:
    random = np.random.default_rng(1)
    # Rows that are nearly alike: the rounded vector alone would order them otherwise.
    rows = random.integers(-3, 4, (3000, 24)).astype(np.int8)
    rows += np.array([60, *[0] * 23], np.int8)
    vectors = CodedVectors(rows)
    vector = random.normal(size=24).astype(np.float32)
    vector /= np.linalg.norm(vector)
    excluded = np.zeros(len(rows), bool)
    excluded[np.argsort(-vectors.cosines(vector))[:5]] = True
    expected = np.where(excluded, -2, vectors.cosines(vector))
    found, cosines = vectors.nearest(vector, 40, excluded)
    assert set(found.tolist()) == set(np.argsort(-expected)[:40].tolist())
    np.testing.assert_allclose(cosines, expected[found], atol=1e-6)


def test_the_error_of_an_approximate_cosine_is_bounded() -> None:
    random = np.random.default_rng(2)
    vectors = CodedVectors(random.integers(-127, 128, (500, 24)).astype(np.int8))
    for _ in range(20):
        vector = random.normal(size=24).astype(np.float32)
        vector /= np.linalg.norm(vector)
        found, error = vectors.approximate(vector)
        assert np.abs(found - vectors.cosines(vector)).max() <= error < 0.05


def test_a_vector_of_zeros_and_few_rows_are_no_exception() -> None:
    vectors = CodedVectors(np.array([[127, 0], [0, 127]], np.int8))
    assert not vectors.approximate(np.zeros(2, np.float32))[0].any()
    found, _ = vectors.nearest(np.array([1, 0], np.float32), 9, np.array([True, False]))
    assert found.tolist() == [1]
    found, _ = vectors.nearest(np.array([1, 0], np.float32), 1, np.array([True, True]))
    assert found.tolist() == []
