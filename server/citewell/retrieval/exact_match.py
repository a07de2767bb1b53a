"""Finds the papers that typed words name: by the title, the name before its colon, an author, or a
name that others use.

The other retrievers weigh words: papers with a common surname, or with a name found in many
abstracts, would be hidden by papers that merely mention it. Surnames and systems' names are terms
of the BM25 index, so that the cost of a look-up is proportional to the frequency of the name.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import NO_ALIASES, Aliases
from citewell.corpus.arrays import is_among
from citewell.corpus.columns import LibraryColumns, name_hash, title_key
from citewell.model import Evidence, Query
from citewell.model.cancel import Cancel
from citewell.model.languages import STOPWORDS
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.contract import NOTHING, Mask, Ranking, Retriever
from citewell.retrieval.opening import Opening
from citewell.retrieval.words import split

MOST_WORDS = 6
"""Maximum words of a text in which a name is looked up: a longer one is a title or a sentence."""
FEW_WORDS = 3
"""Maximum words of a text in which "he" may be a surname."""
LONGEST_INITIALS = 6
LONGEST_NAME = 3
"""Maximum words of a surname or of the name before a colon."""
WHOLE_TITLE, WHOLE_OPENING, OPENING, FIRST_AUTHOR, AUTHOR, YEAR = 20.0, 8.0, 4.0, 4.0, 2.0, 3.0
"""Weight of each match, added to the logarithm of the number of citations."""
INITIALS = 2.0
"""Weight of a title with the one typed word as its initials: "lda"."""
WHOLE_CALLED, CALLED = 20.0, 10.0
"""Weights of a match by alias, times the share of its users that mean the paper."""
_Weighted = tuple[NDArray[np.int64], NDArray[np.float64]]
_YEAR = re.compile(rb"(?:19[5-9]|20[0-4])\d")


class ExactMatchRetriever(Retriever):
    """Papers by typed title, author, year and system's name. Empty without typed words."""

    name = "exact_match"
    is_short = True

    def __init__(
        self,
        terms: Bm25Retriever,
        columns: LibraryColumns,
        live: NDArray[np.bool_],
        cited: NDArray[np.float32] | None = None,
        aliases: Aliases = NO_ALIASES,
        *,
        mask: Mask | None = None,
    ) -> None:
        """`cited` is the logarithm of each row's number of citations, `live` the mask of live rows,
        `aliases` are names that others use for them."""
        self._terms, self._columns, self._live = terms, columns, live
        self._years = columns.years()
        self._keys = columns.keys()
        self._cited = np.zeros(len(live), np.float32) if cited is None else cited
        self._aliases = aliases
        self._mask = mask

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The best `k` rows; of equal matches, the more cited first."""
        words = split(query.text) if query.typed else []
        if not words:
            return NOTHING
        key = title_key(query.text)
        titled = np.flatnonzero(self._keys == np.uint64(key)) if key else np.zeros(0, np.int64)
        found, weights = [titled], [np.full(len(titled), WHOLE_TITLE)]
        if len(words) <= MOST_WORDS:
            ways = (
                *self._opened(words),
                *self._called(words),
                *self._abbreviated(words),
                *self._written(words),
            )
            for rows, score in ways:
                found.append(rows)
                weights.append(score)
        cancel.check()
        rows, place = np.unique(np.concatenate(found), return_inverse=True)
        scores = np.bincount(place, np.concatenate(weights), len(rows)).astype(np.float32)
        allowed = self._live[rows]
        if self._mask is not None and (mask := self._mask(query)) is not None:
            allowed &= mask[rows]
        rows, scores = rows[allowed], scores[allowed] + self._cited[rows[allowed]]
        own = self._years[rows].astype(np.int32)
        for year in _years(words):
            gap = np.abs(own - year)
            scores += np.where(gap == 0, YEAR, np.where(gap == 1, YEAR / 3, 0)).astype(np.float32)
        best = np.lexsort((rows, -scores))[:k]
        return Ranking(rows[best], scores[best])

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The fields that the words match."""
        return self.explain_all(query, [row], [rank], [score])[0]

    def explain_all(
        self, query: Query, rows: Sequence[int], ranks: Sequence[int], scores: Sequence[float]
    ) -> list[Evidence]:
        """The explanations of several rows: the words are parsed once."""
        words = split(query.text)
        runs = [b"".join(run).decode() for run in _runs(words)]
        names = np.array([name_hash(run) for run in runs], np.uint32)
        called = np.array([one.key for run in runs for one in self._aliases.of(run)], np.uint64)
        years = np.array(list(_years(words)), np.int64)
        own = self._columns.take(np.array(rows, np.int64))
        titled = (own.key == np.uint64(title_key(query.text))) | is_among(own.opening, names)
        if len(words) == 1:
            titled |= own.initials == np.uint32(zlib.crc32(words[0]))
        by = np.zeros(len(rows), np.bool_)
        owners = np.repeat(np.arange(len(rows)), np.diff(own.surname_starts))
        by[owners[is_among(own.surname, names)]] = True
        named = {
            "title": titled,
            "name": is_among(own.key, called),
            "authors": by,
            "year": is_among(own.year, years),
        }
        table = np.stack(list(named.values()), axis=1).tolist()
        shown = tuple(word.decode() for word in words[:12])
        return [
            Evidence(self.name, rank, score, tuple(compress(named, fits)), shown)
            for rank, score, fits in zip(ranks, scores, table, strict=True)
        ]

    def _opened(self, words: Sequence[bytes]) -> list[_Weighted]:
        """Titles that open with a typed name: "BERT: ..."."""
        out = []
        for run in _runs(words):
            rows = self._terms.rows_of(b"n:" + b" ".join(run))
            weight = WHOLE_OPENING if len(run) == len(words) else OPENING
            out.append((rows, np.full(len(rows), weight)))
        return out

    def _called(self, words: Sequence[bytes]) -> list[_Weighted]:
        """Papers with a typed name that others use for them: "resnet"."""
        out = []
        for run in _runs(words):
            weight = WHOLE_CALLED if len(run) == len(words) else CALLED
            for alias in self._aliases.of(b"".join(run).decode()):
                rows = np.flatnonzero(self._keys == np.uint64(alias.key))
                out.append((rows, np.full(len(rows), weight * alias.strength)))
        return out

    def _abbreviated(self, words: Sequence[bytes]) -> list[_Weighted]:
        """Papers with the one typed word as the initials of their title: "lda"."""
        if len(words) > 1 or not 2 < len(words[0]) <= LONGEST_INITIALS:
            return []
        rows = self._columns.rows_abbreviated(words[0].decode())
        return [(rows, np.full(len(rows), INITIALS))]

    def _by(self, word: bytes, words: int) -> NDArray[np.int64]:
        if word not in STOPWORDS:
            return self._terms.rows_of(b"a:" + word)
        # The index of words lacks "He" and "Will"; in a longer text they are not names.
        few = words <= FEW_WORDS
        return self._columns.rows_by(name_hash(word.decode())) if few else np.zeros(0, np.int64)

    def _written(self, words: Sequence[bytes]) -> list[_Weighted]:
        """Papers by authors with a typed name."""
        names = np.array([name_hash(b"".join(run).decode()) for run in _runs(words)], np.uint32)
        out = []
        for word in dict.fromkeys(words):
            if len(word) > 1 and not _YEAR.fullmatch(word):
                rows = self._by(word, len(words))
                first = is_among(self._columns.first_authors(rows), names)
                out.append((rows, np.where(first, FIRST_AUTHOR, AUTHOR)))
        return out


def open_exact_match(opening: Opening) -> ExactMatchRetriever | None:
    """None for a library without columns or without a readable BM25 index."""
    columns, terms = opening.columns, opening.known_terms
    if columns is None or terms is None:
        return None
    context = opening.retriever("citation_context", CitationContextRetriever)
    cited = None if context is None else context.popularity
    return ExactMatchRetriever(
        terms, columns, opening.live, cited, opening.aliases, mask=opening.mask
    )


def _runs(words: Sequence[bytes]) -> list[Sequence[bytes]]:
    """Each word that may be a name, and runs of up to three words."""
    plain = [word for word in words[:MOST_WORDS] if not _YEAR.fullmatch(word) and len(word) > 1]
    return [
        plain[at : at + count]
        for count in range(1, LONGEST_NAME + 1)
        for at in range(len(plain) - count + 1)
    ]


def _years(words: Sequence[bytes]) -> set[int]:
    return {int(word) for word in words if _YEAR.fullmatch(word)}
