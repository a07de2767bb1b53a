"""Trains the order and the judge of literature questions:
`python -m citewell_lab.training.literature --library FOLDER/NAME --data ../shared/data`.

The training and tuning parts of AutoScholarQuery are asked of the engine over a library of the
corpora. Five-fold cross-validation over the questions gives the figures and the scores that the
calibration is fitted on; the weights are then fitted on all of them. Then each question is searched
in passes, by the weights of the other folds, for the judge and its cut. The test part is not read.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from citewell.corpus.library import Library
from citewell.engine.local import LITERATURE
from citewell.ranking.literature import NAMES, LiteratureModel
from citewell_lab.training.data import open_library
from citewell_lab.training.literature_judge import NAMES as JUDGE_NAMES
from citewell_lab.training.literature_judge import choose_cut, fit_judge, search_all
from citewell_lab.training.literature_order import (
    FOLDS,
    LiteratureRecorder,
    calibrate,
    fit_order,
    fold_of,
    out_of_fold,
    questions_of,
    recall,
    tabulate,
)

DEPTHS = (5, 20, 50, 100, 200)


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
def main(data: Path, library: Path, into: Path) -> None:
    """Ask the questions, fit the weights, calibrate them and choose the cut."""
    recorder = LiteratureRecorder()
    engine = open_library(library, recorder)
    with Library.open(library) as held:
        questions = questions_of(data, ("train", "valid"))
        tables = tabulate(engine, recorder, held, questions)
    scores = out_of_fold(tables)
    calibration = calibrate(tables, scores)
    models = [
        LiteratureModel(fit_order([one for one in tables if fold_of(one.id) != n]), calibration)
        for n in range(FOLDS)
    ]

    def set_order(identifier: str) -> None:
        recorder.model = models[fold_of(identifier)]

    searches = search_all(engine, questions, set_order)
    engine.close()
    heads = [np.asarray(one.head, np.float64) for one in tables]
    for k in DEPTHS:
        own, other = recall(tables, scores, k), recall(tables, heads, k)
        click.echo(f"recall@{k}: {own:.3f}, by the head's score alone {other:.3f}")
    order = fit_order(tables)
    for name, weight in zip((*NAMES, "head"), order, strict=True):
        click.echo(f"{name}: {weight:+.3f}")
    cut, figures = choose_cut(searches)
    for one, (precision, share, both) in figures.items():
        click.echo(f"cut {one:.2f}: precision {precision:.3f}, recall {share:.3f}, F1 {both:.3f}")
    click.echo(f"cut: {cut:.2f}")
    np.savez_compressed(
        into / LITERATURE.name,
        names=np.array(NAMES),
        order=order,
        calibration=calibration,
        judge_names=np.array(JUDGE_NAMES),
        judge=fit_judge(searches),
        cut=np.array(cut),
    )


if __name__ == "__main__":
    main()
