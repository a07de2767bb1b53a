"""Intervals and tests, checked against exact values and against their own guarantees."""

import itertools

import numpy as np
import pytest

from citewell_lab.evaluation.statistics import Groups, bootstrap, compare, correct_p


def test_the_mean_per_paper_gives_each_paper_the_same_weight():
    values = np.array([[1.0], [1.0], [1.0], [0.0]])
    by_question, by_paper = bootstrap(values, Groups(["a", "a", "a", "b"]))[0]
    assert by_question.mean == pytest.approx(0.75)
    assert by_paper.mean == pytest.approx(0.5)


def test_the_randomisation_test_agrees_with_all_sign_flips():
    differences = np.array([0.9, 0.4, -0.2, 0.3, 0.6, -0.1, 0.5, 0.2])
    observed = abs(differences.sum())
    flips = [abs(np.dot(s, differences)) for s in itertools.product((1, -1), repeat=8)]
    exact = np.mean([value >= observed - 1e-12 for value in flips])
    result = compare(differences, np.zeros(8), [f"p{n}" for n in range(8)])
    assert result.p == pytest.approx(exact, abs=0.01)
    assert result.unit == "paper" and result.units == 8


def test_with_a_single_paper_the_questions_are_flipped_and_the_result_says_so():
    result = compare(np.ones(30), np.zeros(30), ["only"] * 30)
    assert result.unit == "question" and result.units == 30 and result.p < 0.001


def test_methods_with_other_questions_are_not_compared():
    with pytest.raises(ValueError, match="same questions"):
        compare(np.ones(3), np.ones(4), ["a", "b", "c"])


def test_holms_correction_multiplies_and_never_falls():
    assert correct_p([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_p([0.9, 0.8]) == [1.0, 1.0]
