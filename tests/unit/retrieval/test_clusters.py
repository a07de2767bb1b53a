"""Groups of like vectors."""

import numpy as np

from citewell.engine.lookup import clusters


def blobs(sizes: tuple[int, ...]) -> np.ndarray:
    """Rows around as many directions, one size each."""
    noise = np.random.default_rng(5).normal(0, 0.05, (sum(sizes), 16)).astype(np.float32)
    centres = np.eye(16, dtype=np.float32)[: len(sizes)]
    return np.repeat(centres, sizes, axis=0) + noise


def test_like_vectors_are_in_one_group_and_the_groups_are_always_the_same() -> None:
    rows = blobs((20, 15, 10))
    found = clusters(rows, 3)
    assert [len(set(part)) for part in np.split(found, [20, 35])] == [1, 1, 1]
    assert len(set(found)) == 3
    assert (clusters(rows, 3) == found).all()


def test_a_row_of_zeros_is_in_no_group() -> None:
    rows = blobs((8, 8))
    rows[3] = 0
    found = clusters(rows, 2)
    assert found[3] == -1
    assert (np.delete(found, 3) >= 0).all()
