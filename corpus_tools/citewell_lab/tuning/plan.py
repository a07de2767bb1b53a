"""The plan of a tuning and its stopping rule; each step, and the outcome of all steps."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from citewell.llm.versions import Version
from citewell.model import Problem
from citewell.model.llm import Usage
from citewell_lab.evaluation.statistics import PairedDifference
from citewell_lab.tuning import Optimizer, Tunable
from citewell_lab.tuning.metric import MetricWeights
from citewell_lab.tuning.optimizers import Effort
from citewell_lab.tuning.threshold import PickThreshold

THRESHOLD = 0.75
STEPS = 3


class TunePlan(Struct, frozen=True, kw_only=True):
    """The program to tune, the method, and the stopping rule."""

    program: Tunable = "pick"
    optimizers: tuple[Optimizer, ...] = ("bootstrap",)
    """Taken in turn, one a step."""
    threshold: float = THRESHOLD
    """The metric on the validation papers at which the program is good enough."""
    steps: int = STEPS
    weights: MetricWeights = field(default_factory=MetricWeights)
    effort: Effort = field(default_factory=Effort)
    seed: int = 0
    least: float = 0.3
    """The setting `fill.threshold`."""
    dry: bool = False
    """Measure and optimize, and store nothing."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt."""

    number: int
    optimizer: str
    fooled: int
    """Training examples at which the program in use chose wrongly: hard negatives."""
    before: float
    after: float | None = None
    """The metric on the validation papers; None when the optimizer made nothing."""
    difference: PairedDifference | None = None
    accepted: bool = False
    version: Version | None = None
    """The version made, accepted or not."""
    figures: dict[str, float] = {}
    usage: Usage = Usage()
    problem: Problem | None = None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a tuning."""

    program: str
    model: str
    created: str
    weights: MetricWeights
    threshold: float
    sizes: dict[str, int]
    """Examples in each part, `asked` (its `questions`) and `absent`: see `Examples`."""
    started: Version
    """The version in use before."""
    ended: Version
    """The version in use now."""
    ranker: dict[str, float]
    """Figures on the test papers of the ranker's own order, without a model."""
    before: dict[str, float]
    """Figures of the version in use on the test papers; `metric` is the weighted one."""
    after: dict[str, float]
    difference: PairedDifference | None = None
    """Test papers, after against before; None when nothing was accepted."""
    valid: float = 0.0
    """The metric of the first version on the validation papers."""
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    pick_threshold: PickThreshold | None = None
    """Threshold of the version in use now; only for the program `pick`."""
    notes: tuple[str, ...] = ()
