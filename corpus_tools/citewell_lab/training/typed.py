"""Trains the order and the confidence of typed words:
`python -m citewell_lab.training.typed --library FOLDER/NAME --data ../shared/data`.

The words are derived from real citations (`datasets.typed`), one or two kinds of each, alone or in
their sentence, cold or warm, and asked of the engine over a library of the corpora. The training
part of the split fits the trees, the tuning part the calibration and the thresholds.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import read_aliases
from citewell.corpus.columns import title_key
from citewell.corpus.library import Library
from citewell.engine.local import RANKER, TYPED, LocalEngine
from citewell.model import CitingPaper, Query, Question, Work
from citewell.model.cancel import Cancel
from citewell.ranking.contract import Candidates, Ordering, Signals
from citewell.ranking.features import places
from citewell.ranking.identity import Bounds
from citewell.ranking.learned import LearnedRanker
from citewell.ranking.trees import Trees, from_lightgbm
from citewell.ranking.typed import calibration_inputs, hopeful, read_trees, typed_scores
from citewell.ranking.typed_features import FALLING, FIRST, NAMES, RISING, TITLE_SHARE
from citewell.retrieval.opening import ALIASES
from citewell_lab.datasets import open_data
from citewell_lab.datasets.typed import KINDS, TAG, typed_questions
from citewell_lab.training.data import citation_part, fraction, open_library
from citewell_lab.training.figures import ridge_logistic, tuning_citations

WAYS = (
    ("alone", "cold"), ("alone", "warm"), ("sentence", "cold"), ("sentence", "warm"),
    ("elsewhere", "cold"),
)  # fmt: skip
"""Elsewhere: in a sentence that cites another paper. An author who types means what is typed, also
where the sentence says something else."""
ALIAS = "alias"
"""A kind for training alone: a name by which others cite the paper, from the table of aliases."""
RARE = ("acronym", "called", ALIAS)
"""Kinds of which every question is asked."""
MORE = 6
"""Factor by which those are asked more often in tuning."""
PER_GOLD, PER_PAPER = 3, 25


class TypedQuestion(msgspec.Struct, frozen=True):
    query: Query
    gold: tuple[str, ...]
    """Empty where the right answer is none."""
    kind: str
    paper: str
    way: tuple[str, str]


def _ask(
    question: Question,
    way: tuple[str, str],
    library: Library,
    others: Sequence[Question],
) -> TypedQuestion:
    """The citing paper keeps its title: by it the priors leave out what it cites itself.
    One of `others` gives the sentence where it is to be another."""
    query, (place, setting) = question.query, way
    if place == "elsewhere":
        other = others[int(fraction(question.id, "elsewhere") * len(others))].query
        query = msgspec.structs.replace(
            query, sentence=other.sentence, before=other.before, after=other.after, nearby=()
        )
    if place == "alone":
        query = Query(text=query.text, paper=query.paper, exclude=query.exclude)
    if setting == "cold":
        paper = CitingPaper(title=query.paper.title, key=query.paper.key)
        query = msgspec.structs.replace(query, paper=paper, nearby=())
    held = "left-out" not in question.tags and bool((library.rows_of(question.gold) >= 0).any())
    kind = next(t.removeprefix("typed:") for t in question.tags if t.startswith("typed:"))
    return TypedQuestion(query, question.gold if held else (), kind, question.paper, way)


def training_questions(data: Path, library: Library, most: int) -> list[TypedQuestion]:
    """Citations of the training part: few of one cited paper and of one citing paper."""
    found: list[Question] = []
    for name in ("dev", "train"):
        questions = open_data(data / "contexts" / f"{name}.jsonl.gz").questions
        questions = tuple(q for q in questions if name == "train" or citation_part(q) == "train")
        found += _thinned(questions, most // 3 if name == "dev" else most - most // 3)
    selected = []
    typed = [*typed_questions(found, _records(found, library)), *alias_questions(found)]
    for question in typed:
        # One kind in five of each citation, in a way of its own; few have a system's name.
        kind = question.tags[-1].removeprefix("typed:")
        if kind in RARE or fraction(question.id, "kept") < 0.2:
            way = WAYS[int(fraction(question.id, "way") * len(WAYS))]
            one = _ask(question, way, library, found)
            if one.gold:
                selected.append(one)
    return selected


def tuning_questions(data: Path, library: Library, share: float) -> list[TypedQuestion]:
    """Citations of the papers that tune with and without an answer, each kind in each way."""
    chosen = tuning_citations(data)
    selected = []
    typed = [*typed_questions(chosen, _records(chosen, library)), *alias_questions(chosen)]
    for question in typed:
        kind = question.tags[-1].removeprefix(TAG)
        most = 1.0 if kind == ALIAS else MORE * share if kind in RARE else share
        for way in WAYS:
            if fraction(f"{question.id}:{way}", "asked") < most:
                selected.append(_ask(question, way, library, chosen))
    return selected


def alias_questions(questions: Sequence[Question]) -> list[Question]:
    """The questions with one of the names typed by which others cite the paper, where there is
    one; also of papers that the library lacks."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, works in read_aliases(ALIASES).items():
        for work in works:
            names[work.key].append(name)
    found = []
    for question in questions:
        title = question.targets[0].titles[0] if question.targets[0].titles else ""
        called = sorted(names.get(title_key(title), ()))
        if called:
            name = called[int(fraction(question.id, "called") * len(called))]
            query = msgspec.structs.replace(question.query, text=name)
            tags = (*question.tags, f"{TAG}{ALIAS}")
            id_ = f"{question.id}:{ALIAS}"
            found.append(msgspec.structs.replace(question, id=id_, query=query, tags=tags))
    return found


