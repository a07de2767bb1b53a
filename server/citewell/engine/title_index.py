"""The papers whose titles share the rarest words of another title, found in the index of words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.bm25_build import TITLE
from citewell.retrieval.bm25_segment import IndexSegment
from citewell.retrieval.words import split

COMMON = 60_000
"""A word in more papers than this costs too much for how little it distinguishes titles."""
BLOCK = 8
"""Number of a title's rarest words that are looked up."""
MOST = 20_000
"""Maximum number of titles that the words of one title may retrieve."""
LEAST_WORDS = 3
"""Words that are looked up whatever they bring."""
COMPARED = 24
"""Papers whose titles are compared letter by letter."""
REMEMBERED = 4_000_000
"""Rows (of four bytes) that are kept between look-ups: words of titles come again and again."""

_Postings = tuple[tuple[int, int, slice], ...]
"""For each segment with the term: how many papers have it, the segment's number, their place."""


class TitleIndex:
    """Reads the index of words of one open library; safe to call from any thread."""

    def __init__(self, segments: Sequence[IndexSegment], rows: int) -> None:
        """`rows` is the number of the library's rows."""
        import Stemmer

        self._stemmer = Stemmer.Stemmer
        self._segments = segments
        self._rows = rows
        self._postings: dict[bytes, _Postings] = {}
        self._titled: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._held = 0

    def similar(self, titles: Sequence[str]) -> list[list[int]]:
        """For each title the rows, rising, that share the most and rarest words with it."""
        stem = self._stemmer("english").stemWord
        score = np.zeros(self._rows, np.float32)
        return [
            self._block(dict.fromkeys(stem(word.decode()).encode() for word in split(title)), score)
            for title in titles
        ]

    def _block(self, terms: dict[bytes, None], score: NDArray[np.float32]) -> list[int]:
        """`score` is of zeros, one a row, and is left so."""
        postings = [one for term in terms for one in self._postings_of(term)]
        postings.sort(key=lambda one: one[:2])
        found: list[NDArray[np.int32]] = []
        total = 0
        for _, number, at in postings[: BLOCK * len(self._segments)]:
            rows = self._with_word(number, at)
            total += len(rows)
            if total > MOST and len(found) >= LEAST_WORDS:
                break
            found.append(rows)
        if not total:
            return []
        # Places of that size are not converted again, and `add.at` needs a third of the time of
        # `+=` with an index.
        every = np.concatenate(found, dtype=np.intp)
        begin = 0
        for rows in found:
            end = begin + len(rows)
            np.add.at(score, every[begin:end], np.float32(math.log(1e6 / max(1, len(rows)))))
            begin = end
        reached = score[every]
        score[every] = 0.0
        # A row is in there once for each of its words.
        most = COMPARED * len(found)
        if len(every) > most:
            kept = np.argpartition(-reached, most)[:most]
            every, reached = every[kept], reached[kept]
        order = np.lexsort((every, -reached))
        return sorted(list(dict.fromkeys(every[order].tolist()))[:COMPARED])

    def _postings_of(self, term: bytes) -> _Postings:
        found = self._postings.get(term)
        if found is None:
            places = []
            for number, segment in enumerate(self._segments):
                column = segment.column(term)
                if column >= 0:
                    at = segment.postings(column)
                    if at.stop - at.start <= COMMON:
                        places.append((at.stop - at.start, number, at))
            if len(self._postings) * 64 > REMEMBERED:
                self._postings.clear()
            found = self._postings[term] = tuple(places)
        return found

    def _with_word(self, number: int, at: slice) -> NDArray[np.int32]:
        """Live rows of a posting list whose title holds the word."""
        rows = self._titled.get((number, at.start))
        if rows is None:
            segment = self._segments[number]
            own = segment.rows[at][(segment.fields[at] & TITLE) != 0]
            if segment.dead is not None:
                own = own[~segment.dead[own]]
            rows = own.astype(np.int32) + np.int32(segment.base)
            if self._held > REMEMBERED:
                self._titled, self._held = {}, 0
            self._titled[number, at.start] = rows
            self._held += len(rows)
        return rows
