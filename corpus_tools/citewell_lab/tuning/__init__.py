"""Programs that get better: examples, a metric, optimizers, and a loop that accepts only what wins.

Above evaluation, whose questions, statistics and figures it uses; beneath the command line.
"""

from typing import Literal, get_args

Tunable = Literal["pick", "rank"]
TUNABLE: tuple[Tunable, ...] = get_args(Tunable)
"""Programs whose right answer the citations of papers say. Of `verify` nothing says it."""
Optimizer = Literal["bootstrap", "mipro", "gepa"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)
"""See `optimizers`."""
