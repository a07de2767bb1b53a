"""The rows that a query's filters allow: years, author, venue."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from citewell.model import Query
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.words import split


class Filters:
    """Turns a query's filters into a mask over the library's rows.

    `years` has one entry per row, 0 where unknown: a paper of unknown year meets no year filter.
    Author and venue are looked up in the terms of the BM25 index.
    """

    def __init__(self, years: NDArray[np.int16], terms: Bm25Retriever | None) -> None:
        self._years = years
        self._terms = terms

    def __call__(self, query: Query) -> NDArray[np.bool_] | None:
        """Shape (rows,); None when every row is allowed."""
        mask: NDArray[np.bool_] | None = None
        if query.year_from is not None or query.year_to is not None:
            low = max(1, query.year_from or 1)
            high = query.year_to if query.year_to is not None else 9999
            mask = (self._years >= low) & (self._years <= high)
        if self._terms is not None:
            for prefix, value in ((b"a:", query.author), (b"v:", query.venue)):
                for part in split(value):
                    has = self._terms.holding(prefix + part, len(self._years))
                    mask = has if mask is None else mask & has
        return mask