def _thinned(questions: Iterable[Question], most: int) -> list[Question]:
    kept: list[Question] = []
    golds: Counter[str] = Counter()
    papers: Counter[str] = Counter()
    for question in sorted(questions, key=lambda q: fraction(q.id, "typed")):
        if not question.gold or "clean" not in question.tags or len(kept) >= most:
            continue
        old = (question.targets[0].year or 2020) < 2013
        cap = 1 if old else PER_GOLD
        if golds[question.gold[0]] < cap and papers[question.paper] < PER_PAPER:
            golds[question.gold[0]] += 1
            papers[question.paper] += 1
            kept.append(question)
    return kept


def _records(questions: Sequence[Question], library: Library) -> dict[str, Work]:
    found = {}
    for question in questions:
        rows = library.rows_of(question.gold)
        rows = rows[rows >= 0]
        if len(rows):
            found[question.id] = library.works(rows[:1])[0]
    return found


ROUNDS = 80
SETTINGS: dict[str, Any] = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "max_depth": 4,
    "learning_rate": 0.1,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "lambdarank_truncation_level": 20,
    "max_bin": 127,
    "verbose": -1,
    "seed": 0,
    "deterministic": True,
    "monotone_constraints_method": "intermediate",
    "monotone_constraints": [(n in RISING) - (n in FALLING) for n in NAMES],
}
CALIBRATED = 3
"""First papers of each question that the calibration is fitted on."""
RIDGE = 3.0
SHORT = (1, 3, 12)
"""Lengths of the short lists."""
SHORT_SHARE = 0.5
FOLDS = 3
_BATCH = 8


class TypedTable(msgspec.Struct, frozen=True):
    """Candidates of many questions end to end: question i has `size[i]` rows."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]
    size: NDArray[np.int64]
    held: NDArray[np.bool_]
    kinds: tuple[str, ...]
    papers: tuple[str, ...]
    ways: tuple[tuple[str, str], ...]


class TypedRecorder(LearnedRanker):
    """Keeps what the ranker would have ordered by."""

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        """The order in which they came."""
        self.rows = candidates.rows
        self.table = np.zeros((0, len(NAMES)), np.float32)
        return super().rank(query, candidates, signals, cancel)

    def _order_typed(self, table: NDArray[np.float32], trusted: Bounds) -> Ordering:
        self.table = table
        return Ordering(np.arange(len(table)), np.zeros(len(table), np.float32))


def tabulate(
    engine: LocalEngine,
    recorder: TypedRecorder,
    library: Library,
    questions: Sequence[TypedQuestion],
    label: str,
) -> TypedTable:
    """Every question's candidates with their features, the hopeless ones left out."""
    tables, right = [], []
    for number, one in enumerate(questions):
        engine.find_batch([one.query], 1, explained=0)
        gold = library.rows_of(one.gold)
        answers = np.isin(recorder.rows[: len(recorder.table)], gold[gold >= 0])
        keep = answers.copy()
        keep[hopeful(recorder.table)] = True
        tables.append(recorder.table[keep])
        right.append(answers[keep])
        if number % 250 == 249:
            found = np.mean([r.any() for r, a in zip(right, questions, strict=False) if a.gold])
            click.echo(f"{label}: {number + 1} of {len(questions)}, found {found:.3f}", err=True)
    return TypedTable(
        np.concatenate(tables),
        np.concatenate(right),
        np.array([len(t) for t in tables], np.int64),
        np.array([bool(one.gold) for one in questions]),
        tuple(one.kind for one in questions),
        tuple(one.paper for one in questions),
        tuple(one.way for one in questions),
    )


