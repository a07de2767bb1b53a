"""Compares language models on equal lists: gain, time, and cost of each."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec
import numpy as np
from msgspec.structs import replace

from citewell.llm.assistant import LanguageModel
from citewell.llm.providers import LOOPBACK, PROVIDERS
from citewell.model import CitewellError, Problem
from citewell.model.llm import Usage
from citewell.options.online import LlmOptions
from citewell_corpus.processes import Progress
from citewell_lab.evaluation.statistics import (
    Estimate,
    Groups,
    PairedDifference,
    bootstrap,
    compare,
)
from citewell_lab.tuning import Tunable
from citewell_lab.tuning.examples import TuningExample
from citewell_lab.tuning.metric import CUTS, Measured, measure, parts_of, untouched

RANKER = "ranker"
"""The order without any model: what each is compared with."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One model on all examples."""

    model: str
    figures: dict[str, Estimate]
    """recall@1, @5, @10, @20 and mrr, with 95% intervals over papers."""
    p50: float = 0.0
    """Seconds of a request."""
    p95: float = 0.0
    failed: float = 0.0
    """Share of the passages at which the model gave no answer: the ranker's order stood."""
    usage: Usage = Usage()
    cost_per_thousand: float | None = None
    """US dollars for a thousand passages; None where no price is known."""
    gain: PairedDifference | None = None
    """Reciprocal rank against the ranker's order of the same lists."""
    problems: dict[str, int] = {}
    """Codes of what went wrong, and how often."""
    why: Problem | None = None
    """The first of them."""

    @property
    def answered(self) -> bool:
        """False when the model gave no answer at all: the figures are the ranker's alone."""
        return self.failed < 1


class ModelComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All models."""

    program: str
    created: str
    examples: int
    papers: int
    models: tuple[Compared, ...]


def named(text: str, options: LlmOptions) -> LlmOptions:
    """The settings for a model as one writes it: "PROVIDER:MODEL" or "PROVIDER:MODEL@ADDRESS".

    Naming an address here allows its host to see the passages. Raises `CitewellError`.
    """
    provider, _, rest = text.partition(":")
    model, at, url = rest.partition("@http")
    if provider not in PROVIDERS or not model:
        raise CitewellError(
            Problem(
                "llm-no-model",
                f"{text!r} does not name a model.",
                f"Write PROVIDER:MODEL, with one of {', '.join(PROVIDERS)}; an address may follow: "
                "llamacpp:qwen3@http://127.0.0.1:8080/v1.",
            )
        )
    url = "http" + url if at else ""
    if provider == options.provider and not url:
        url = options.base_url
    host = (urlsplit(url).hostname or "") if url else ""
    return replace(
        options,
        provider=provider,
        model=model,
        base_url=url,
        host="" if host in LOOPBACK else host,
    )


def compare_models(
    models: Sequence[tuple[str, LlmOptions]],
    program: Tunable,
    examples: Sequence[TuningExample],
    reporter: Progress,
    *,
    seed: int = 0,
    open_model: Callable[[LlmOptions], LanguageModel | None] = LanguageModel.open,
) -> ModelComparison:
    """Put every example to every model, one after the other. Raises `CitewellError` for a model
    that cannot be opened; one that fails later is measured as it is."""
    base = untouched(examples)
    rows = [_compared(RANKER, base, None, seed)]
    for name, options in models:
        model = open_model(options)
        if model is None:
            raise CitewellError(
                Problem("llm-no-model", f"{name!r} names no model.", "Write PROVIDER:MODEL.")
            )
        reporter.stage(name, len(examples))
        try:
            measured = measure(model, program, examples, advance=reporter.advance)
        finally:
            model.close()
        rows.append(_compared(name, measured, base, seed))
    return ModelComparison(
        program=program,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        examples=len(examples),
        papers=len({one.paper for one in examples}),
        models=tuple(rows),
    )


def _compared(name: str, measured: Measured, base: Measured | None, seed: int) -> Compared:
    ranks = [one.rank for one in measured.tried]
    papers = [one.paper for one in measured.tried]
    parts = parts_of(ranks)
    first = (np.asarray(ranks) == 1).astype(np.float64)[:, None]
    columns = np.hstack([first, parts])
    estimates = [per for per, _ in bootstrap(columns, Groups(papers, seed=seed))]
    names = ("recall@1", *(f"recall@{cut}" for cut in CUTS), "mrr")
    seconds = np.array([one.seconds for one in measured.tried] or [0.0])
    problems: dict[str, int] = {}
    for one in measured.tried:
        if one.problem is not None:
            problems[one.problem.code] = problems.get(one.problem.code, 0) + 1
    gain = None
    if base is not None:
        before = parts_of([one.rank for one in base.tried])
        gain = compare(parts[:, -1], before[:, -1], papers, seed=seed)
    usage = measured.usage
    priced = base is not None and not usage.unpriced and len(ranks) > 0
    return Compared(
        model=name,
        figures=dict(zip(names, estimates, strict=True)),
        p50=float(np.quantile(seconds, 0.5)),
        p95=float(np.quantile(seconds, 0.95)),
        failed=sum(problems.values()) / max(1, len(ranks)),
        usage=usage,
        cost_per_thousand=1000 * usage.cost / len(ranks) if priced else None,
        gain=gain,
        problems=problems,
        why=next((one.problem for one in measured.tried if one.problem is not None), None),
    )
