from __future__ import annotations

import numpy as np
import pytest

from citewell.retrieval.contract import Ranking
from citewell.retrieval.select import fuse


def ranking(rows: list[int], scores: list[float] | None = None) -> Ranking:
    values = scores or [float(len(rows) - place) for place in range(len(rows))]
    return Ranking(np.array(rows, np.int64), np.array(values, np.float32))


def test_rrf_sums_reciprocal_ranks_with_k_60() -> None:
    fused = fuse({"a": ranking([5, 7]), "b": ranking([7, 9])})
    assert fused.rows.tolist() == [7, 5, 9]
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])


def test_equal_scores_stand_in_row_order() -> None:
    assert fuse({"a": ranking([9]), "b": ranking([4])}).rows.tolist() == [4, 9]
