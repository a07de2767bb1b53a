"""A slice of the evaluation that fails on a regression: 300 real citations, 259,557 papers.

The library is built once and kept under `.cache`; its indexes are renewed when a builder or the
encoder changes. Everything is deterministic, so a floor may stand close below what was measured.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from citewell.options import Options
from citewell_corpus.processes import SilentProgress
from citewell_lab.evaluation import methods
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.methods import EvaluationPlan
from citewell_lab.evaluation.results import DataInfo, Evaluation
from citewell_lab.evaluation.typed import TypedFigures, lines_of

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
CORPORA = (DATA / "corpus" / "acl.jsonl.zst", DATA / "corpus" / "ml.jsonl.zst")
DEV = DATA / "contexts" / "dev.jsonl.gz"

QUESTIONS = 300
SEED = 1
FLOORS = {
    ("pipeline", "cold"): {"recall@10": 0.445, "recall@100": 0.670, "mrr": 0.295},
    ("pipeline", "warm"): {"recall@10": 0.465, "recall@100": 0.740, "mrr": 0.320},
    ("bm25", "cold"): {"recall@10": 0.225, "recall@100": 0.420, "mrr": 0.150},
    ("dense", "cold"): {"recall@10": 0.255, "recall@100": 0.510, "mrr": 0.140},
}
"""Method and setting -> metric -> least value, on the test split by repository."""

TYPED = 30
"""Citations into whose places words are typed; 41 more are of papers that the library lacks."""
TYPED_FLOORS = {
    "title, alone": 0.95,
    "title, sentence": 0.95,
    "typo, alone": 0.9,
    "words, sentence": 0.85,
    "author-word, alone": 0.55,
    "author-year, sentence": 0.55,
}
"""Kind and place -> least share of the papers that stand first."""
FILLED_RIGHT, FILLED, CALIBRATION = 0.85, 0.45, 0.08
"""Least precision and coverage of what `fill` writes, and most error of the confidence."""

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in (*CORPORA, DEV)),
    reason="needs ../shared/data/corpus and ../shared/data/contexts beside the checkout",
)


@pytest.fixture(scope="module")
def options() -> Options:
    from citewell_lab.datasets.cached_library import cached_library

    options = Options()
    folder, _ = cached_library(CORPORA, REPOSITORY / ".cache", options)
    library = replace(options.library, path=folder.parent, name=folder.name)
    learning = replace(options.learning, enabled=False)
    return replace(options, library=library, learning=learning)


@pytest.fixture(scope="module")
def evaluation(options: Options) -> Evaluation:
    from citewell.cli.evaluation.questions import select
    from citewell_lab.datasets import open_data

    questions, words = select(open_data(DEV), "test", every=False)
    plan = EvaluationPlan(
        methods=tuple(methods.named(["pipeline"], options)),
        limit=QUESTIONS,
        seed=SEED,
        latency_calls=0,
        abstain=False,
        misses=0,
        finds=0,
    )
    found = evaluate(questions, options, plan, DataInfo(name="dev", selection=words))
    parts = tuple(methods.named(["bm25", "dense"], options))
    plan = replace(plan, methods=parts, settings=("cold",))
    more = evaluate(questions, options, plan, DataInfo(name="dev", selection=words))
    return msgspec.structs.replace(found, runs=(*found.runs, *more.runs))


@pytest.mark.parametrize(("method", "setting"), list(FLOORS))
def test_no_metric_falls_below_its_floor(evaluation, method, setting):
    run = evaluation.run(method, setting)
    assert run is not None
    found = {name: run.figure(name).by_question.mean for name in FLOORS[method, setting]}
    low = {name: value for name, value in found.items() if value < FLOORS[method, setting][name]}
    assert not low, f"{method}, {setting}: {low} below {FLOORS[method, setting]}; all: {found}"


def test_three_hundred_questions_of_many_papers_were_asked(evaluation):
    held = [item for item in evaluation.items if item.held]
    assert len(held) == QUESTIONS
    assert len({item.paper for item in held}) >= 25


def test_every_offered_paper_is_in_the_library_and_no_retriever_was_left_out(evaluation):
    for run in evaluation.runs:
        assert run.emitted > 0
        assert run.unbacked == 0
        assert not run.dropped, run.problems


@pytest.fixture(scope="module")
def typed(options: Options) -> dict[str, TypedFigures]:
    """The figures of words typed into the placeholders of thirty citations, by kind."""
    return typed_lines(options, None)


def typed_lines(options: Options, half_typed: str | None) -> dict[str, TypedFigures]:
    from citewell.cli.evaluation.questions import select
    from citewell.cli.evaluation.tasks import evaluate_typed
    from citewell_lab.datasets import open_data

    questions, _ = select(open_data(DEV), "test", every=False)
    flags = {"limit": TYPED, "seed": SEED, "setting": "cold", "jobs": 1, "half_typed": half_typed}
    evaluation = evaluate_typed(questions, options, flags, SilentProgress())
    lines = lines_of(evaluation, options.fill.typed_threshold)
    return {f"{line.kind}, {line.place}": line for line in lines}


@pytest.mark.parametrize(("what", "floor"), list(TYPED_FLOORS.items()))
def test_typed_words_find_the_paper_that_they_name(typed, what, floor):
    line = typed[what]
    assert line.questions >= 10
    assert line.ranks["recall@1"].mean >= floor, line


@pytest.mark.nightly
def test_half_a_word_finds_what_the_whole_one_would(options):
    completed = typed_lines(options, "completed")
    as_typed = typed_lines(options, "as-typed")
    for place, floor in (("alone", 0.7), ("sentence", 0.8)):
        found = completed[f"all, {place}"].ranks["recall@5"].mean
        assert found >= floor
        assert found > as_typed[f"all, {place}"].ranks["recall@5"].mean + 0.02


def test_fill_writes_what_typed_words_make_sure_and_leaves_the_rest_open(typed):
    for place in ("alone", "sentence"):
        line = typed[f"all, {place}"]
        assert line.filled > 50
        assert line.precision.mean >= FILLED_RIGHT, line
        assert line.coverage.mean >= FILLED, line
        assert line.calibration_error <= CALIBRATION, line
