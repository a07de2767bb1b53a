"""The trained head: its file, its confidence, and when it leaves an order alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.model import CitewellError
from citewell.ranking.features import UNKNOWN, feature_names
from citewell.ranking.learned import (
    PRIOR_SIGNALS,
    RRF_RANKS,
    Model,
    further_evidence,
    head_scores,
)
from citewell.ranking.trees import Trees
from citewell.retrieval.encoders.citation import WEIGHTS

RANKER = WEIGHTS / "ranker.npz"


def test_the_shipped_file_fits_the_features_and_the_shipped_encoder() -> None:
    from citewell.retrieval.encoders.citation import CitationEncoder

    model = Model(RANKER)
    assert model.encoder == CitationEncoder().fingerprint
    assert int(model.trees.feature.max()) < len(feature_names(PRIOR_SIGNALS))


def test_a_better_score_never_lowers_the_confidence() -> None:
    confidence = Model(RANKER).confidence(np.array([-4, -2, 0, 1, 3], np.float32))
    assert (np.diff(confidence) > 0).all()
    assert confidence.min() >= 0 and confidence.max() <= 1


def test_weights_for_other_features_are_refused_with_a_cure(tmp_path: Path) -> None:
    with np.load(RANKER, allow_pickle=False) as file:
        arrays = dict(file)
    arrays["names"] = arrays["names"][::-1]
    np.savez(tmp_path / "ranker.npz", **arrays)
    with pytest.raises(CitewellError) as caught:
        Model(tmp_path / "ranker.npz")
    assert caught.value.problem.code == "ranker-weights"
    assert "Reinstall" in caught.value.problem.hint


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ranker.npz"
    path.write_bytes(RANKER.read_bytes()[:500])
    with pytest.raises(CitewellError):
        Model(path)


def table(**columns: list[float]) -> np.ndarray:
    names = feature_names(PRIOR_SIGNALS)
    rows = np.full((len(next(iter(columns.values()))), len(names)), UNKNOWN, np.float32)
    for name, values in columns.items():
        rows[:, names.index(name)] = values
    return rows


FLAT = Trees(np.zeros((1, 1), np.int16), np.zeros((1, 1), np.float32), np.zeros((1, 2), np.float32))


def ranks(*places: int) -> list[float]:
    return [float(np.log2(1 + place)) for place in places]


def test_where_the_trees_see_no_difference_the_fused_ranks_order() -> None:
    rows = table(
        bm25_rank=ranks(1, 9, 50), full_rank=ranks(2, 1, 50), bm25_near_rank=ranks(1, 9, 50),
        memory_rank=ranks(3, 3, 3),
    )  # fmt: skip
    scores = head_scores(FLAT, rows)
    np.testing.assert_allclose(scores[0], np.log(2 / 61 + 1 / 62), rtol=1e-5)
    assert scores[0] > scores[1] > scores[2]


def test_the_memorys_rank_counts_only_for_papers_that_it_knows() -> None:
    places = {name: ranks(5, 5) for name in ("bm25_rank", "full_rank", "bm25_near_rank")}
    rows = table(**places, memory_rank=ranks(1, 1), memory_popularity=[2.0, UNKNOWN])
    known, unknown = head_scores(FLAT, rows)
    assert known > unknown


def _table(ranks: list[int]) -> np.ndarray:
    """Features of candidates that all trained lists rank alike, and of which no priors are known."""
    names = feature_names(PRIOR_SIGNALS)
    table = np.zeros((len(ranks), len(names)), np.float32)
    table[:, names.index("memory_popularity")] = UNKNOWN
    for name in RRF_RANKS:
        table[:, names.index(name)] = np.log2(1 + np.array(ranks))
    return table


def test_a_list_that_the_trees_do_not_know_moves_papers_and_keeps_the_scale() -> None:
    table = _table([1, 2, 50, 50])
    assert not further_evidence(table, []).any()
    like_the_others = np.array([1, 2, 50, 0], np.int32)
    added = further_evidence(table, [like_the_others])
    assert added[:3] == pytest.approx(0, abs=1e-5), "it says nothing new of these"
    assert added[3] == pytest.approx(np.log(3 / 4), abs=1e-5), "it does not have this one"
    high = further_evidence(table, [np.array([0, 0, 1, 0], np.int32)])
    assert high[2] > 0 > high[1]
    both = further_evidence(table, [like_the_others, like_the_others])
    assert both[3] == pytest.approx(np.log(3 / 5), abs=1e-5)
