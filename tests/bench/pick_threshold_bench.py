"""Which `llm.pick_threshold` suits which model: choices drawn over real lists and confidences.

    python tests/bench/pick_threshold_bench.py --library FOLDER/NAME [--limit 300]

No language model is asked. For citing sentences of the dev contexts (also those whose paper the
library lacks) the engine finds eight papers and says how sure it is of each. A model is described by
two shares: how often it chooses the right paper where it sees it, and how often it says "none" where
it does not. Its other choices fall on wrong papers in proportion to the ranker's confidence, so that
they look plausible. Thresholds are compared on the valid split, and reported on the test split.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.cli.evaluation.questions import read, select
from citewell.options import Options
from citewell.options.merge import load
from citewell_lab.evaluation.evaluate import open_engine
from citewell_lab.evaluation.matching import Gold
from citewell_lab.evaluation.runner import query_for
from citewell_lab.tuning.threshold import GRID

SHOWN = 8
MODELS = (
    ("perfect", 1.0, 1.0), ("strong", 0.8, 0.7), ("middling", 0.6, 0.4), ("weak", 0.4, 0.1),
    ("blind", 0.125, 0.0),
)  # fmt: skip


def lists(
    options: Options, split: str, limit: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Confidence and rightness of the papers shown; shape (questions, SHOWN)."""
    questions, _ = select(read("dev", ""), split, False)
    questions = random.Random(0).sample(questions, min(limit, len(questions)))
    engine = open_engine(options)
    try:
        gold = Gold(engine, questions)
        queries = [query_for(question, "cold") for question in questions]
        found = engine.find_batch(queries, SHOWN, explained=0)
    finally:
        engine.close()
    sure, right = [], []
    for question, result in zip(questions, found, strict=True):
        if len(result.hits) < SHOWN:
            continue
        ids = frozenset(one for answers in gold.of(question) for one in answers)
        sure.append([hit.confidence or 0.0 for hit in result.hits])
        right.append([hit.work.id in ids for hit in result.hits])
    return np.array(sure), np.array(right, np.bool_)


def worth(
    sure: NDArray[np.float64],
    right: NDArray[np.bool_],
    model: tuple[float, float],
    threshold: float,
    least: float,
) -> float:
    """Expected worth of a passage by the count of `citewell_lab.tuning.threshold`."""
    hits, refuses = model
    shown = right.any(axis=1)
    wrong = np.where(right, 0.0, np.maximum(sure, 1e-6))
    wrong /= wrong.sum(axis=1, keepdims=True)
    of_right = right / np.maximum(right.sum(axis=1, keepdims=True), 1)
    # Of what it misses, half is "none" as often as where the paper is not shown.
    errs = np.where(shown, (1 - hits) * (1 - refuses / 2), 1 - refuses)
    taken = sure >= threshold
    gained = (of_right * taken).sum(axis=1) * np.where(shown, hits, 0.0) * (1 - least)
    lost = (wrong * taken).sum(axis=1) * errs * least
    return float((gained - lost).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300)
    args = parser.parse_args()
    options = load().options
    library = replace(options.library, path=args.library.absolute().parent, name=args.library.name)
    options = replace(options, library=library)
    least = options.fill.threshold
    valid, test = (lists(options, split, args.limit) for split in ("valid", "test"))
    for name, (sure, right) in (("valid", valid), ("test", test)):
        first = sure[:, 0] >= least
        alone = float(np.where(first, np.where(right[:, 0], 1 - least, -least), 0.0).mean())
        print(
            f"{name}: {len(sure)} passages, right paper shown in {right.any(axis=1).mean():.3f}; "
            f"the ranker alone fills {first.mean():.3f} and is worth {alone:+.4f}"
        )
    grid = [one for one in GRID if one < least] + [least]
    usual = [(shares[0], shares[1]) for _, *shares in MODELS[1:4]]
    of_valid = np.array([[worth(*valid, model, one, least) for one in grid] for model in usual])
    lost = (of_valid.max(axis=1, keepdims=True) - of_valid).max(axis=0)
    print("valid: what each threshold loses at most against the best one for the model")
    print("  strong, middling or weak: " + "".join(f"{one:>8g}" for one in grid))
    print(f"{'':28}" + "".join(f"{one:8.3f}" for one in lost))
    for name, part in (("valid", valid), ("test", test)):
        print(f"{name}: worth by threshold")
        print(f"{'':26}" + "".join(f"{one:>8g}" for one in grid))
        for model, *shares in MODELS:
            row = [worth(*part, (shares[0], shares[1]), one, least) for one in grid]
            print(f"{model:10}{shares!s:16}" + "".join(f"{one:+8.3f}" for one in row))


if __name__ == "__main__":
    main()
