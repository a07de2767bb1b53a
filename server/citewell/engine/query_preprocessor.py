"""Reads the words that an author typed, as far as that takes a library."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus import Library
from citewell.corpus.columns import LibraryColumns, name_hash
from citewell.engine.signals import LibrarySignals
from citewell.model import Query
from citewell.retrieval.spelling import corrected
from citewell.retrieval.structure import structured


class QueryPreprocessor:
    """Filters out of typed words, and typing errors mended. Safe to call from any thread."""

    def __init__(
        self,
        library: Library | None,
        columns: LibraryColumns | None,
        signals: LibrarySignals | None,
    ) -> None:
        self._library, self._columns, self._signals = library, columns, signals

    def read(self, query: Query) -> Query:
        """The query as it is asked. A title that the library holds is taken as it stands: "What
        does BERT look at?" asks for one paper and is no question for papers."""
        if not query.typed:
            return structured(query)
        if self._is_title(query.text):
            return query
        query = structured(query)
        if self._columns is None or self._signals is None:
            return query
        text = corrected(query.text, self._counts, self._is_name)
        return query if text == query.text else msgspec.structs.replace(query, text=text)

    def _is_title(self, text: str) -> bool:
        return self._library is not None and bool(self._library.by_title_rows(text))

    def _counts(self, words: Sequence[int]) -> NDArray[np.int64]:
        assert self._signals is not None
        hashes, counts, _ = self._signals.title_words()
        wanted = np.array(words, np.uint32)
        if not len(hashes):
            return np.zeros(len(wanted), np.int64)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return np.where(hashes[at] == wanted, counts[at], 0)

    def _is_name(self, word: str) -> bool:
        assert self._columns is not None
        name = np.uint32(name_hash(word))
        return any(
            bool((part.surname == name).any() or (part.opening == name).any())
            for _, part in self._columns.parts()
        )
