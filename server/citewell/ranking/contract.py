"""The contract of rankers, which order the head of the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import Aliases
from citewell.corpus.columns import Columns
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.cancel import Cancel


class Candidates(msgspec.Struct, frozen=True):
    """The fused list: n rows of the library, best first, with their ranks in each list."""

    rows: NDArray[np.int64]
    fused: NDArray[np.float32]
    """Fusion score, shape (n,)."""
    ranks: dict[str, NDArray[np.int32]]
    """Per retriever, shape (n,): 1-based rank, 0 if the row is not in its list."""
    scores: dict[str, NDArray[np.float32]]
    """Per retriever, shape (n,): its own score, 0 if the row is not in its list."""
    further: tuple[str, ...] = ()
    """The retrievers added after the ranker was trained."""


Calibrate = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Maps the scores of an ordering, in its order, to confidences."""


class Ordering(msgspec.Struct, frozen=True):
    """A ranker's answer."""

    order: NDArray[np.int64]
    """Shape (n,): positions in the candidates, best first."""
    scores: NDArray[np.float32]
    """Shape (n,), in that order, descending."""
    confidence: NDArray[np.float32] | None = None
    """Shape (n,), in that order: calibrated probability of being what the author would cite."""
    calibrate: Calibrate | None = None
    """Computes confidence from modified scores, given in this ordering's order, for callers that
    modify them. If it is set, the scores are log odds."""


class Signals(Protocol):
    """Data about candidate rows that a ranker may request."""

    def works(self, rows: NDArray[np.int64]) -> list[Work]:
        """The records, in order. Costs about 20 microseconds each: request few."""
        ...

    @property
    def years(self) -> NDArray[np.int16]:
        """Per row of the library, 0 if unknown."""
        ...

    @property
    def citations(self) -> NDArray[np.int32]:
        """Per row of the library, -1 if unknown."""
        ...

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Row of each id, -1 if it is not in the library."""
        ...

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The papers' dense vectors, of length 1, shape (n, d); None without a dense index."""
        ...

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32] | None:
        """Dense vectors of queries in the same space; None without an encoder."""
        ...

    def encode_topic(self, query: Query) -> NDArray[np.float32] | None:
        """Vector of the citing paper, shape (d,), zeros without a title; None without an
        encoder."""
        ...

    def bm25(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """BM25 score of each row for any query (such as a part of the passage); None without
        BM25."""
        ...

    @property
    def encoder(self) -> str:
        """Fingerprint of the encoder of `vectors` and `encode`; empty without one."""
        ...

    def facts(self, rows: NDArray[np.int64]) -> Columns | None:
        """Columns of the rows, in order; None for a library built without them."""
        ...

    def title_words(self) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
        """Title words of the library as sorted hashes, the number of titles with each, and that of
        all titles."""
        ...

    def aliases(self) -> Aliases:
        """Names that others use for papers, in the library or not."""
        ...

    def citation_priors(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Signals of the citation priors per row, shape (n, signals); None without priors."""
        ...

    def cocited(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """How often others cite each row together with works cited nearby, shape (n, 2); None
        without priors. See `retrieval.citation_priors.CitationPriors.cocited`."""
        ...

    def cocited_with(
        self, found: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float32] | None:
        """How often others cite each of `rows` together with the rows `found`, shape (n,), as a
        logarithm; 0 if unknown, None without priors."""
        ...

    def coverage(self, text: str, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Share of the text's words in title or abstract of each row, weighted by rarity, shape
        (n,); None without BM25 or known words."""
        ...

    def passages(self, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """How well the words around the place match the words of others' citations of each row,
        shape (n, len(passages.SIGNALS)); None without priors."""
        ...

    def rows_of_titles(self, titles: Sequence[str]) -> NDArray[np.int64]:
        """A row with each title, -1 if it is not in the library."""
        ...


class Ranker(Protocol):
    """Orders candidates. Thread-safe."""

    name: str

    def rank(
        self, query: Query, candidates: Candidates, signals: Signals, cancel: Cancel
    ) -> Ordering:
        """Order all candidates, each once. Raises `Cancelled`; after any other error the fused
        order stays."""
        ...


@contextmanager
def weights_file(path: Path, weights: str) -> Iterator[Any]:
    """Open a file of arrays. Raises `CitewellError`, with the name `weights`, for an unreadable
    file, and for a `ValueError` or `KeyError` in the block."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            yield file
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        message = f"{weights} cannot be read ({error})."
        hint = "Reinstall citewell, or set `retrieval.ranker` to none."
        raise CitewellError(Problem("ranker-weights", message, hint, path=str(path))) from error
