"""Fits the probability that an undefined key means the paper found for it.

    python -m citewell_corpus.training.undefined_keys --data ../shared/data --library LIBRARY

Takes keys of real papers as if their entries were gone, with the keys of the library's own records
hidden. Each counts twice: as it is, and without the cited paper, as if the library lacked it.
Prints the weights for `citewell.features.citing.undefined_key`, fitted on the training and tuning
parts, and what the landed and the fitted weights give on the test part. The confidence of the
ranker is one of the inputs: new weights of the ranker need a new fit.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.engine.local import LocalEngine
from citewell.features.citing.key_meaning import read_key
from citewell.features.citing.undefined_key import (
    FEATURES,
    LIKELY,
    SURE,
    decide,
    features,
    probability,
    questions,
    ranked,
)
from citewell.model import Hit, Query
from citewell.model.query import CitingPaper
from citewell.model.titles import title_key
from citewell.options import Options
from citewell_corpus.training.ridge import ridge_logistic
from citewell_corpus.training.split import dev_part, fraction

RIDGE = 0.2
_IDENTIFIER = FEATURES.index("identifier")


class Case(msgspec.Struct):
    """The best paper for one key."""

    inputs: tuple[float, ...]
    right: bool
    """Whether it is the cited one."""
    is_held: bool
    """Whether the cited paper could be found."""
    rivals: bool
    is_test: bool


def cases(engine: LocalEngine, rows: Sequence[dict[str, Any]]) -> Iterator[Case]:
    """Two of each key, where anything is found for it."""
    for row in rows:
        meaning = read_key(row["key"])
        context = Query(
            sentence=row["sentence"],
            before=tuple(row["context_before_list"][-3:]),
            paper=CitingPaper(title=row["source_title"] or ""),
        )
        cited = {row["gold_id"], *(row.get("gold_alt_ids") or ())}
        title = title_key(row["gold_title"])

        def is_right(hit: Hit, cited: set[str] = cited, title: str = title) -> bool:
            return hit.work.id in cited or title_key(hit.work.title) == title

        queries = questions(meaning, context)
        lists = [[_without_key(hit) for hit in engine.find(q, k).hits] for q, k in queries]
        lacking = [[hit for hit in hits if not is_right(hit)] for hits in lists]
        for found in (lists, lacking):
            candidates = ranked(meaning, (), found)
            decided = decide(meaning, (), found)
            if not candidates or decided.work is None:
                continue
            best, *others = candidates
            others = [c for c in others if title_key(c.work.title) != title_key(best.work.title)]
            yield Case(
                features(meaning, best, others),
                best.work.id in cited or title_key(best.work.title) == title,
                found is lists and any(is_right(hit) for hits in lists for hit in hits),
                bool(decided.rivals),
                dev_part(row["source_repo"]) == "test",
            )


def fit(found: Sequence[Case]) -> NDArray[np.float64]:
    """The intercept and a weight for each of `FEATURES`."""
    inputs = np.array([(1.0, *one.inputs) for one in found])
    return ridge_logistic(inputs, np.array([one.right for one in found]), RIDGE)


def outcome(found: Sequence[Case], chances: NDArray[np.float64]) -> dict[str, str]:
    """Per threshold: of the keys whose paper could be found how many are right and wrong, and of
    the others how many name a paper."""
    right = np.array([one.right for one in found])
    held = np.array([one.is_held for one in found])
    alone = np.array([not one.rivals for one in found])
    rows = {}
    for name, taken in (
        ("likely", chances >= LIKELY),
        ("sure", (chances >= SURE) & alone),
    ):
        rows[name] = (
            f"{(taken & held & right).sum()} right and {(taken & held & ~right).sum()} wrong of "
            f"{held.sum()}, {(taken & ~held).sum()} of {(~held).sum()} that are not there"
        )
    return rows


def _without_key(hit: Hit) -> Hit:
    """The hit without the key that its source uses."""
    return replace(hit, work=replace(hit.work, bibkey=""))


def _rows(data: Path, most: int) -> list[dict[str, Any]]:
    """The first citation of each key of each paper of `contexts/dev`."""
    path = data / "contexts" / "dev.jsonl.gz"
    first: dict[tuple[str, str], dict[str, Any]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            first.setdefault((row["source_repo"], row["key"]), row)
    names = sorted(first, key=lambda name: fraction(":".join(name), "undefined"))
    return [first[name] for name in names[:most]]


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--most", type=int, default=3000, help="Keys.")
def main(data: Path, library: Path, most: int) -> None:
    """Print the weights, and the outcome with the landed and the fitted ones, as JSON."""
    options = Options()
    options = replace(
        options,
        library=replace(options.library, path=library.parent, name=library.name, starter=False),
        learning=replace(options.learning, enabled=False),
    )
    engine = LocalEngine.open(options)
    found = [one for one in cases(engine, _rows(data, most)) if not one.inputs[_IDENTIFIER]]
    engine.close()
    test = [one for one in found if one.is_test]
    weights = fit([one for one in found if not one.is_test])
    click.echo(json.dumps({"weights": np.round(weights, 2).tolist()}))
    inputs = np.array([(1.0, *one.inputs) for one in test])
    landed = np.array([probability(one.inputs) for one in test])
    click.echo(json.dumps({"landed": outcome(test, landed)}))
    fitted = 1 / (1 + np.exp(-(inputs @ weights)))
    click.echo(json.dumps({"fitted": outcome(test, fitted)}))


if __name__ == "__main__":
    main()
