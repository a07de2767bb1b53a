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


def test_the_interval_holds_the_mean_and_narrows_with_more_papers():
    rng = np.random.default_rng(1)
    widths = []
    for papers in (20, 320):
        names = [f"p{n % papers}" for n in range(papers * 4)]
        values = rng.random((len(names), 1))
        estimate = bootstrap(values, Groups(names))[0][1]
        assert estimate.low < estimate.mean < estimate.high
        widths.append(estimate.high - estimate.low)
    assert widths[1] < widths[0] / 3


def test_the_interval_over_papers_is_wider_than_over_independent_questions():
    values = np.repeat([0.0, 1.0] * 10, 20)[:, None]
    papers = [f"p{n}" for n in range(20) for _ in range(20)]
    clustered = bootstrap(values, Groups(papers))[0][0]
    alone = bootstrap(values, Groups([str(n) for n in range(400)]))[0][0]
    assert clustered.high - clustered.low > 3 * (alone.high - alone.low)


def test_one_paper_gives_a_mean_without_an_interval():
    estimate = bootstrap(np.array([[1.0], [0.0]]), Groups(["a", "a"]))[0][0]
    assert (estimate.mean, estimate.low, estimate.high) == (0.5, None, None)


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(2).random((50, 2))
    papers = [str(n % 10) for n in range(50)]
    assert bootstrap(values, Groups(papers, seed=3)) == bootstrap(values, Groups(papers, seed=3))


def test_the_randomisation_test_agrees_with_all_sign_flips():
    differences = np.array([0.9, 0.4, -0.2, 0.3, 0.6, -0.1, 0.5, 0.2])
    observed = abs(differences.sum())
    flips = [abs(np.dot(s, differences)) for s in itertools.product((1, -1), repeat=8)]
    exact = np.mean([value >= observed - 1e-12 for value in flips])
    result = compare(differences, np.zeros(8), [f"p{n}" for n in range(8)])
    assert result.p == pytest.approx(exact, abs=0.01)
    assert result.unit == "paper" and result.units == 8


def test_equal_methods_differ_by_chance_only():
    values = np.random.default_rng(4).random(100)
    result = compare(values, values.copy(), [str(n) for n in range(100)])
    assert result.difference == 0.0 and result.p == 1.0


def test_a_plain_gain_over_many_papers_is_no_chance():
    a, b = np.ones(200), np.zeros(200)
    result = compare(a, b, [str(n % 50) for n in range(200)])
    assert result.p == pytest.approx(1 / 10_001)
    assert result.low == pytest.approx(1.0)


def test_papers_are_flipped_whole_so_one_paper_alone_proves_nothing():
    a = np.array([1.0] * 100 + [0.0, 0.0])
    result = compare(a, np.zeros(102), ["big"] * 100 + ["b", "c"])
    assert result.p > 0.9


def test_with_a_single_paper_the_questions_are_flipped_and_the_result_says_so():
    result = compare(np.ones(30), np.zeros(30), ["only"] * 30)
    assert result.unit == "question" and result.units == 30 and result.p < 0.001


def test_methods_with_other_questions_are_not_compared():
    with pytest.raises(ValueError, match="same questions"):
        compare(np.ones(3), np.ones(4), ["a", "b", "c"])


def test_the_p_values_are_uniform_when_nothing_is_there():
    rng = np.random.default_rng(5)
    below = sum(
        compare(rng.random(40), rng.random(40), [str(n) for n in range(40)], flips=500).p < 0.1
        for _ in range(300)
    )
    assert 15 <= below <= 47  # 30 expected; three standard deviations


def test_holms_correction_multiplies_and_never_falls():
    assert correct_p([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_p([0.9, 0.8]) == [1.0, 1.0]
