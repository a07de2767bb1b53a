"""The loop: measure, optimize on one part of the papers, accept on another only what wins.

A new version is stored and used only if on the validation papers it beats the one in use by more
than chance explains: the 95% interval of the paired difference lies above zero, and a randomisation
test agrees. What no step saw,
the test papers, says at the end how far it holds.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from citewell.llm.assistant import LanguageModel
from citewell.llm.versions import (
    Version,
    current_version,
    load_program,
    read_version,
    save_program,
    use_version,
    versions_of,
    write_version,
)
from citewell.model import CitewellError, Problem
from citewell.model.llm import Usage
from citewell.model.system.child_process import temporary_folder
from citewell.options.online import LlmOptions
from citewell_corpus.processes import Progress
from citewell_lab.evaluation.statistics import PairedDifference, compare
from citewell_lab.tuning.examples import Examples, TuningExample, hard_first
from citewell_lab.tuning.metric import Measured, measure, reach_of, untouched
from citewell_lab.tuning.optimizers import optimize
from citewell_lab.tuning.plan import Step, TunePlan, Tuning
from citewell_lab.tuning.threshold import fit

LEAST = 5
"""Minimum examples in each part to detect differences."""

MOST_P = 0.05
FEW_PAPERS = 6
"""With fewer papers, no sign test over papers can reach `MOST_P`: examples are compared instead,
which takes those of one paper for independent."""

Opener = Callable[[LlmOptions], LanguageModel]


def tune(
    options: LlmOptions,
    plan: TunePlan,
    examples: Examples,
    reporter: Progress,
    open_model: Opener | None = None,
) -> Tuning:
    """Improve one program with the model that the settings name.

    Raises `CitewellError`: no model is named, too few examples, or the first measurement fails at
    every example (a server that is down teaches nothing).
    """
    parts = {p: examples.part(p, plan.seed) for p in ("train", "valid", "test")}
    sizes = {name: len(part) for name, part in parts.items()}
    if min(sizes["train"], sizes["valid"]) < LEAST:
        raise CitewellError(_too_few(sizes))
    with temporary_folder() as scratch:
        run = _TuningRun(options, plan, reporter, scratch, open_model or named_model)
        try:
            return run.tune(parts, sizes | {"asked": examples.questions, "absent": examples.absent})
        finally:
            run.close()


class _TuningRun:
    """One run over its parts."""

    def __init__(
        self,
        options: LlmOptions,
        plan: TunePlan,
        reporter: Progress,
        scratch: Path,
        open_model: Opener,
    ) -> None:
        self._options = options
        self._plan = plan
        self._reporter = reporter
        self._scratch = scratch
        self._open = open_model
        self._folder = options.programs
        self._reach = reach_of(plan.program, options)
        self._models: list[LanguageModel] = []

    def tune(self, parts: dict[Any, tuple[TuningExample, ...]], sizes: dict[str, int]) -> Tuning:
        plan = self._plan
        program = plan.program
        name = self._options.version or current_version(program, self._folder)
        started = best = read_version(program, name, self._folder)
        valid = self._measured(best, parts["valid"], "measuring the version in use")
        _must_answer(valid)
        first = valid.mean(plan.weights)
        steps: list[Step] = []
        train_seen: Measured | None = None
        while valid.mean(plan.weights) < plan.threshold and len(steps) < plan.steps:
            if train_seen is None:
                train_seen = self._measured(best, parts["train"], "looking for hard negatives")
            step, measured = self._step(len(steps), best, parts, valid, train_seen)
            steps.append(step)
            if step.accepted and step.version is not None and measured is not None:
                best, valid, train_seen = step.version, measured, None
        notes = []
        if first >= plan.threshold:
            notes.append(
                f"The version in use reaches {first:.3f} on the validation papers, the threshold "
                f"is {plan.threshold:g}: nothing was changed."
            )
        tests = parts["test"]
        before = self._measured(started, tests, "measuring on the test papers")
        after = before
        if best.version != started.version:
            after = self._measured(best, tests, "measuring on the test papers again")
            if not plan.dry:
                self._keep([step.version for step in steps if step.accepted and step.version])
        difference = None
        if after is not before and tests:
            difference = self._compared(after, before)
        threshold = None
        if program == "pick":
            threshold = fit(
                (parts["valid"], valid),
                (tests, after),
                least=plan.least,
                now=self._options.pick_threshold,
                reach=self._reach,
                seed=plan.seed,
            )
        spent = Usage()
        for model in self._models:
            spent = spent.plus(model.account.session)
        return Tuning(
            program=program,
            model=self._models[0].name if self._models else "",
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            weights=plan.weights,
            threshold=plan.threshold,
            sizes=sizes,
            started=started,
            ended=best,
            ranker=self._figures(untouched(tests)),
            before=self._figures(before),
            after=self._figures(after),
            difference=difference,
            valid=first,
            steps=tuple(steps),
            usage=spent,
            pick_threshold=threshold,
            notes=tuple(notes),
        )

    def close(self) -> None:
        """Close the models' connections."""
        for model in self._models:
            model.close()

    def _step(
        self,
        number: int,
        best: Version,
        parts: dict[Any, tuple[TuningExample, ...]],
        valid: Measured,
        seen: Measured,
    ) -> tuple[Step, Measured | None]:
        plan = self._plan
        optimizer = plan.optimizers[number % len(plan.optimizers)]
        wrong = {one.id for one in seen.tried if not one.first}
        train = [one for e in parts["train"] if (one := e.to_learn_from(self._reach)) is not None]
        train = hard_first(train, lambda example: example.id in wrong)
        # The next attempt begins with other examples, or it would be the same attempt.
        train = train[number:] + train[:number]
        self._reporter.stage(f"step {number + 1}: {optimizer}", 0)
        step = Step(
            number=number + 1,
            optimizer=optimizer,
            fooled=sum(one.fooled for one in train),
            before=valid.mean(plan.weights),
        )
        model = self._model(best)
        spent = model.account.session
        try:
            module = load_program(plan.program, best.version, self._place(best))
            made = optimize(
                optimizer, model, module, train, effort=plan.effort, seed=plan.seed + number
            )
        except CitewellError as error:
            cost = model.account.session.minus(spent)
            return msgspec.structs.replace(step, problem=error.problem, usage=cost), None
        cost = model.account.session.minus(spent)
        version = save_program(
            made,
            self._new_name(number),
            self._scratch,
            parent=best.version,
            model=model.name,
            optimizer=optimizer,
        )
        measured = self._measured(version, parts["valid"], f"step {number + 1}: measuring")
        against = self._compared(measured, valid)
        accepted = against.low is not None and against.low > 0 and against.p <= MOST_P
        metrics = self._figures(measured)
        version = msgspec.structs.replace(version, metrics=metrics)
        step = msgspec.structs.replace(
            step,
            after=measured.mean(plan.weights),
            difference=against,
            accepted=accepted,
            version=version,
            figures=metrics,
            usage=cost.plus(measured.usage),
        )
        return step, measured

    def _compared(self, a: Measured, b: Measured) -> PairedDifference:
        units = [one.paper for one in a.tried]
        if len(set(units)) < FEW_PAPERS:
            units = [one.id for one in a.tried]
        weights = self._plan.weights
        return compare(a.values(weights), b.values(weights), units, seed=self._plan.seed)

    def _measured(
        self, version: Version, examples: Sequence[TuningExample], words: str
    ) -> Measured:
        self._reporter.stage(words, len(examples))
        return measure(
            self._model(version), self._plan.program, examples, advance=self._reporter.advance
        )

    def _model(self, version: Version) -> LanguageModel:
        """A model that reads the version from its file, as it will in use."""
        options = replace(self._options, programs=self._place(version), version=version.version)
        model = self._open(options)
        self._models.append(model)
        return model

    def _place(self, version: Version) -> Path | None:
        made = self._scratch / self._plan.program / f"{version.version}.json"
        return self._scratch if made.exists() else self._folder

    def _new_name(self, number: int) -> str:
        today = datetime.date.today().isoformat()
        taken = {
            *versions_of(self._plan.program, self._folder),
            *versions_of(self._plan.program, self._scratch),
        }
        return next(name for n in range(1, 10_000) if (name := f"{today}-{n}") not in taken)

    def _keep(self, versions: Sequence[Version]) -> None:
        """Store what was accepted, each the parent of the next, and use the last."""
        for version in versions:
            write_version(version, self._folder)
        use_version(self._plan.program, versions[-1].version, self._folder)

    def _figures(self, measured: Measured) -> dict[str, float]:
        if not measured.tried:
            return {}
        return {"metric": measured.mean(self._plan.weights), **measured.figures()}


def named_model(options: LlmOptions) -> LanguageModel:
    """The configured model. Sends no request; raises `CitewellError` if none is configured."""
    model = LanguageModel.open(options)
    if model is None:
        raise CitewellError(
            Problem(
                "llm-off",
                "No language model configured; nothing to tune.",
                "Set `llm.provider` and `llm.model`.",
            )
        )
    return model


def _must_answer(measured: Measured) -> None:
    """A model that failed at every example is not there, or cannot do it at all."""
    problems = [one.problem for one in measured.tried]
    if problems and all(problem is not None for problem in problems):
        raise CitewellError(problems[0])  # type: ignore[arg-type]


def _too_few(sizes: dict[str, int]) -> Problem:
    return Problem(
        "tune-too-few",
        f"There are {sizes['train']} training and {sizes['valid']} validation examples: at "
        f"least {LEAST} of each are needed, from several papers.",
        "Give more papers, or a data set with --data.",
    )
