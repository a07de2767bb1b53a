"""What a citation already has as evidence for the next paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.model import Query
from citewell.ranking.learned import WEIGHTS, same_citation, with_same_citation

VECTORS = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
ROWS = np.arange(3)


class Priors:
    """A library of three papers. Others cite the third together with whatever is near."""

    def rows_of_titles(self, titles: Sequence[str]) -> NDArray[np.int64]:
        return np.array([{"First": 0, "Second": 1}.get(title, -1) for title in titles])

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return VECTORS[rows]

    def cocited(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        assert query.nearby == query.present
        return np.array([[-1, -1], [0, 0], [2, 0.5]], np.float32)[rows]


def inputs(*present: str) -> NDArray[np.float32] | None:
    return same_citation(Query(present=present, nearby=("Far",)), ROWS, VECTORS, Priors())  # type: ignore[arg-type]


def test_candidates_are_as_near_as_to_the_nearest_paper_of_the_citation() -> None:
    found = inputs("First", "Second", "Unknown")
    assert found is not None
    np.testing.assert_allclose(found[:, 1], [1, 1, 0.8], rtol=1e-6)


def test_the_best_score_stays_as_the_confidence_knows_it() -> None:
    scores = np.array([1.0, 0.5, -3.0], np.float32)
    out = with_same_citation(scores, np.array([[0, 0], [0, 0], [2, 0.8]], np.float32))
    assert out.max() == 1.0
    np.testing.assert_allclose(out[2] - out[0], -4.0 + 2 * WEIGHTS[0] + 0.8 * WEIGHTS[1], rtol=1e-5)
    np.testing.assert_allclose(out[0] - out[1], 0.5, rtol=1e-5)
