"""DSPy's optimizers over our programs. Imports DSPy when one is run.

An optimizer changes instructions and examples of a program, never the type of its answer: what it
makes stays in the closed world. The examples it is shown hold titles without abstracts, so that
several of them fit into one request.

- `bootstrap`: BootstrapFewShot (Khattab et al. 2024, DSPy), the program's own right answers as
  examples, and others by their labels.
- `mipro`: MIPROv2 (Opsahl-Ong et al. 2024), instructions and examples searched together.
- `gepa`: GEPA (Agrawal et al. 2025), instructions rewritten after a look at what went wrong.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from citewell.llm import texts
from citewell.llm.assistant import LanguageModel
from citewell.llm.texts import candidate_of, numbered, passage_of
from citewell.model import CitewellError, Problem
from citewell.model.installing import install_command
from citewell_lab.tuning import Optimizer, Tunable
from citewell_lab.tuning.examples import TuningExample
from citewell_lab.tuning.metric import rank_of

if TYPE_CHECKING:
    from citewell.llm.programs import Program

_LOUD = ("dspy", "gepa", "optuna")


class Effort(msgspec.Struct, frozen=True):
    """The effort that an optimizer may spend."""

    demos: int = 3
    """Examples in the prompt that the program answered rightly itself."""
    labelled: int = 2
    """Further ones, by their labels."""
    trials: int = 6
    """Versions that MIPROv2 tries, and full passes over the examples that GEPA may use."""


def optimize(
    optimizer: Optimizer,
    model: LanguageModel,
    module: Program,
    train: Sequence[TuningExample],
    *,
    effort: Effort,
    seed: int,
) -> Program:
    """A changed copy of the program, made with the training examples alone.

    Raises `CitewellError` with the code `tune-optimizer` when the optimizer breaks, as DSPy's do
    on models that answer nonsense, and `tune-missing` without what it needs.
    """
    if optimizer == "mipro" and find_spec("optuna") is None:
        raise CitewellError(
            Problem(
                "tune-missing",
                "MIPROv2 cannot run without the package optuna.",
                f"Run `{install_command('tune')}`, or choose another optimizer.",
            )
        )
    program: Any = module.name
    shown = [shown_of(program, example) for example in train]
    try:
        with _quiet(), model.context():
            made = _RUN[optimizer](module, shown, metric_of(program), effort, seed, model)
    except CitewellError:
        raise
    except Exception as error:  # optimizers and servers raise whatever they like
        raise CitewellError(
            Problem(
                "tune-optimizer",
                f"The optimizer {optimizer} failed ({type(error).__name__}).",
                "Try another one: a small model may be unable to write instructions.",
            )
        ) from error
    made.predict.demos = [_as_seen(demo) for demo in made.predict.demos]
    return made


def shown_of(program: Tunable, example: TuningExample) -> Any:
    """The `dspy.Example` of one of ours, with the right answer."""
    import dspy

    passage = passage_of(example.query)
    lines = [candidate_of(work, 0) for work in example.works]
    right = example.right[0]
    if program == "pick":
        answer: dict[str, object] = {
            "choice": str(right + 1),
            "reason": f"The author cited “{example.works[right].title}” there.",
        }
    else:
        others = [place for place in range(len(lines)) if place not in example.right]
        answer = {"order": [str(place + 1) for place in (*example.right, *others)]}
    shown = dspy.Example(passage=passage, candidates=lines, right=list(example.right), **answer)
    return shown.with_inputs("passage", "candidates")


def metric_of(program: Tunable) -> Callable[..., Any]:
    """DSPy's metric of one answer: whether the right paper was chosen; for `rank` its reciprocal
    rank, and as a demonstration only an order that begins with it."""

    def metric(gold: Any, prediction: Any, trace: Any = None, *rest: Any) -> Any:
        if program == "pick":
            number = texts.choice(getattr(prediction, "choice", None), len(gold.candidates))
            value = float(bool(number) and number - 1 in gold.right)  # type: ignore[operator]
        else:
            order = texts.order(getattr(prediction, "order", None), len(gold.candidates))
            rank = rank_of([number - 1 for number in order], gold.right)
            value = 1 / rank if rank else 0.0
        return value == 1.0 if trace is not None else value

    return metric


def _feedback_of(program: Tunable) -> Callable[..., Any]:
    """The metric with words, which GEPA's reflection reads."""
    import dspy

    plain = metric_of(program)

    def metric(
        gold: Any, prediction: Any, trace: Any = None, name: Any = None, part: Any = None
    ) -> Any:
        score = plain(gold, prediction)
        if score == 1.0:
            words = "Right."
        else:
            number = gold.right[0] + 1
            words = f"The author cited [{number}] {gold.candidates[number - 1]}"
        return dspy.Prediction(score=score, feedback=words)

    return metric


def _bootstrap(
    module: Program, shown: list[Any], metric: Any, effort: Effort, seed: int, _: LanguageModel
) -> Program:
    import dspy

    made: Program = dspy.BootstrapFewShot(
        metric=metric,
        max_bootstrapped_demos=effort.demos,
        max_labeled_demos=effort.demos + effort.labelled,
        max_errors=len(shown) + 1,
    ).compile(module, trainset=shown)
    return made


def _mipro(
    module: Program, shown: list[Any], metric: Any, effort: Effort, seed: int, _: LanguageModel
) -> Program:
    import dspy

    half = max(1, len(shown) // 2)
    made: Program = dspy.MIPROv2(
        metric=metric,
        auto=None,
        num_candidates=max(2, effort.trials // 2),
        num_threads=1,
        max_bootstrapped_demos=effort.demos,
        max_labeled_demos=effort.labelled,
        max_errors=len(shown) + 1,
        seed=seed,
    ).compile(
        module,
        trainset=shown[:half],
        valset=shown[half:] or shown,
        num_trials=effort.trials,
        minibatch=False,
        seed=seed,
    )
    return made


def _gepa(
    module: Program, shown: list[Any], _: Any, effort: Effort, seed: int, model: LanguageModel
) -> Program:
    import dspy

    half = max(1, len(shown) // 2)
    program: Any = module.name
    made: Program = dspy.GEPA(
        metric=_feedback_of(program),
        max_metric_calls=max(effort.trials, 2) * len(shown),
        reflection_lm=model.lm,
        num_threads=1,
        seed=seed,
        warn_on_score_mismatch=False,
    ).compile(module, trainset=shown[:half], valset=shown[half:] or shown)
    return made


_RUN: dict[str, Callable[..., Program]] = {
    "bootstrap": _bootstrap, "mipro": _mipro, "gepa": _gepa,
}  # fmt: skip


def _as_seen(demo: Any) -> dict[str, Any]:
    """A demonstration as the predictor sees it: candidates as one numbered text."""
    fields = dict(demo)
    if isinstance(fields.get("candidates"), list):
        fields["candidates"] = numbered(fields["candidates"])
    return {name: value for name, value in fields.items() if name != "right"}


@contextmanager
def _quiet() -> Iterator[None]:
    """Their logs and bars quote passages of the manuscript: they go nowhere."""
    import contextlib
    import io

    loggers = [logging.getLogger(name) for name in _LOUD]
    before = [one.level for one in loggers]
    try:
        for one in loggers:
            one.setLevel(logging.CRITICAL)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)