def fit(table: TypedTable, threads: int = 1, rounds: int = ROUNDS) -> Trees:
    """The trees, fitted on every question that has a right candidate."""
    import lightgbm

    chosen = [(b, e) for b, e in _runs(table) if table.right[b:e].any()]
    data = lightgbm.Dataset(
        np.concatenate([table.features[b:e] for b, e in chosen]),
        np.concatenate([table.right[b:e] for b, e in chosen]).astype(int),
        group=[e - b for b, e in chosen],
        feature_name=list(NAMES),
    )
    model = lightgbm.train({**SETTINGS, "num_threads": threads}, data, rounds)
    return from_lightgbm(model.dump_model())


def calibrate(trees: Trees, *tables: TypedTable) -> NDArray[np.float64]:
    """Logistic weights for the confidence of a question's best, unanswerable ones included, from
    whole lists, or from these and short ones (`short_lists`)."""
    inputs: list[NDArray[np.float64]] = []
    right: list[NDArray[np.bool_]] = []
    for one in tables:
        for begin, end in _runs(one):
            own = one.features[begin:end]
            scores = typed_scores(trees, own)
            best = np.argsort(-scores, kind="stable")[:CALIBRATED]
            inputs.append(calibration_inputs(scores, own)[best])
            right.append(one.right[begin:end][best])
    return ridge_logistic(np.concatenate(inputs), np.concatenate(right), RIDGE)


def short_lists(table: TypedTable) -> TypedTable:
    """Lists of a few of the candidates of every second question, as a small library would give
    them; half of those with an answer keep it."""
    random = np.random.default_rng(0)
    features: list[NDArray[np.float32]] = []
    right: list[NDArray[np.bool_]] = []
    number: list[int] = []
    for at, (begin, end) in enumerate(_runs(table)):
        for size in SHORT if random.random() < SHORT_SHARE else ():
            chosen = random.permutation(end - begin)[:size]
            if table.right[begin:end].any() and random.random() < 0.5:
                answer = np.flatnonzero(table.right[begin:end])[:1]
                chosen = np.unique(np.concatenate([answer, chosen[: size - 1]]))
            features.append(among(table.features[begin:end][chosen]))
            right.append(table.right[begin:end][chosen])
            number.append(at)
    return TypedTable(
        np.concatenate(features),
        np.concatenate(right),
        np.array([len(one) for one in right], np.int64),
        np.array([bool(one.any()) for one in right]),
        tuple(table.kinds[at] for at in number),
        tuple(table.papers[at] for at in number),
        tuple(table.ways[at] for at in number),
    )


