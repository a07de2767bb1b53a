"""Distillation into the static encoder: what the scores of other models change in its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.model import Query
from citewell.retrieval import zones
from citewell.retrieval.encoders.static import StaticEncoder
from citewell.retrieval.tokens import Vocabulary
from citewell_lab.training.data import Bags, TrainingPaper, paper_bags, query_bags
from citewell_lab.training.static_distillation import WRONG, Lists, Recipe, distil
from citewell_lab.training.static_network import Arrays, Network, read_arrays, save

pytest.importorskip("torch", reason="the `neural` extra is missing")

COUNT = WRONG + 1
TOKENS = [f"word{first}{second}" for first in "abcdef" for second in "abcdef"]
VOCABULARY = Vocabulary(TOKENS)
PAPERS = [TrainingPaper(f"p:{n}", TOKENS[n], TOKENS[COUNT + n], (), 2020, "") for n in range(COUNT)]
QUERIES = [Query(sentence=f"{token} [CITATION].") for token in TOKENS[2 * COUNT :]]
"""They share no word with any paper."""
RIGHT, NEARLY = 0, 5


def start() -> Arrays:
    random = np.random.default_rng(0)
    return {
        "table": random.normal(size=(len(TOKENS), 24)).astype(np.float32),
        "query_weight": np.ones(len(TOKENS), np.float32),
        "paper_weight": np.ones(len(TOKENS), np.float32),
        "query_zones": np.ones(zones.COUNT, np.float32),
        "paper_zones": np.array([2.0, 1.0], np.float32),
    }


def papers() -> Bags:
    return paper_bags(PAPERS, VOCABULARY)


def lists() -> Lists:
    """Each query with all papers; one wrong paper is nearly as good as the right one."""
    scores = np.full((len(QUERIES), COUNT), -4.0, np.float32)
    scores[:, RIGHT], scores[:, NEARLY] = 1.0, 0.5
    rows = np.tile(np.arange(COUNT), (len(QUERIES), 1))
    return Lists(query_bags(QUERIES, VOCABULARY), rows, scores)


def cosines(arrays: Arrays) -> NDArray[np.float32]:
    """Of queries and papers, the mean over the queries."""
    network = Network(arrays, 1e-3)
    queries = network.queries(lists().queries.take(np.arange(len(QUERIES))))
    offered = network.papers(papers().take(np.arange(len(PAPERS))))
    found: NDArray[np.float32] = (queries @ offered.T).detach().numpy().mean(axis=0)
    return found


RECIPE = Recipe(steps=40, batch=4, papers=COUNT, rate=3e-2)


def test_the_right_paper_and_the_nearly_right_one_come_nearer() -> None:
    after = cosines(distil(start(), lists(), papers(), RECIPE))
    assert after.argmax() == RIGHT
    assert np.argsort(-after)[1] == NEARLY


def test_labels_alone_put_every_wrong_paper_away() -> None:
    by_scores = cosines(distil(start(), lists(), papers(), RECIPE))
    by_labels = cosines(distil(start(), lists(), papers(), replace(RECIPE, share=0.0)))
    assert by_labels.argmax() == RIGHT
    assert by_labels[NEARLY] < by_scores[NEARLY] - 0.2


def test_the_same_recipe_gives_the_same_arrays() -> None:
    one, two = (distil(start(), lists(), papers(), RECIPE) for _ in range(2))
    assert one.keys() == start().keys()
    assert all((one[name] == two[name]).all() for name in one)


def test_training_and_search_give_a_text_the_same_vector(tmp_path: Path) -> None:
    save(start(), TOKENS, tmp_path)
    encoder = StaticEncoder(tmp_path)
    network = Network(read_arrays(tmp_path / "static.npz"), 1e-3)
    bag = query_bags(QUERIES, VOCABULARY).take(np.arange(len(QUERIES)))
    read = encoder.encode_queries(QUERIES)
    assert network.queries(bag).detach().numpy() == pytest.approx(read, abs=1e-5)
    stored = encoder.encode_papers([(p.title, p.abstract) for p in PAPERS])
    trained = network.papers(papers().take(np.arange(len(PAPERS)))).detach().numpy()
    assert trained == pytest.approx(stored, abs=1e-5)
