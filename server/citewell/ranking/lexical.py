"""Lexical features: words of a passage against titles, authors and years of candidates."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.corpus.columns import Columns, name_hash, word_hash, year_match
from citewell.model import Query
from citewell.model.query import MARK, OTHER
from citewell.model.titles import normalise_title

# Finds 32-bit hashes in sorted arrays faster than a binary search, since hashes are evenly
# distributed.

_LOW = 0xFFFF
"""Mask of the lower bits, which exclude nearly all values without a match."""
_FEWEST_BITS = 8


def matches(
    values: NDArray[np.uint32], keys: NDArray[np.uint32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Ascending indices in `values` of the keys found, and the index of each among the sorted
    `keys`.

    For many values and few keys: a table of their lower bits excludes nearly all values.
    """
    none = np.zeros(0, np.intp)
    if not len(keys) or not len(values):
        return none, none
    may_be = np.zeros(_LOW + 1, np.bool_)
    may_be[keys & _LOW] = True
    at = np.flatnonzero(may_be.take(values & _LOW))
    place = np.minimum(np.searchsorted(keys, values[at]), len(keys) - 1)
    hit = keys[place] == values[at]
    return at[hit], place[hit]


class HashIndex:
    """Distinct hashes, ascending, with the start of each run of equal upper bits."""

    def __init__(self, hashes: NDArray[np.uint32]) -> None:
        self._hashes = hashes
        bits = max(_FEWEST_BITS, len(hashes).bit_length() - 1)
        self._shift = np.uint32(32 - bits)
        counts = np.bincount(hashes >> self._shift, minlength=1 << bits)
        self._starts = np.zeros((1 << bits) + 1, np.int32)
        np.cumsum(counts, out=self._starts[1:])

    def find(self, values: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Index of each value, -1 if it is not among the hashes; shape (n,)."""
        out = np.full(len(values), -1, np.intp)
        if not len(self._hashes):
            return out
        run = (values >> self._shift).astype(np.intp)
        place = self._starts.take(run).astype(np.intp)
        end = self._starts.take(run + 1)
        left = np.flatnonzero(place < end)
        while len(left):
            at = place[left]
            found = self._hashes.take(at)
            hit = found == values[left]
            out[left[hit]] = at[hit]
            place[left] += 1
            left = left[(found < values[left]) & (place[left] < end[left])]
        return out


NAMES = (
    "title_in_sentence", "title_near", "title_in_text", "title_in_before", "title_in_topic",
    "sentence_explained", "title_whole", "opening_near", "opening_before", "initials_near",
    "first_author_near", "authors_named", "author_before", "year_named", "words_matched",
)  # fmt: skip

_WORDS = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_YEAR = re.compile(r"(?<![\d.])(19[5-9]\d|20[0-4]\d)(?![\d.]*\d)")
_REACH = 8.0
"""Distance in words at which nearness has fallen to 1/e."""
_LONGEST = 150


class HashedQuery(msgspec.Struct, frozen=True):
    """A query's words as sorted, weighted hashes."""

    near: tuple[NDArray[np.uint32], NDArray[np.float32]]
    """Words of the sentence and of the typed text, with their nearness in (0, 1]."""
    text: tuple[NDArray[np.uint32], NDArray[np.float32]]
    before: tuple[NDArray[np.uint32], NDArray[np.float32]]
    topic: tuple[NDArray[np.uint32], NDArray[np.float32]]
    names: tuple[NDArray[np.uint32], NDArray[np.float32]]
    """Capitalised words (any word of a typed text), as possible surnames and method names."""
    names_before: tuple[NDArray[np.uint32], NDArray[np.float32]]
    initials: tuple[NDArray[np.uint32], NDArray[np.float32]]
    years: tuple[int, ...]


def read_passage(query: Query) -> HashedQuery:
    """Hash the words of a query for look-ups."""
    near: dict[int, float] = {}
    names: dict[int, float] = {}
    initials: dict[int, float] = {}
    left, mark, right = query.sentence.replace(OTHER, " ").partition(MARK)
    sides = [(left, True), (right, False)] if mark else [(left, False)]
    for side, backwards in sides:
        found = _WORDS.findall(side)
        found = found[::-1][:_LONGEST] if backwards else found[:_LONGEST]
        share = 1.0 if mark else 0.3
        for at, word in enumerate(found):
            weight = share * 2.718281828 ** (-at / _REACH) if mark else share
            _note(near, normalise_title(word).split(), max(weight, 0.05))
            if any(c.isupper() for c in word):
                _note_name(names, initials, word, weight)
    for word in _WORDS.findall(query.text)[:_LONGEST]:
        _note(near, normalise_title(word).split(), 1.0)
        _note_name(names, initials, word, 1.0)
    text: dict[int, float] = {}
    _note(text, normalise_title(query.text).split()[:_LONGEST], 1.0)
    before: dict[int, float] = {}
    names_before: dict[int, float] = {}
    for age, sentence in enumerate(reversed(query.before[-3:])):
        plain = sentence.replace(OTHER, " ")
        _note(before, normalise_title(plain).split()[:_LONGEST], 1 / (1 + age))
        for word in _WORDS.findall(plain)[:_LONGEST]:
            if word[0].isupper() or any(c.isupper() for c in word[1:]):
                _note_name(names_before, {}, word, 1 / (1 + age))
    topic: dict[int, float] = {}
    _note(topic, normalise_title(query.paper.title).split()[:60], 1.0)
    years = tuple(int(y) for y in _YEAR.findall(f"{query.sentence} {query.text}"))
    return HashedQuery(
        _sorted(near), _sorted(text), _sorted(before), _sorted(topic), _sorted(names),
        _sorted(names_before), _sorted(initials), years,
    )  # fmt: skip


def _note(found: dict[int, float], words: Sequence[str], weight: float) -> None:
    for word in words:
        number = word_hash(word)
        if found.get(number, 0.0) < weight:
            found[number] = weight


def _note_name(
    names: dict[int, float], initials: dict[int, float], word: str, weight: float
) -> None:
    for part in {word, *word.replace("’", "'").removesuffix("'s").split("-")}:
        number = name_hash(part)
        if names.get(number, 0.0) < weight:
            names[number] = weight
    if sum(c.isupper() for c in word) >= 2 and 2 <= len(word) <= 8:
        plain = "".join(c for c in word.lower() if c.isalnum())
        for form in {plain, plain.removesuffix("s")}:
            number = zlib.crc32(form.encode())
            if initials.get(number, 0.0) < weight:
                initials[number] = weight


def _sorted(found: dict[int, float]) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    keys = np.array(sorted(found), np.uint32)
    return keys, np.array([found[int(key)] for key in keys], np.float32)


def _look(
    values: NDArray[np.uint32], *tables: tuple[NDArray[np.uint32], NDArray[np.float32]]
) -> list[NDArray[np.float32]]:
    """For each table, the weight of each value, 0 if it is missing."""
    keys = distinct(np.concatenate([keys for keys, _ in tables]))
    at, place = matches(values, keys)
    found = []
    for own, weights in tables:
        weight = np.zeros(len(keys), np.float32)
        weight[np.searchsorted(keys, own)] = weights
        out = np.zeros(len(values), np.float32)
        out[at] = weight[place]
        found.append(out)
    return found


def _sum(values: NDArray[np.float32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    ends = np.concatenate([np.zeros(1, np.float64), np.cumsum(values, dtype=np.float64)])
    return np.asarray(ends[starts[1:]] - ends[starts[:-1]], np.float32)


class TitleWords:
    """Inverse document frequencies of title words in the library."""

    def __init__(self, words: NDArray[np.uint32], counts: NDArray[np.int64], papers: int) -> None:
        """`words` are distinct and ascending."""
        self._index = HashIndex(words)
        idf = np.log1p(papers / np.maximum(counts, 1)).astype(np.float32)
        # A word that is not found, at index -1, counts like one seen once.
        self._idf = np.append(idf, np.float32(np.log1p(papers)))
        self._last: tuple[NDArray[np.uint32], NDArray[np.float32]] | None = None

    def idf(self, words: NDArray[np.uint32]) -> NDArray[np.float32]:
        """The idf of each word; for an unknown one, that of a word seen once.

        The last array is cached: several features use the words of the same candidates.
        """
        last = self._last
        if last is not None and last[0] is words:
            return last[1]
        found = self.of(words)
        self._last = (words, found)
        return found

    def of(self, words: NDArray[np.uint32]) -> NDArray[np.float32]:
        """The idf of each word, shape (n,), without caching."""
        return self._idf[self._index.find(words)]


def lexical(passage: HashedQuery, columns: Columns, words: TitleWords) -> NDArray[np.float32]:
    """Shape (n, len(NAMES)), one row a candidate."""
    out = np.zeros((len(columns), len(NAMES)), np.float32, order="F")
    starts = columns.word_starts
    idf = words.idf(columns.word)
    total = np.maximum(_sum(idf, starts), 1e-6)
    near, text, before, topic = _look(
        columns.word, passage.near, passage.text, passage.before, passage.topic
    )
    matched = near > 0
    shared = _sum(idf * matched, starts)
    out[:, 0] = shared / total
    out[:, 1] = _sum(idf * near, starts)
    out[:, 2] = _sum(idf * (text > 0), starts) / total
    out[:, 3] = _sum(idf * (before > 0), starts) / total
    out[:, 4] = _sum(idf * (topic > 0), starts) / total
    out[:, 5] = shared / max(float(words.of(passage.near[0]).sum()), 1e-6)
    out[:, 6] = (out[:, 0] > 0.99) & (np.diff(starts) > 1)
    opening, opening_before = _look(columns.opening, passage.names, passage.names_before)
    has_opening = columns.opening != 0
    out[:, 7] = opening * has_opening
    out[:, 8] = opening_before * has_opening
    (initials,) = _look(columns.initials, passage.initials)
    out[:, 9] = initials * (columns.initials != 0)
    named, named_before = _look(columns.surname, passage.names, passage.names_before)
    filled = np.diff(columns.surname_starts) > 0
    first = columns.surname_starts[:-1][filled]
    if len(named):
        out[filled, 10] = named[first]
        out[filled, 12] = named_before[first]
    out[:, 11] = _sum((named > 0).astype(np.float32), columns.surname_starts)
    out[:, 13] = year_match(columns.year, passage.years, other=0.0, none=-1.0)
    out[:, 14] = _sum(matched.astype(np.float32), starts)
    return out
