"""Papers whose full text holds every typed word, near the top of the list.

The trained ranker does not know full texts and would leave such a paper below hundreds of others.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from citewell.model import Query
from citewell.ranking.contract import Ordering
from citewell.retrieval.full_text import FullTextRetriever
from citewell.retrieval.fuse import Fused

PLACE = 2
"""Highest place, from 0: titles and abstracts that match come first."""
MOST = 2
"""Papers that are moved: the first of the full texts."""


def with_full_texts(
    ordering: Ordering, query: Query, fused: Fused, retriever: FullTextRetriever | None
) -> Ordering:
    """The ordering with these papers at `PLACE` and below; as it is without typed words."""
    ranks = fused.ranks.get(FullTextRetriever.name)
    if retriever is None or ranks is None or not query.text:
        return ordering
    best = [at for rank in range(1, MOST + 1) for at in np.flatnonzero(ranks == rank).tolist()]
    for number, at in enumerate(
        one for one in best if retriever.holds(query, int(fused.rows[one]))
    ):
        place = int(np.flatnonzero(ordering.order == at)[0])
        if place > PLACE + number:
            ordering = _moved(ordering, place, PLACE + number)
    return ordering


def _moved(ordering: Ordering, start: int, end: int) -> Ordering:
    """One paper moved up. It takes over the score of its new place, and keeps its confidence."""
    places = np.arange(len(ordering.order))
    places = np.insert(np.delete(places, start), end, start)
    scores = ordering.scores.copy()
    scores[end + 1 : start + 1] = ordering.scores[end:start]
    confidence = ordering.confidence
    return replace(
        ordering,
        order=ordering.order[places],
        scores=scores,
        confidence=None if confidence is None else confidence[places],
    )
