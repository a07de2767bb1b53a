"""The retriever over the full text of papers that the user added as PDFs.

Passages are ranked by BM25, and a paper by its best passage. A hit shows the sentence of that
passage with most of the query's words, and its page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.citing import FullText, Passage
from citewell.corpus.layout import SegmentView
from citewell.documents.context import split_sentences
from citewell.model import Evidence, Query
from citewell.model.cancel import Cancel
from citewell.model.display_text import shorten
from citewell.model.languages import STOPWORDS
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.contract import Mask, Ranking, Retriever
from citewell.retrieval.opening import Opening
from citewell.retrieval.tokens import words

MAX_SNIPPET = 300
"""Characters."""
_PASSAGES = 6
"""Number of passages ranked for each requested paper."""
_STOP = frozenset(word.decode() for word in STOPWORDS)


class FullTextRetriever(Retriever):
    """Ranks papers by their best passage. Thread-safe."""

    name = "full_text"

    def __init__(
        self, texts: Sequence[FullText], rows: Sequence[NDArray[np.int64]], mask: Mask | None = None
    ) -> None:
        """`rows` holds the library's row of each paper of each text, -1 for none."""
        self._texts = texts
        self._mask = mask
        bases = np.cumsum([0, *(len(text) for text in texts)])
        self._bases = bases[:-1]
        views = [
            SegmentView(text.folder, int(base), len(text))
            for text, base in zip(texts, bases[:-1], strict=True)
        ]
        self._terms = Bm25Retriever(views)
        owners = [row[text.papers] for text, row in zip(texts, rows, strict=True)]
        self._row = np.concatenate(owners).astype(np.int64)
        """The library's row of each passage."""

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows. Empty for a query without a known word."""
        found = self._terms.search(query, _PASSAGES * k, cancel)
        rows = self._row[found.rows]
        good = rows >= 0
        if self._mask is not None and (allowed := self._mask(query)) is not None:
            good &= allowed[rows]
        rows, scores = rows[good], found.scores[good]
        first = np.sort(np.unique(rows, return_index=True)[1])[:k]
        return Ranking(rows[first], scores[first])

    def holds(self, query: Query, row: int) -> bool:
        """Whether the best passage of the row has every typed word, of at least two."""
        wanted = wanted_words(query)
        return len(wanted) > 1 and wanted <= set(words(self._passage(self._best(query, row)).text))

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The best passage of the row: its words, a snippet and the page."""
        best = self._best(query, row)
        terms = self._terms.explain(query, best, rank, score).terms
        passage = self._passage(best)
        wanted = set(words(f"{query.text} {query.sentence}")) - _STOP
        return Evidence(
            self.name,
            rank,
            score,
            ("full text",),
            terms,
            snippet=snippet_of(passage.text, wanted),
            page=passage.page,
        )

    def _best(self, query: Query, row: int) -> int:
        """Number of the best passage of a row that has one."""
        own = np.flatnonzero(self._row == row)
        return int(own[np.argmax(self._terms.score_rows(query, own))])

    def _passage(self, number: int) -> Passage:
        text = int(np.searchsorted(self._bases, number, side="right")) - 1
        return self._texts[text].passage(number - int(self._bases[text]))


def wanted_words(query: Query) -> set[str]:
    """The typed words to look up in passages."""
    return set(words(query.text)) - _STOP


def snippet_of(text: str, wanted: set[str]) -> str:
    """The sentence of a passage with most of the words; the first one on ties."""
    sentences = split_sentences(text) or [text]
    best = max(sentences, key=lambda one: len(wanted & set(words(one))))
    return shorten(" ".join(best.split()), MAX_SNIPPET)


def open_full_text(opening: Opening) -> FullTextRetriever | None:
    """None without columns, and if the library has no full text."""
    texts = [part.full_text() for part in opening.library.citing if part.use.texts]
    if opening.columns is None or not any(map(len, texts)):
        return None
    keys = opening.columns.keys()
    order = np.argsort(keys, kind="stable")
    order = order[opening.live[order]]
    held = keys[order]
    rows = []
    for text in texts:
        at = np.minimum(np.searchsorted(held, text.keys), max(0, len(held) - 1))
        known = (held[at] == text.keys) & (text.keys != 0) if len(held) else np.zeros(0, np.bool_)
        rows.append(np.where(known, order[at], -1))
    return FullTextRetriever(texts, rows, opening.mask)
