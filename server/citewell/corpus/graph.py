"""The citations between papers of a library, as far as the citation priors record them.

For some citing papers, the priors contain the list of cited papers, by title key. It is a sample of
the literature: its citations exist, and nothing is known of those it omits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.priors import Priors, joined
from citewell.model.query import Direction


class GraphNeighbours(NamedTuple):
    """A paper's neighbours in the graph, the most cited first."""

    rows: NDArray[np.int64]
    """Rows of the library."""
    together: NDArray[np.int64]
    """For `cocited`, the number of papers that cite both; else 1. Shape as `rows`."""
    elsewhere: int
    """Number of further neighbours missing from the library."""
    known: bool
    """False when nothing is known of this paper, which differs from having no neighbours."""


_UNKNOWN = GraphNeighbours(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, False)


class CitationGraph:
    """The citation graph. Immutable and thread-safe; holds no text and no vectors."""

    def __init__(
        self, parts: Sequence[Priors], columns: LibraryColumns, live: NDArray[np.bool_]
    ) -> None:
        """`live` is a mask of the live rows, shape (columns.end,)."""
        self._priors = joined([_lists(part) for part in parts]) if parts else None
        keys = columns.keys()
        # Of several rows with one title, the one with an abstract represents them.
        order = np.lexsort((~columns.abstracts(), keys))
        order = order[live[order] & (keys[order] != 0)]
        kept, first = np.unique(keys[order], return_index=True)
        self._keys, self._rows = kept, order[first]
        if self._priors is not None:
            self._list_order = np.argsort(self._priors.list_key, kind="stable")
            self._list_keys = self._priors.list_key[self._list_order]
            lengths = np.diff(self._priors.list_starts)
            self._owner = np.repeat(np.arange(len(lengths)), lengths)
            self._degree = np.bincount(self._priors.list_cited, minlength=len(self._priors))

    def neighbours(self, key: int, direction: Direction) -> GraphNeighbours:
        """The neighbours of the paper with this title key (`columns.title_key`)."""
        priors = self._priors
        if priors is None or not key:
            return _UNKNOWN
        if direction == "cites":
            found = self._list_of(key)
            return _UNKNOWN if found is None else self._held(priors.key[found])
        number = int(priors.find(np.array([key], np.uint64))[0])
        lists = distinct(self._owner[priors.list_cited == number])
        if not len(lists):
            return _UNKNOWN
        if direction == "cited_by":
            return self._held(priors.list_key[lists])
        starts = priors.list_starts
        beside = np.concatenate(
            [distinct(priors.list_cited[starts[one] : starts[one + 1]]) for one in lists]
        )
        numbers, counts = np.unique(beside[beside != number], return_counts=True)
        return self._held(priors.key[numbers], counts)

    def citations(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the citing and of the cited paper of each known citation, each once; -1 for a
        paper missing from the library."""
        if self._priors is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        citing = self._rows_of(self._priors.list_key[self._owner])
        cited = self._rows_of(self._priors.key)[self._priors.list_cited]
        base = int(max(cited.max(initial=0), citing.max(initial=0))) + 2
        held = citing >= 0
        citing, cited = np.divmod(distinct(citing[held] * base + cited[held] + 1), base)
        return citing, cited - 1

    def _rows_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        if not len(self._keys):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._rows[at], -1)

    def _list_of(self, key: int) -> NDArray[np.int32] | None:
        """Numbers of the papers that this one cites; None if its list is unknown."""
        assert self._priors is not None
        at = int(np.searchsorted(self._list_keys, np.uint64(key)))
        if at == len(self._list_keys) or self._list_keys[at] != np.uint64(key):
            return None
        one, starts = self._list_order[at], self._priors.list_starts
        return distinct(self._priors.list_cited[starts[one] : starts[one + 1]])

    def _held(
        self, keys: NDArray[np.uint64], together: NDArray[np.int64] | None = None
    ) -> GraphNeighbours:
        """The neighbours in the library: by co-citations, then by citations."""
        assert self._priors is not None
        if together is None:
            together = np.ones(len(keys), np.int64)
        if not len(self._keys):
            return GraphNeighbours(*_UNKNOWN[:2], len(keys), True)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        has = self._keys[at] == keys
        rows, together = self._rows[at[has]], together[has]
        numbers = self._priors.find(keys[has])
        degree = np.where(numbers >= 0, self._degree[numbers], 0)
        order = np.lexsort((rows, -degree, -together))
        return GraphNeighbours(rows[order], together[order], int((~has).sum()), True)


def _lists(priors: Priors) -> Priors:
    """The priors without the vectors and the passages."""
    none = np.zeros(0, np.int32)
    return msgspec.structs.replace(
        priors,
        list_vectors=np.zeros((len(priors.list_key), 0), np.int8),
        passage_vectors=np.zeros((0, 0), np.int8),
        passage_cited=none,
        passage_list=none,
        encoder="",
    )
