"""Papers of a list in groups of like ones, by their dense vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from citewell.corpus.library import Library
from citewell.engine.lookup import LookUp
from citewell.engine.retrievers import Opened
from citewell.retrieval.clusters import clusters
from citewell.retrieval.dense import DenseRetriever


class PaperGroups:
    """Over one library, or none. Safe to call from any thread."""

    def __init__(self, library: Library | None, opened: Opened, lookup: LookUp) -> None:
        self._library, self._opened, self._lookup = library, opened, lookup

    def of(self, ids: Sequence[str], most: int) -> list[int]:
        """The group of each paper, from 0; -1 where it has no vector."""
        dense = self._opened.of(DenseRetriever)
        if dense is None or not ids:
            return [-1] * len(ids)
        rows = np.full(len(ids), -1, np.int64)
        if self._library is not None:
            rows = np.asarray(self._library.rows_of(ids), np.int64)
        vectors = np.zeros((len(ids), dense.encoder.dim), np.float32)
        held = rows >= 0
        vectors[held] = dense.vectors(rows[held])
        # Records of sources, and of a library below with another encoder, are encoded here.
        missing = np.flatnonzero(np.linalg.norm(vectors, axis=1) == 0)
        works = self._lookup.works([ids[int(at)] for at in missing]) if len(missing) else []
        texts = [("", "") if work is None else (work.title, work.abstract) for work in works]
        if texts:
            vectors[missing] = dense.encoder.encode_papers(texts)
        found: list[int] = clusters(vectors, most).tolist()
        return found
