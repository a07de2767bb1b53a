"""The figures of a training run against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.ranking.features import UNKNOWN, feature_names
from citewell.ranking.learned import PRIOR_SIGNALS
from citewell_lab.training.figures import by_knowledge, by_paper, confidence_figures, ranks
from citewell_lab.training.head import logistic
from citewell_lab.training.questions import CandidateTable


def table() -> CandidateTable:
    right = np.array([0, 1, 0, 0, 0, 1], bool)
    return CandidateTable(np.zeros((6, 1), np.float32), right, np.array([3, 1, 2]), np.ones(3, int),
                 ("a", "b", "b"))  # fmt: skip


SCORES = np.array([3, 2, 1, 5, 0, 4], np.float32)


def test_a_question_without_a_right_candidate_has_no_rank() -> None:
    assert ranks(table(), SCORES).tolist() == [2, np.inf, 1]


def test_equal_scores_count_against_the_right_candidate() -> None:
    assert ranks(table(), np.zeros(6, np.float32)).tolist() == [3, np.inf, 2]


def test_figures_are_given_per_record_and_per_paper() -> None:
    figures = by_paper(ranks(table(), SCORES), table().papers)
    assert figures["R@1"]["record"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["R@1"]["paper"] == pytest.approx(0.25)
    assert figures["MRR"]["paper"] == pytest.approx(0.5)
    assert figures["R@5"]["low"] <= figures["R@5"]["record"] <= figures["R@5"]["high"]


def test_precision_at_coverage_takes_the_surest_first() -> None:
    found = confidence_figures(table(), SCORES, lambda s: s / 10)
    assert found["precision at 25%"] == 0
    assert found["precision at 100%"] == pytest.approx(1 / 3, abs=1e-4)


def test_the_logistic_fit_finds_the_log_odds() -> None:
    right = np.array([1.0] * 30 + [0.0] * 10)
    weights = logistic(np.ones((40, 1)), right)
    assert weights[0] == pytest.approx(np.log(3), abs=1e-3)


def test_recall_is_told_apart_by_what_is_known_of_the_answer() -> None:
    names = feature_names(PRIOR_SIGNALS)
    features = np.full((6, len(names)), UNKNOWN, np.float32)
    features[1, names.index("memory_popularity")] = 2.0
    base = table()
    known_table = CandidateTable(features, base.right, base.size, base.golds, base.papers)
    assert by_knowledge(known_table, SCORES) == {
        "cited": {"share": 0.3333, "R@10": 1.0},
        "no candidate": {"share": 0.3333, "R@10": 0.0},
        "never cited": {"share": 0.3333, "R@10": 1.0},
    }
