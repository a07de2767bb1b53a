"""The judge of a literature search: its features from searches in passes, its weights and its cut.

Each question is searched with weights of the order that were fitted without its fold.
`training.literature` is the command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.engine.local import LocalEngine
from citewell.model import Question
from citewell.usecases.explore.contract import MAX_COUNT, ExploreQuery
from citewell.usecases.explore.fusion import Ranked
from citewell.usecases.explore.judging import NAMES, RelevanceJudge, judged_features
from citewell.usecases.explore.passes import explore
from citewell_lab.evaluation.matching import Gold
from citewell_lab.evaluation.scoring import set_scores
from citewell_lab.training.head import logistic
from citewell_lab.training.literature_order import FOLDS, fold_of

JUDGED = 200
"""First papers after each pass that teach."""
CUTS = tuple(n / 100 for n in range(3, 26))
SLACK = 0.01
"""The lowest cut whose F1 is within this of the best one is taken: answers that the data does not
name make precision look worse than it is."""


class SearchPasses(msgspec.Struct, frozen=True):
    """The lists of one question after its passes."""

    id: str
    answers: int
    """Answers that the library holds."""
    tables: tuple[NDArray[np.float64], ...]
    """The values of `NAMES` of each list's papers."""
    right: tuple[NDArray[np.int64], ...]
    """Number of the answer that each paper is, -1 for none."""


class _Recorder(RelevanceJudge):
    """Keeps the features and judges nothing."""

    def __init__(self) -> None:
        super().__init__((), 1.0)
        self.rows: dict[str, tuple[float, ...]] = {}

    def chances(self, lists: Sequence[Ranked], ids: Sequence[str]) -> list[float] | None:
        self.rows = dict(zip(ids, judged_features(lists, ids) or (), strict=False))
        return None


def search_all(
    engine: LocalEngine, questions: Sequence[Question], prepare: Callable[[str], None]
) -> list[SearchPasses]:
    """Every question in passes. `prepare` is called with its id before, to set the order."""
    gold = Gold(engine, questions)
    out = []
    for one in questions:
        prepare(one.id)
        right = gold.of(one)
        number = {name: n for n, ids in enumerate(right) for name in ids}
        recorder = _Recorder()
        tables, found = [], []
        request = ExploreQuery(text=one.query.text, count=MAX_COUNT)
        for state in explore(engine, request, judge=recorder):
            papers = [p for p in state.papers[:JUDGED] if p.work.id in recorder.rows]
            tables.append(np.array([recorder.rows[p.work.id] for p in papers]))
            found.append(
                np.array([
                    max(number.get(work.id, -1) for work in (p.work, *p.editions)) for p in papers
                ])
            )  # fmt: skip
        out.append(SearchPasses(one.id, len(right), tuple(tables), tuple(found)))
    return out


def fit_judge(searches: Sequence[SearchPasses]) -> NDArray[np.float64]:
    """Logistic weights of `NAMES`, over the lists after every pass."""
    tables = [table for one in searches for table in one.tables if len(table)]
    right = [own >= 0 for one in searches for own in one.right if len(own)]
    return logistic(np.concatenate(tables), np.concatenate(right).astype(np.float64))


def choose_cut(searches: Sequence[SearchPasses]) -> tuple[float, dict[float, tuple[float, ...]]]:
    """The cut, and by cut the mean precision, recall and F1 of the last lists, by weights that were
    fitted without the question's fold. Only questions with answers in the library count."""
    folds = [fit_judge([one for one in searches if fold_of(one.id) != n]) for n in range(FOLDS)]
    figures: dict[float, tuple[float, ...]] = {}
    for cut in CUTS:
        scores = []
        for one in searches:
            if not one.answers:
                continue
            table, right = one.tables[-1], one.right[-1]
            chance = 1 / (1 + np.exp(-table @ folds[fold_of(one.id)])) if len(table) else table
            own = right[chance >= cut]
            ranks = range(1, len(set(own[own >= 0].tolist())) + 1)
            scores.append(set_scores(ranks, len(own), one.answers))
        figures[cut] = tuple(float(value) for value in np.mean(scores, axis=0))
    best = max(f1 for _, _, f1 in figures.values())
    return min(cut for cut, (_, _, f1) in figures.items() if f1 >= best - SLACK), figures


__all__ = ["NAMES", "SearchPasses", "choose_cut", "fit_judge", "search_all"]
