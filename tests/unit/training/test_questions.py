"""How questions become tables of candidates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from citewell.model import Query
from citewell.ranking.features import feature_names
from citewell.ranking.learned import PRIOR_SIGNALS
from citewell_lab.training.data import CitationContext, TrainingPaper
from citewell_lab.training.head import EASY, HARD, thinned
from citewell_lab.training.questions import CandidateQuestion, CitingFacts, ask

NONE = np.zeros(0, np.int64)


class Papers:
    """Offers every paper for every question, with its number as the only feature."""

    papers = tuple(TrainingPaper(f"p{n}", f"Part {n}", "", (), 2020, "") for n in range(5))
    row: ClassVar = {f"p{n}": n for n in range(5)}
    keys = np.arange(5, dtype=np.uint64)

    def candidates(self, query: Query, *_: Any) -> tuple[Any, Any]:
        rows = np.arange(5)
        return rows, (rows + len(query.sentence)).astype(np.float32)[:, None]


WORLD: Any = Papers()


def questions() -> list[CandidateQuestion]:
    return [
        CandidateQuestion(Query(sentence="x" * n), np.array([n % 5]), NONE, 0, f"paper {n}",
                          np.array([(n + 1) % 5]), NONE)
        for n in range(7)
    ]  # fmt: skip


def test_a_training_question_keeps_what_is_right_and_a_sample_of_the_rest() -> None:
    count = 3 * (HARD + EASY)
    features = np.zeros((count, len(feature_names(PRIOR_SIGNALS))), np.float32)
    features[:, feature_names(PRIOR_SIGNALS).index("bm25_rank")] = np.arange(count)
    right = np.zeros(count, np.bool_)
    right[-1] = True
    kept = thinned(features, right)
    assert kept[-1]
    assert HARD + 1 <= kept.sum() <= HARD + EASY + 1
    assert not thinned(features, np.zeros(count, np.bool_)).any()


def test_what_the_same_command_cites_is_left_out_of_training() -> None:
    context = CitationContext("c", "repo", "repo|a", "", "See [CITATION].", (), "", ("p1",), ("p2",), 2020,
                      clean=True, origin="dev")  # fmt: skip
    known = CitingFacts(lambda _: (), {})
    assert ask(WORLD, [context], known, 0.0)[0].exclude.tolist() == []
    assert ask(WORLD, [context], known, 0.0, apart=True)[0].exclude.tolist() == [2]
    assert ask(WORLD, [context], known, 1.0)[0].exclude.tolist() == [2]
