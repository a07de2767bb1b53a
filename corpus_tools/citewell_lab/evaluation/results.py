"""The results of an evaluation: plain structs, saved as JSON and read back for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from citewell.engine.contract import EngineStatus
from citewell.model import CitewellError, Problem
from citewell.model.llm import Usage
from citewell.model.system import files
from citewell_lab.evaluation.statistics import Estimate, PairedDifference

FORMAT = "citewell-evaluation-1"
MAX_BYTES = 1024**3

Setting = Literal["cold", "warm"]
"""`cold`: the text of the document alone. `warm`: its other references are known as well."""
Scope = Literal["library", "all", "past", "group", "citation"]
"""Over the answers that the library holds (the main figures), over all answers, with the papers
newer than the citing one taken out of the lists, with the other papers of the same citation
taken out, which are right, too, or over citations of several papers, each answered as a set."""


Chose = Literal["", "paper", "none", "failed"]
"""Outcome of a language model's choice: a paper, no fitting paper, or a failure, which keeps the
first paper. Empty if no model was asked to choose."""


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question as it was scored."""

    id: str
    paper: str
    answers: int
    """Right answers that the data set names."""
    held: int
    """Those of them that the library holds; 0: the right thing is to offer nothing."""
    year: int | None = None
    tags: tuple[str, ...] = ()
    grouped: bool = False
    """True when the citation has other papers that the library holds."""
    members: int = 0
    """Papers of the citation that the library holds; 0 but for the first question of a citation
    of several."""
    grades: tuple[float, ...] = ()
    """Grades of the right answers, if they differ, those that the library holds first."""


