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


def test_each_row_keeps_its_rank_and_score_in_each_list() -> None:
    fused = fuse({"a": ranking([5, 7], [3.0, 2.0]), "b": ranking([7], [0.5])})
    by_row = dict(zip(fused.rows.tolist(), fused.ranks["b"].tolist(), strict=True))
    assert by_row == {5: 0, 7: 1}
    assert dict(zip(fused.rows.tolist(), fused.by["a"].tolist(), strict=True)) == {5: 3.0, 7: 2.0}


def test_max_takes_the_best_normalised_score() -> None:
    lists = {"a": ranking([1, 2, 3], [10, 9, 0]), "b": ranking([4, 2], [0.9, 0.1])}
    fused = fuse(lists, "max")
    assert fused.rows.tolist() == [1, 4, 2, 3]
    assert fused.scores.tolist() == pytest.approx([1, 1, 0.9, 0])


def test_a_list_of_one_score_counts_full_under_max() -> None:
    assert fuse({"a": ranking([3], [0.2])}, "max").scores.tolist() == [1.0]


def test_no_lists_fuse_to_nothing() -> None:
    assert len(fuse({}).rows) == 0
    assert len(fuse({"a": ranking([])}).rows) == 0


def test_a_single_list_keeps_its_order() -> None:
    rows = [8, 3, 6, 1]
    assert fuse({"a": ranking(rows)}).rows.tolist() == rows
    assert fuse({"a": ranking(rows)}, "max").rows.tolist() == rows
