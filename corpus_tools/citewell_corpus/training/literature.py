"""Trains the order of literature questions:
`python -m citewell_corpus.training.literature --library FOLDER/NAME --data ../shared/data`.

The training and tuning parts of AutoScholarQuery are asked of the engine over a library of the
corpora. Five-fold cross-validation over the questions gives the figures and the scores that the
calibration is fitted on; the weights are then fitted on all of them. The test part is not read.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from citewell.corpus.library import Library
from citewell.engine.local import LITERATURE
from citewell.ranking.literature import NAMES
from citewell_corpus.training.literature_order import (
    Recorder,
    calibrate,
    fit_order,
    open_library,
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
    """Ask the questions, fit the weights and calibrate them."""
    recorder = Recorder()
    engine = open_library(library, recorder)
    with Library.open(library) as held:
        tables = tabulate(engine, recorder, held, questions_of(data, ("train", "valid")))
    engine.close()
    scores = out_of_fold(tables)
    heads = [np.asarray(one.head, np.float64) for one in tables]
    for k in DEPTHS:
        own, other = recall(tables, scores, k), recall(tables, heads, k)
        click.echo(f"recall@{k}: {own:.3f}, by the head's score alone {other:.3f}")
    order = fit_order(tables)
    for name, weight in zip((*NAMES, "head"), order, strict=True):
        click.echo(f"{name}: {weight:+.3f}")
    np.savez_compressed(
        into / LITERATURE.name,
        names=np.array(NAMES),
        order=order,
        calibration=calibrate(tables, scores),
    )


if __name__ == "__main__":
    main()
