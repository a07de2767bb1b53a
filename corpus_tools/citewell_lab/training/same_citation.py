"""Measures the next paper of a citation of several: with what the first one says, and without.

    python -m citewell_lab.training.same_citation --data DATA --library LIBRARY [--test]

Of each citation of the tuning part that has several papers of the library, the first one is given,
and the others are searched for. The weights are chosen by cross-validation over papers. With
`--test` it is the test part, with the weights that ship. Cold, the
first paper is all that is known of the citing paper's references; warm, the others are known, too.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.local import RANKER, TYPED, LocalEngine
from citewell.model import Query, Question
from citewell.model.query import Reference
from citewell.ranking.contract import Ordering, Signals
from citewell.ranking.features import FeatureInputs
from citewell.ranking.learned import WEIGHTS, LearnedRanker, same_citation
from citewell_lab.datasets import open_data
from citewell_lab.evaluation.matching import Gold
from citewell_lab.training.data import citation_part, fraction, open_library
from citewell_lab.training.figures import by_paper, gains, tuning_citations

FOLDS = 5
GRID = tuple(itertools.product((0.0, 1.0, 2.0, 3.0, 4.0, 6.0), (0.0, 4.0, 8.0, 12.0, 16.0, 20.0)))
"""Weights of co-citation and of nearness."""


class SameCitationRecorder(LearnedRanker):
    """The ranker, which also keeps the scores and what the citation's other works say."""

    rows = np.zeros(0, np.int64)
    scores = np.zeros(0, np.float32)
    inputs: NDArray[np.float32] | None = None

    def _order_sentence(
        self,
        query: Query,
        known: FeatureInputs,
        table: NDArray[np.float32],
        scores: NDArray[np.float32],
        signals: Signals,
    ) -> Ordering:
        self.rows, self.scores = known.rows, scores.copy()
        self.inputs = same_citation(query, known.rows, known.vectors, signals)
        return super()._order_sentence(query, known, table, scores, signals)


class SameCitationCandidates(msgspec.Struct):
    """The candidates for the other papers of one citation."""

    paper: str
    scores: NDArray[np.float32]
    inputs: NDArray[np.float32]
    """Shape (n, 2)."""
    members: list[NDArray[np.bool_]]
    """Masks of the candidates that are each of the other papers."""

    def ranks(self, weights: tuple[float, float]) -> list[float]:
        """The rank of each of the others, which do not count against each other."""
        scores = self.scores + self.inputs @ np.array(weights, np.float32)
        wrong = scores[~np.any(self.members, axis=0)]
        return [
            float(1 + (wrong >= scores[member].max()).sum()) if member.any() else np.inf
            for member in self.members
        ]


def citations(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """The questions of each citation of several papers."""
    groups: dict[tuple[str, str, frozenset[str]], list[Question]] = defaultdict(list)
    for question in questions:
        if question.beside:
            titles = [title for target in question.beside for title in target.titles[:1]]
            members = frozenset((*question.gold_titles[:1], *titles))
            groups[question.paper, question.query.sentence, members].append(question)
    yield from (group for group in groups.values() if len(group) > 1)


def candidates(
    engine: LocalEngine,
    recorder: SameCitationRecorder,
    library: Library,
    gold: Gold,
    group: list[Question],
) -> Iterator[tuple[str, SameCitationCandidates]]:
    """Those of one citation: with nothing given, and with its first paper given, cold and warm."""
    held: list[tuple[Question, frozenset[str]]] = []
    for question in group:
        ids = gold.of(question)
        if ids and not any(ids[0] & other for _, other in held):
            held.append((question, ids[0]))
    if len(held) < 2:
        return
    target, query = held[0][0].targets[0], held[0][0].query
    titles = {title for question in group for title in question.gold_titles}
    known = tuple(one for one in query.paper.references if one.title not in titles)
    near = tuple(title for title in query.nearby if title not in titles)
    first = Reference(target.titles[0], target.authors, target.year)
    for setting, references, nearby in (("cold", (), ()), ("warm", known, near)):
        for given in (False, True):
            wanted = replace(
                query,
                paper=replace(query.paper, references=(*references, *((first,) * given))),
                nearby=(*((first.title,) * given), *nearby),
                present=(first.title,) if given else (),
            )
            engine.find(wanted, 20)
            inputs = recorder.inputs
            if inputs is None:
                inputs = np.zeros((len(recorder.rows), 2), np.float32)
            members = [np.isin(recorder.rows, library.rows_of(sorted(ids))) for _, ids in held[1:]]
            name = f"{setting}, first given" if given else setting
            yield name, SameCitationCandidates(held[0][0].paper, recorder.scores, inputs, members)


def cross_validated(
    lists: Sequence[SameCitationCandidates],
) -> tuple[list[float], list[tuple[float, float]]]:
    """Ranks with weights chosen on the papers of the other folds, and the weights of each fold."""
    folds = np.array([int(fraction(one.paper, "same-citation") * FOLDS) for one in lists])
    ranks = [[one.ranks(weights) for weights in GRID] for one in lists]
    quality = np.array([[np.mean(1 / np.array(found)) for found in row] for row in ranks])
    chosen = [int(quality[folds != fold].mean(axis=0).argmax()) for fold in range(FOLDS)]
    out = [rank for row, fold in zip(ranks, folds, strict=True) for rank in row[chosen[fold]]]
    return out, [GRID[one] for one in chosen]


def as_shipped(
    lists: Sequence[SameCitationCandidates],
) -> tuple[list[float], list[tuple[float, float]]]:
    """Ranks with the weights that ship, and the weights."""
    return [rank for one in lists for rank in one.ranks(WEIGHTS)], [WEIGHTS]


def questions_for_test(data: Path) -> list[Question]:
    """Clean citations of the test part."""
    found = open_data(data / "contexts" / "dev.jsonl.gz").questions
    return [one for one in found if "clean" in one.tags and citation_part(one) == "test"]


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--test", is_flag=True, help="The test part, with the weights that ship.")
def main(data: Path, library: Path, *, test: bool) -> None:
    """Print recall, MRR and the gains, with intervals over papers, as JSON."""
    groups = list(citations(questions_for_test(data) if test else tuning_citations(data)))
    recorder = SameCitationRecorder(RANKER, TYPED)
    engine = open_library(library, recorder)
    gold = Gold(engine, [question for group in groups for question in group])
    lists: dict[str, list[SameCitationCandidates]] = defaultdict(list)
    with Library.open(library) as held:
        for group in groups:
            for name, one in candidates(engine, recorder, held, gold, group):
                lists[name].append(one)
    engine.close()
    papers = [one.paper for one in lists["cold"] for _ in one.members]
    for name, rows in lists.items():
        before = [rank for one in rows for rank in one.ranks((0.0, 0.0))]
        click.echo(json.dumps({name: by_paper(np.array(before), papers)}))
        if name.endswith("given"):
            after, weights = as_shipped(rows) if test else cross_validated(rows)
            figures = by_paper(np.array(after), papers)
            gain = gains(np.array(before), np.array(after), papers)
            click.echo(json.dumps({f"{name}, used": figures, "gain": gain, "weights": weights}))


if __name__ == "__main__":
    main()
