"""The contract of encoders, which turn texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.model import Query
from citewell.retrieval.understand import near_text

Paper = tuple[str, str]
"""Title and abstract; the abstract may be empty."""


class Encoder(Protocol):
    """Turns papers and queries into vectors of one space. Thread-safe."""

    name: str
    """Its name in `RetrievalOptions.encoder`."""
    dim: int
    fingerprint: str
    """Changes whenever a paper's vector would change; stored in an index."""

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Shape (n, dim), rows of length 1; a paper without a known word is a row of zeros."""
        ...

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Vectors of the typed words and the citing sentence; shape (n, dim), rows of length 1; an
        empty query is a row of zeros."""
        return self.encode_texts([near_text(query) for query in queries])

    def encode_topics(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """The citing papers of queries as works, by title and abstract; shape (n, dim), a row of
        zeros for a query without a title."""
        return self.encode_papers([(one.paper.title, one.paper.abstract) for one in queries])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bare query texts, shape (n, dim)."""
        ...


# Preprocessing of texts for the tokenizers of transformer encoders.

MAX_CHARACTERS = 20_000
"""More than any encoder reads; a pasted book must not cost a second in the tokenizer."""


def clean(text: str) -> str:
    """The start of the text, without lone surrogates, which tokenizers reject."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8").strip()


def paper_text(paper: Paper, join: str = ". ") -> str:
    """Title and abstract as one text; empty for a paper without either."""
    title, abstract = paper
    return f"{title}{join}{abstract}" if title and abstract else title or abstract


# The device of torch, for all encoders.

GPU_BATCH = 64
"""Texts in a GPU batch: enough work for its cores, within the memory of a small one."""


def torch_device(torch: Any) -> str:
    """The first device that torch finds: "cuda", "mps" (Apple), else "cpu"."""
    if torch.cuda.is_available():
        return "cuda"
    backend = getattr(torch.backends, "mps", None)
    return "mps" if backend is not None and backend.is_available() else "cpu"
