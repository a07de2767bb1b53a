"""What a ranker may ask of the library and the retrievers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus import Library
from citewell.engine.retrievers import Opened
from citewell.model import Query, Work
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.dense import DenseRetriever


class LibrarySignals:
    """`ranking.contract.Signals` over an open library."""

    def __init__(self, library: Library, opened: Opened) -> None:
        self._library = library
        bm25, dense = opened.retrievers.get("bm25"), opened.retrievers.get("dense")
        self._bm25 = bm25 if isinstance(bm25, Bm25Retriever) else None
        self._dense = dense if isinstance(dense, DenseRetriever) else None

    def works(self, rows: NDArray[np.int64]) -> list[Work]:
        """The records, in order."""
        return self._library.works(rows)

    @property
    def years(self) -> NDArray[np.int16]:
        """Per row of the library, 0 where unknown."""
        return self._library.columns().year

    @property
    def citations(self) -> NDArray[np.int32]:
        """Per row of the library, -1 where unknown."""
        return self._library.columns().citations

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Row of each id, -1 where there is none."""
        return self._library.rows_of(ids)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The papers' dense vectors, shape (n, d)."""
        return None if self._dense is None else self._dense.vectors(rows)

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32] | None:
        """Dense vectors of queries."""
        return None if self._dense is None else self._dense.encoder.encode_queries(queries)

    def bm25(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """BM25 score of each row for the query."""
        return None if self._bm25 is None else self._bm25.score_rows(query, rows)
