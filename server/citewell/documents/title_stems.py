"""Which titles have a stem: the words of a segment's titles, reduced by the English stemmer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Stem = Callable[[Sequence[str]], list[str]]


@lru_cache(maxsize=1)
def english_stemmer() -> Stem:
    """The stemmer of titles and queries; loaded when first asked for."""
    import Stemmer

    stem: Stem = Stemmer.Stemmer("english").stemWords
    return stem


class TitleStems:
    """Postings of stems: rows by stem, each row once."""

    def __init__(
        self,
        vocabulary: Sequence[str],
        starts: NDArray[np.int64],
        rows: NDArray[np.int32],
        in_title: NDArray[np.bool_],
    ) -> None:
        self._numbers: dict[str, int] = {}
        numbers = self._numbers
        stem_of = np.fromiter(
            (numbers.setdefault(stem, len(numbers)) for stem in english_stemmer()(vocabulary)),
            np.int64,
            len(vocabulary),
        )
        of_posting = np.repeat(stem_of, np.diff(starts))
        pairs = np.unique(of_posting[in_title] << 32 | rows[in_title])
        self._rows = pairs & 0xFFFFFFFF
        self._starts = np.searchsorted(pairs >> 32, np.arange(len(numbers) + 1))

    def rows(self, stem: str) -> NDArray[np.int64]:
        """Rows whose title has the stem."""
        number = self._numbers.get(stem)
        if number is None:
            return np.empty(0, np.int64)
        found: NDArray[np.int64] = self._rows[self._starts[number] : self._starts[number + 1]]
        return found