def among(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """The features of some candidates as they are if there are no others."""
    out = features.copy()

    def column(name: str) -> NDArray[np.float32]:
        return features[:, NAMES.index(name)]

    def put(name: str, values: NDArray[np.float32]) -> None:
        out[:, NAMES.index(name)] = values

    put("bm25_share", column("bm25_share") / max(float(column("bm25_share").max()), 1e-6))
    put("bm25_rank", places(column("bm25_share")))
    for name in ("likeness", "head"):
        put(f"{name}_gap", column(name) - column(name).max())
        put(f"{name}_rank", places(column(name)))
    fit = column("typed_explained") + TITLE_SHARE * column("title_covered")
    put("explained_rank", places(fit + FIRST * (column("first_author") > 0)))
    return out


def cross_validated(trees: Trees, table: TypedTable) -> dict[str, Any]:
    """`figures` where each paper's questions are judged by a calibration from other papers."""
    short = short_lists(table)
    first, ten = np.zeros(len(table.size), np.bool_), np.zeros(len(table.size), np.bool_)
    sure = np.zeros(len(table.size))
    runs = list(_runs(table))
    for fold in range(FOLDS):
        weights = calibrate(trees, _of_folds(table, fold), _of_folds(short, fold))
        for number in np.flatnonzero(_folds(table) == fold).tolist():
            begin, end = runs[number]
            own, right = table.features[begin:end], table.right[begin:end]
            first[number], ten[number], sure[number] = _judged(trees, weights, own, right)
    return figures(table, first, ten, sure)


def _folds(table: TypedTable) -> NDArray[np.int64]:
    return np.array([int(fraction(paper, "typed") * FOLDS) for paper in table.papers])


def _of_folds(table: TypedTable, without: int) -> TypedTable:
    """The questions of the papers of all folds but one."""
    keep = _folds(table) != without
    rows = np.repeat(keep, table.size)

    def of(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value for value, kept in zip(values, keep, strict=True) if kept)

    return TypedTable(
        table.features[rows], table.right[rows], table.size[keep], table.held[keep],
        of(table.kinds), of(table.papers), of(table.ways),
    )  # fmt: skip


def _runs(table: TypedTable) -> Iterator[tuple[int, int]]:
    yield from pairwise(np.concatenate([[0], np.cumsum(table.size)]).tolist())


def _judged(
    trees: Trees,
    calibration: NDArray[np.float64],
    own: NDArray[np.float32],
    right: NDArray[np.bool_],
) -> tuple[bool, bool, float]:
    """Whether the first of a question's papers is right, one of the first ten, and how sure."""
    scores = typed_scores(trees, own)
    order = np.argsort(-scores, kind="stable")
    if not len(order):
        return False, False, 0.0
    odds = float(calibration_inputs(scores, own)[order[0]] @ calibration)
    sure = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
    return bool(right[order[0]]), bool(right[order[:10]].any()), float(sure)


def figures(
    table: TypedTable, first: NDArray[np.bool_], ten: NDArray[np.bool_], sure: NDArray[np.float64]
) -> dict[str, Any]:
    """By kind and place: recall at 1 and 10; by threshold: precision and coverage."""
    out: dict[str, Any] = {}
    kinds, places = np.array(table.kinds), np.array([place for place, _ in table.ways])
    for kind in (*KINDS, ALIAS, "all"):
        for place in ("alone", "sentence", "elsewhere"):
            held = table.held & (places == place) & ((kinds == kind) | (kind == "all"))
            if held.any():
                one = {"n": int(held.sum()), "R@1": first[held].mean(), "R@10": ten[held].mean()}
                out[f"{kind}, {place}"] = {k: round(float(v), 3) for k, v in one.items()}
    for least in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9):
        filled = sure >= least
        out[f"fill from {least}"] = {
            "precision": round(float(first[filled].mean()), 3),
            "coverage": round(float((first & filled).sum() / table.held.sum()), 3),
        }
    return out


def save(
    trees: Trees, calibration: NDArray[np.float64], short: NDArray[np.float64], path: Path
) -> None:
    """Writes `typed.npz`."""
    np.savez_compressed(
        path,
        feature=trees.feature,
        threshold=trees.threshold,
        leaf=trees.leaf,
        calibration=calibration,
        short_calibration=short,
        names=np.array(NAMES),
    )


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--library", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
@click.option("--questions", default=1800, help="Training citations at most.")
@click.option("--share", default=0.25, help="Of the tuning part's questions that is asked.")
@click.option("--threads", default=1)
@click.option("--keep-trees", is_flag=True, help="Fit the calibration of short lists alone.")
def main(
    data: Path,
    library: Path,
    into: Path,
    *,
    questions: int,
    share: float,
    threads: int,
    keep_trees: bool,
) -> None:
    """Derive the words, ask them, train the trees and calibrate them."""
    recorder = TypedRecorder(RANKER, TYPED)
    engine = open_library(library, recorder)
    with Library.open(library) as held:
        tune = tabulate(engine, recorder, held, tuning_questions(data, held, share), "tune")
        if keep_trees:
            trees, calibration = read_trees(into / TYPED.name)
        else:
            selected = training_questions(data, held, questions)
            trees = fit(tabulate(engine, recorder, held, selected, "train"), threads)
            calibration = calibrate(trees, tune)
    engine.close()
    short = calibrate(trees, tune, short_lists(tune))
    save(trees, calibration, short, into / TYPED.name)
    click.echo(json.dumps(cross_validated(trees, tune), indent=1))


if __name__ == "__main__":
    main()
