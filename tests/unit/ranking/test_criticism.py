"""Sentences that name a fault before they cite a witness of it."""

from __future__ import annotations

import pytest

from citewell.ranking.history import is_criticism


@pytest.mark.parametrize(
    "sentence",
    [
        "However, it fails on long inputs [CITATION].",
        "This model suffers from exposure bias [CITATION].",
        "The metric doesn't agree with people [CITATION].",
        "Its limitations are known [CITATION], too.",
        "However, masked language modelling learns from few words only [CITATION].",
        "Yet such models are undertrained by far [CITATION].",
    ],
)
def test_a_fault_before_the_mark_is_a_criticism(sentence: str) -> None:
    assert is_criticism(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "It works well on long inputs [CITATION].",
        "[CITATION] introduced it, but it fails on long inputs.",
        "It fails on long inputs.",
        "However, BERT [CITATION] is larger.",
        "But see [CITATION].",
        "",
    ],
)
def test_a_fault_behind_the_mark_or_none_is_not(sentence: str) -> None:
    assert not is_criticism(sentence)
