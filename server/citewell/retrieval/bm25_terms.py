"""From a query to the terms of the BM25 index: stemmed words, names, years and title names."""

from __future__ import annotations

from citewell.model import Query
from citewell.retrieval.understand import Weights, wanted

_KNOWN_STEMS = 8192
"""Words whose stems are kept, about 1 MB."""


class QueryTerms:
    """Reads queries with some weights. Safe to call from any thread."""

    def __init__(self, weights: Weights | None) -> None:
        import Stemmer

        self._stemmer = Stemmer.Stemmer
        self._stems: dict[str, bytes] = {}
        self._weights = weights

    def stem(self, word: str) -> bytes:
        """The term of a word."""
        stem = self._stems.get(word)
        if stem is None:
            # A stemmer is not safe across threads.
            stem = self._stemmer("english").stemWord(word).encode()
            if len(self._stems) >= _KNOWN_STEMS:
                self._stems.clear()
            self._stems[word] = stem
        return stem

    def of(self, query: Query) -> dict[bytes, tuple[float, str]]:
        """Of each term, whether or not the index knows it, its weight, and the word as written."""
        sought = wanted(query, self._weights)
        weight: dict[bytes, float] = {}
        surface: dict[bytes, str] = {}
        for word, value in sought.words.items():
            term = self.stem(word)
            weight[term] = weight.get(term, 0.0) + value
            surface.setdefault(term, word)
        for prefix, values in (
            (b"a:", sought.names),
            (b"n:", sought.acronyms),
            (b"y:", {str(year): value for year, value in sought.years.items()}),
        ):
            for name, value in values.items():
                weight[prefix + name.encode()] = value
                surface[prefix + name.encode()] = name
        return {term: (value, surface[term]) for term, value in weight.items()}
