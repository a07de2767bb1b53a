"""What is tuned and when it is enough; each step, and what came of all of them."""

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
    """What is tuned, how, and when it is enough."""

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
    """What was made, accepted or not."""
    figures: dict[str, float] = {}
    usage: Usage = Usage()
    problem: Problem | None = None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it all."""

    program: str
    model: str
    created: str
    weights: MetricWeights
    threshold: float
    sizes: dict[str, int]
    """Examples in each part, `asked` (its `questions`) and `absent`: see `Examples`."""
    started: Version
    """What was in use before."""
    ended: Version
    """What is in use now."""
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
    """Of the version that is in use now; for the program `pick` alone."""
    notes: tuple[str, ...] = ()
