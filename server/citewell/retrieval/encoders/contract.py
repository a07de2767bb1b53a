"""The contract that every encoder of texts into vectors keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.model import Query
from citewell.retrieval.understand import near_text

Paper = tuple[str, str]
"""Title and abstract; the abstract may be empty."""


class Encoder(Protocol):
    """Turns papers and queries into vectors of one space. Safe to call from several threads."""

    name: str
    """What `RetrievalOptions.encoder` calls it."""
    dim: int
    fingerprint: str
    """Changes whenever the same paper would get another vector: an index stores it."""

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Shape (n, dim), rows of length 1; a paper without a known word is a row of zeros."""
        ...

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Vectors of the words typed and the citing sentence; shape (n, dim), rows of length 1; an
        empty query is a row of zeros."""
        return self.encode_texts([near_text(query) for query in queries])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bare query texts, shape (n, dim)."""
        ...
