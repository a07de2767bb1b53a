"""The metrics, by hand and against ir_measures."""

import random

import pytest

from citewell_lab.evaluation import scoring


def test_a_metric_is_offered_only_where_the_list_is_long_enough():
    assert "recall@1000" not in scoring.metric_names(100)
    assert "recall@1000" in scoring.metric_names(1000)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="no metric"):
        scoring.score("precision@5", [1], 1, 100)


def test_citeme_accepts_a_title_that_differs_in_a_word():
    titles = ("Attention Is All You Need", "Another edition")
    assert scoring.citeme_right("attention is all you need!", titles)
    assert not scoring.citeme_right("A Structured Self-Attentive Sentence Embedding", titles)


def test_every_metric_agrees_with_ir_measures_on_random_lists():
    ir = pytest.importorskip("ir_measures")
    random.seed(7)
    depth = 100
    measures = {
        "recall@1": ir.R @ 1,
        "recall@5": ir.R @ 5,
        "recall@10": ir.R @ 10,
        "recall@20": ir.R @ 20,
        "recall@100": ir.R @ 100,
        "mrr": ir.RR @ 100,
        "ndcg@10": ir.nDCG @ 10,
    }
    qrels, runs, ours = [], [], {}
    for number in range(200):
        query = f"q{number}"
        listed = random.sample(range(400), depth)
        right = random.sample(range(400), random.choice([1, 1, 1, 3, 12]))
        qrels += [ir.Qrel(query, str(one), 1) for one in right]
        runs += [ir.ScoredDoc(query, str(one), float(-rank)) for rank, one in enumerate(listed)]
        ranks = [rank for rank, one in enumerate(listed, start=1) if one in set(right)]
        ours[query] = {name: scoring.score(name, ranks, len(right), depth) for name in measures}
        # trec_eval divides by all right answers; ours is stated to divide by at most ten.
        ours[query]["map@10"] = scoring.average_precision(ranks, len(right)) * min(
            1.0, 10 / len(right)
        )
    measures["map@10"] = ir.AP @ 10
    by_name = {measure: name for name, measure in measures.items()}
    seen = 0
    for result in ir.iter_calc(list(by_name), qrels, runs):
        expected = ours[result.query_id][by_name[result.measure]]
        assert result.value == pytest.approx(expected, abs=1e-9), (result.query_id, result.measure)
        seen += result.value > 0
    assert seen > 100
