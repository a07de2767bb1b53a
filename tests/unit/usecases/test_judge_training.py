"""The judge of a literature search learns from the lists after every pass."""

from __future__ import annotations

import numpy as np

from citewell.engine.local import LocalEngine
from citewell.model import Query, Question
from citewell.model.query import Target
from citewell.usecases.explore.contract import NAMES
from citewell_lab.training.literature import search_all


def test_every_pass_gives_the_judge_something_to_learn_from(
    orchards: LocalEngine, about: tuple[str, ...]
) -> None:
    targets = tuple(Target(titles=(title,)) for title in about)
    question = Question(
        id="q", query=Query(text="irrigation of apple orchards"), targets=targets, gold_titles=about
    )
    (found,) = search_all(orchards, [question], lambda _: None)
    assert found.answers == len(about)
    assert len(found.tables) == len(found.right) == 4
    last = found.tables[-1]
    assert np.ptp(last[:, NAMES.index("papers")]) > 0
    both = last[:, [NAMES.index("search_odds"), NAMES.index("references_odds")]]
    assert (both[:, 0] != both[:, 1]).any(), "the second pass asks with other words"
