"""Which papers of a library cite which, as far as the citation priors record it.

For some citing papers, the priors hold the list of what they cite, by title key. Such a list is a
sample of the literature: the citations in it exist, and nothing is known of those it omits.
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
    """The papers beside one in the graph, the ones cited most often first."""

    rows: NDArray[np.int64]
    """Rows of the library."""
    together: NDArray[np.int64]
    """For `cocited` how many papers cite both; else 1. Shape as `rows`."""
    elsewhere: int
    """How many more there are that the library does not hold."""
    known: bool
    """False where nothing is known of this paper, which is not the same as none."""


_UNKNOWN = GraphNeighbours(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, False)


class CitationGraph:
    """Immutable; safe across threads. Holds no text and no vectors."""

    def __init__(
        self, parts: Sequence[Priors], columns: LibraryColumns, live: NDArray[np.bool_]
    ) -> None:
        """`live` says of each row whether it stands, shape (columns.end,)."""
        self._priors = joined([_lists(part) for part in parts]) if parts else None
        keys = columns.keys()
        # Of several rows with one title the one with an abstract stands for them.
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
        """Of the paper whose title has this key (`columns.title_key`)."""
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

    def _list_of(self, key: int) -> NDArray[np.int32] | None:
        """Numbers of what the paper cites; None where its list is not known."""
        assert self._priors is not None
        at = int(np.searchsorted(self._list_keys, np.uint64(key)))
        if at == len(self._list_keys) or self._list_keys[at] != np.uint64(key):
            return None
        one, starts = self._list_order[at], self._priors.list_starts
        return distinct(self._priors.list_cited[starts[one] : starts[one + 1]])

    def _held(
        self, keys: NDArray[np.uint64], together: NDArray[np.int64] | None = None
    ) -> GraphNeighbours:
        """Those that the library holds: cited together most often, then cited most often."""
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
    """Without the vectors and the passages."""
    none = np.zeros(0, np.int32)
    return msgspec.structs.replace(
        priors,
        list_vectors=np.zeros((len(priors.list_key), 0), np.int8),
        passage_vectors=np.zeros((0, 0), np.int8),
        passage_cited=none,
        passage_list=none,
        encoder="",
    )
