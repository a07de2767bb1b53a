"""Typing errors in typed words."""

import numpy as np
import pytest

from citewell.corpus.columns import word_hash
from citewell.retrieval.word_completion import corrected, neighbours

COMMON = {
    "attention": 8000,
    "transformer": 900,
    "supervised": 700,
    "generation": 1500,
    "atention": 1,
}
NAMES = {"Attardi", "attantion"}


def counts(words):
    held = {word_hash(word): count for word, count in COMMON.items()}
    return np.array([held.get(one, 0) for one in words], np.int64)


def mend(text):
    return corrected(text, counts, NAMES.__contains__)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("atention is all you need", "attention is all you need"),
        ("attentoin", "attention"),
        ("attenntion", "attention"),
        ("Attemtion Heads", "Attention Heads"),
        ("supervied transfomers", "supervised transformers"),
        ("Attention: supervied generatiom", "Attention: supervised generation"),
    ],
)
def test_a_letter_too_many_too_few_wrong_or_exchanged_is_mended(wrong, right):
    assert mend(wrong) == right


@pytest.mark.parametrize(
    "text",
    [
        "attention",
        "zebrafish",  # nothing common is near
        "atten",  # still being typed
        "AttEntoin",  # somebody's own name for it
        "attantion",  # somebody's name
        "attantion4",  # a name with a number
        "Which papers are about atention?",
        "atention " * 30,
        "author:atention",
        "",
    ],
)
def test_what_is_no_error_stays(text):
    assert mend(text) == text


def test_a_word_is_mended_only_by_one_that_is_far_commoner():
    few = {word_hash("graphs"): 15, word_hash("grapes"): 3}
    assert corrected(
        "graphz", lambda ws: np.array([few.get(w, 0) for w in ws]), lambda _: False
    ) == ("graphz")


def test_neighbours_are_one_edit_away_and_keep_the_first_letter():
    found = neighbours("graph")
    assert {"grpah", "grph", "graphs", "graqh", "ggraph"} <= set(found)
    assert "graph" not in found
    assert all(word[0] == "g" for word in found)


def test_no_part_of_a_word_is_corrected():
    held = {word_hash("guard"): 90}

    def counts(words):
        return np.array([held.get(word, 0) for word in words], np.int64)

    assert corrected("gaard", counts, lambda word: False) == "guard"
    assert corrected("søgaard", counts, lambda word: False) == "søgaard"
    assert corrected("O'Gaard", counts, lambda word: False) == "O'Gaard"
    assert corrected("'gaard'", counts, lambda word: False) == "'guard'"
