"""An overview of the first papers of a list: themes by rules, and a text by the language model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from citewell.engine.contract import Engine
from citewell.model import Work
from citewell.model.cancel import Cancel
from citewell.model.overview import Overview
from citewell.usecases.explore.themes import themes

PAPERS = 100
"""How many papers of a list an overview covers."""
MOST_THEMES = 8


def overview(
    engine: Engine,
    works: Sequence[Work],
    cancel: Cancel,
    *,
    question: str = "",
    by_model: bool = False,
) -> Overview:
    """An overview of the first `PAPERS` works; with `by_model` the language model also writes what
    they say about the question. Raises `Cancelled`."""
    head = list(works[:PAPERS])
    if not head:
        return Overview()
    cancel.check()
    most = max(1, min(MOST_THEMES, round(math.sqrt(len(head) / 2))))
    groups = engine.cluster([work.id for work in head], most)
    if all(group < 0 for group in groups):
        groups = [0] * len(head)
    cancel.check()
    written = engine.summarize(question, head, cancel=cancel) if by_model and question else None
    return Overview(themes=themes(head, groups), summary=written)