class Judged(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer of one method to one question."""

    id: str
    ranks: tuple[int, ...] = ()
    """1-based ranks of the right answers found, rising."""
    grades: tuple[float, ...] = ()
    """Grades of these answers, if the data set grades its answers."""
    past: tuple[int, ...] | None = None
    """`ranks` without papers newer than the citing one; None: year unknown."""
    grouped: tuple[int, ...] | None = None
    """`ranks` without the other papers of the same citation; None: the same as `ranks`."""
    members: tuple[int, ...] = ()
    """Ranks of all papers of a citation of several."""
    newer: int = 0
    """Papers newer than the citing one among the first ten."""
    length: int = 0
    confidence: float | None = None
    """Confidence in the first paper."""
    offered: tuple[str, ...] = ()
    """Ids of the first five."""
    chose: Chose = ""


class Figure(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric of one method, averaged in both ways."""

    metric: str
    scope: Scope
    by_question: Estimate
    by_paper: Estimate


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds of single calls, one after the other, k as in a completion."""

    p50: float
    p95: float
    calls: int
    k: int


class Abstention(msgspec.Struct, frozen=True):
    """Quality of a method's abstentions at one threshold of its confidence."""

    threshold: float
    abstained: int
    precision: float | None
    """Share of the abstentions for which the library has no answer."""
    recall: float
    """Share of abstentions among the questions that the library cannot answer."""
    wrong_instead: float
    """Share of the questions that the library cannot answer, but that got a paper."""
    answered_right: float | None
    """Share of the answered questions whose first paper is right."""


class SelectivePrecision(msgspec.Struct, frozen=True):
    """Precision of the first paper on the most confident part of the questions."""

    coverage: float
    precision: float
    """Over all questions, also those that the library cannot answer."""
    precision_answerable: float
    """Over the questions that the library can answer."""
    threshold: float


class Picks(msgspec.Struct, frozen=True):
    """Counts of a language model's choices and of its "none"."""

    shown: int
    """Candidates that it chose from."""
    right: int
    """The right paper was among them, and it chose it."""
    wrong: int
    """The right paper was among them, and it chose another."""
    missed: int
    """The right paper was among them, and it found none fitting."""
    misled: int
    """The right paper was not among them, and it chose one."""
    declined: int
    """The right paper was not among them, and it found none fitting."""
    failed: int
    """It gave no choice."""


class MethodRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One method in one setting."""

    name: str
    setting: Setting
    description: str = ""
    figures: tuple[Figure, ...] = ()
    latency: Latency | None = None
    threshold: float = 0.0
    """At which `fill` leaves a placeholder open, as it was set."""
    abstention: tuple[Abstention, ...] = ()
    coverage: tuple[SelectivePrecision, ...] = ()
    newer_in_ten: float | None = None
    """Share of the first ten that are newer than the citing paper."""
    citeme_accuracy: float | None = None
    emitted: int = 0
    """Papers offered, over all questions."""
    unbacked: int = 0
    """Papers offered that the library does not hold word for word: must be 0."""
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    """Answers that lacked a retriever, by problem code."""
    problems: tuple[Problem, ...] = ()
    """The first problem of each code."""
    seconds: float = 0.0
    usage: Usage = Usage()
    """Calls and cost of a language model for the scored answers."""
    picks: Picks | None = None
    judged: tuple[Judged, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} ({self.setting})"

    def figure(self, metric: str, scope: Scope = "library") -> Figure | None:
        for figure in self.figures:
            if figure.metric == metric and figure.scope == scope:
                return figure
        return None

    @property
    def hallucination_rate(self) -> float:
        """Share of the offered papers that no record backs."""
        return self.unbacked / self.emitted if self.emitted else 0.0


class MethodComparison(msgspec.Struct, frozen=True):
    """Method `a` against method `b` on the questions that both answered."""

    a: str
    b: str
    metric: str
    result: PairedDifference
    p_holm: float


class PaperDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """A paper as a reader recognises it."""

    title: str
    authors: str = ""
    year: int | None = None
    venue: str = ""
    id: str = ""


class Miss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question to read: the passage, the right answer, and what was offered first."""

    id: str
    paper: str
    method: str
    before: str = ""
    text: str = ""
    """The passage or the question; the place is marked `[CITATION]`."""
    truth: tuple[PaperDetails, ...] = ()
    offered: tuple[PaperDetails, ...] = ()
    rank: int | None = None
    file: str = ""
    line: int | None = None
    key: str = ""


class DataInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The questions of an evaluation, and their selection."""

    name: str
    schema: str = ""
    path: str = ""
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    selection: str = ""
    """In words: which filters, which split, which sample."""
    unit: str = "paper"


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole result of one run of `citewell eval`."""

    format: str = FORMAT
    version: str = ""
    created: str = ""
    command: str = ""
    data: DataInfo
    library: EngineStatus = msgspec.field(default_factory=EngineStatus)
    depth: int = 100
    seed: int = 0
    metrics: dict[str, dict[str, dict[str, float]]] = msgspec.field(default_factory=dict)
    """The main figures once more, for scripts: method -> setting -> metric -> mean per question,
    with `hallucination_rate`, `latency_p50`, `latency_p95`, `precision@25%` ... (of the first paper
    at that coverage), at the threshold of `fill` `abstention_precision` and `_recall`, and what a
    language model cost (`llm_requests`, ...)."""
    items: tuple[Item, ...] = ()
    runs: tuple[MethodRun, ...] = ()
    comparisons: tuple[MethodComparison, ...] = ()
    misses: tuple[Miss, ...] = ()
    finds: tuple[Miss, ...] = ()
    """Right answers ranked first although the passage contains few words of their titles."""
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def run(self, name: str, setting: str = "") -> MethodRun | None:
        """The run of that name; of several settings the first."""
        for run in self.runs:
            if run.name == name and setting in ("", run.setting):
                return run
        return None


class EvaluationError(CitewellError):
    """The evaluation cannot go on; carries the problem to show."""


def problem(code: str, message: str, hint: str = "", path: str = "") -> EvaluationError:
    return EvaluationError(Problem(code=code, message=message, hint=hint, path=path))


def main_metrics(runs: Sequence[MethodRun]) -> dict[str, dict[str, dict[str, float]]]:
    """Means per question over the answers in the library, by method, setting and metric."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    for run in runs:
        found = {
            figure.metric: figure.by_question.mean
            for figure in run.figures
            if figure.scope == "library"
        }
        found["hallucination_rate"] = run.hallucination_rate
        if run.latency:
            found |= {"latency_p50": run.latency.p50, "latency_p95": run.latency.p95}
        if run.usage.requests:
            used = run.usage
            found |= {
                "llm_requests": used.requests,
                "llm_input_tokens": used.input_tokens,
                "llm_output_tokens": used.output_tokens,
                "llm_seconds": round(used.seconds, 3),
                "llm_cost": used.cost,
            }
        found |= {f"precision@{one.coverage:.0%}": one.precision for one in run.coverage}
        for one in run.abstention:
            if one.threshold == run.threshold:
                found["abstention_recall"] = one.recall
                if one.precision is not None:
                    found["abstention_precision"] = one.precision
        out.setdefault(run.name, {})[run.setting] = {
            name: round(value, 6) for name, value in found.items()
        }
    return out


def encode(evaluation: Evaluation) -> bytes:
    """Indented UTF-8 JSON."""
    return msgspec.json.format(msgspec.json.encode(evaluation), indent=1)


def load(path: Path) -> Evaluation:
    """A saved evaluation. Raises `EvaluationError` for any other file."""
    hint = "Give a file that `citewell eval --json` wrote."
    try:
        if path.stat().st_size > MAX_BYTES:
            raise problem("evaluation-too-large", f"{path} is too large.", hint, str(path))
        evaluation = msgspec.json.decode(path.read_bytes(), type=Evaluation)
    except (OSError, msgspec.DecodeError) as error:
        message = f"The evaluation cannot be read: {error}."
        raise problem("evaluation-unreadable", message, hint, str(path)) from error
    if evaluation.format != FORMAT:
        message = f"The evaluation is of another format: {evaluation.format}."
        raise problem("evaluation-foreign", message, hint, str(path))
    return evaluation


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside the target and swap in, so that no reader sees half a file."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        # A pipe or a device: no file may take its place.
        try:
            with target.open("wb") as stream:
                stream.write(data)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(target, data)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> EvaluationError:
    return problem(
        "evaluation-write",
        f"The result cannot be written: {error.strerror or error}.",
        "Free some space or name another place; the figures are shown above.",
        str(path),
    )
