"""A true encoder in small, which tests register under a name of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.encoders.contract import Encoder, Paper, clean, paper_text

NAME = "test/hashed-words"


class HashedWords(Encoder):
    """A random direction per word, summed; "fruit" has that of "apple". Counts the papers that it
    reads."""

    dim = 48
    read = 0
    """Papers that all encoders of this class have read."""

    def __init__(self, name: str = NAME, version: str = "1") -> None:
        self.name = name
        self.fingerprint = f"hashed-words-{version}"

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        HashedWords.read += len(papers)
        return self.encode_texts([paper_text(paper) for paper in papers])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        out = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            for word in clean(text).lower().replace(".", " ").split():
                if word.isalnum():
                    out[row] += _direction("apple" if word == "fruit" else word, self.dim)
        length = np.linalg.norm(out, axis=1, keepdims=True)
        return np.divide(out, length, out=out, where=length > 0)


def _direction(word: str, dim: int) -> NDArray[np.float32]:
    seed = int.from_bytes(word.encode()[:16], "little") % (1 << 32)
    return np.random.default_rng(seed).standard_normal(dim).astype(np.float32)
