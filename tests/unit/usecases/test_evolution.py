"""Queries from the best papers' own words."""

from __future__ import annotations

from citewell.model import Work
from citewell.usecases.explore.steps import aspect_queries, new_queries

TOPIC = "irrigation of apple orchards"
METHOD = "We propose a drip controller for irrigation that measures moisture below apple trees."
USE = "The drip controller is applied to apple orchards in valleys with little rain."
LIMIT = "However, moisture sensors fail in frozen soil and remain expensive for small orchards."
BEST = [
    Work(id=f"b:{n}", title=f"Orchard Irrigation {n}", abstract=f"{METHOD} {USE} {LIMIT}")
    for n in range(3)
]
OTHERS = [Work(id=f"o:{n}", title=f"Harbours {n}", abstract="Ships and trade.") for n in range(9)]


def test_each_aspect_asks_in_a_sentence_of_a_best_paper() -> None:
    found = aspect_queries(TOPIC, BEST, OTHERS, [TOPIC])
    assert [(one.aspect, one.text) for one in found] == [
        ("methods", METHOD), ("applications", USE), ("limitations", LIMIT),
    ]  # fmt: skip


def test_what_was_asked_is_not_asked_again() -> None:
    queried = [TOPIC, METHOD]
    found = aspect_queries(TOPIC, BEST, OTHERS, queried)
    assert METHOD not in [one.text for one in found]
    again = aspect_queries(TOPIC, BEST, OTHERS, [*queried, *(one.text for one in found)])
    assert again == []
    assert new_queries([("methods", METHOD.upper())], queried) == []
