"""Features of typed words per candidate: title, names, year, and how well they explain it.

The head's own features combine typed words and sentence. These let the typed words decide, and the
head break ties.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import NO_ALIASES, Alias, Aliases
from citewell.corpus.arrays import is_among
from citewell.corpus.columns import Columns, name_hash, title_key, word_hash, year_match
from citewell.model.titles import normalise_title
from citewell.ranking.features import places
from citewell.ranking.lexical import TitleWords

NAMES = (
    "exact", "typed_explained", "title_covered", "both_covered", "in_order", "opens_title",
    "typed_in_title", "first_author", "any_author", "year", "author_and_year", "opening",
    "opening_whole", "initials", "bm25_share", "bm25_rank", "likeness", "likeness_gap",
    "likeness_rank", "head", "head_gap", "head_rank", "popularity", "citations", "words",
    "in_sentence", "unexplained", "explained_rank", "rarest_in_title", "rarest_explained",
    "called", "called_whole", "called_gap",
)  # fmt: skip
RISING = frozenset(NAMES[:15]) | {
    "likeness", "likeness_gap", "head", "head_gap", "popularity", "rarest_in_title",
    "rarest_explained", "called", "called_whole", "called_gap",
}  # fmt: skip
"""Features for which a greater value is never worse."""
FALLING = frozenset({"bm25_rank", "likeness_rank", "head_rank", "unexplained", "explained_rank"})
MOST_WORDS = 24
_YEAR = re.compile(r"(?:19[5-9]|20[0-4])\d")
_YEAR_WEIGHT = 4.0
"""Weight of a year among the typed words; the other weights are logarithms of rarity."""
_SHORTEST_HALF = 3
_NOWHERE = np.zeros(0, np.int64)
LONGEST_NAME = 3
"""Words of a surname or of the name before a colon."""
TITLE_SHARE, FIRST = 0.3, 0.1
"""Additions for a title typed in full, and for a first author, to the share of the typed words that
a candidate explains (at most 1), in the rank by that share."""


class TypedInputs(msgspec.Struct, frozen=True):
    """The known data of n candidates and the typed words, shapes (n,)."""

    text: str
    columns: Columns
    bm25: NDArray[np.float32]
    """BM25 of the typed words alone."""
    likeness: NDArray[np.float32]
    """Cosine of the typed words' vector and the paper's."""
    head: NDArray[np.float32]
    """The head's scores."""
    popularity: NDArray[np.float32]
    citations: NDArray[np.float32]
    in_sentence: bool
    aliases: Aliases = NO_ALIASES
    """Names that others use for papers."""


def typed_features(typed: TypedInputs, words: TitleWords) -> NDArray[np.float32]:
    """Shape (n, len(NAMES)), float32."""
    columns, count = typed.columns, len(typed.columns)
    spelled = normalise_title(typed.text).split()[:MOST_WORDS]
    found = _Match(spelled, columns, words, typed.aliases)
    out = np.zeros((count, len(NAMES)), np.float32)
    weight = found.weight[:, None]
    total = max(float(weight.sum()), 1e-6)
    explained = found.in_title | found.named | found.dated
    out[:, 0] = (columns.key == np.uint64(title_key(typed.text))) & (columns.key != 0)
    out[:, 1] = (weight * explained).sum(axis=0) / total
    out[:, 2] = found.covered
    out[:, 3] = np.minimum(out[:, 1], out[:, 2])
    out[:, 4], out[:, 5] = _order(found.place)
    out[:, 6] = (weight * found.in_title).sum(axis=0) / total
    out[:, 7], out[:, 8] = found.first_author, found.any_author
    out[:, 9] = found.year
    out[:, 10] = np.where(out[:, 8] > 0, np.maximum(out[:, 9], 0) * out[:, 8], 0)
    out[:, 11], out[:, 12], out[:, 13] = found.opening, found.opening_whole, found.initials
    out[:, 14] = typed.bm25 / max(float(typed.bm25.max(initial=0)), 1e-6)
    out[:, 15] = places(typed.bm25)
    out[:, 16] = typed.likeness
    out[:, 17] = typed.likeness - typed.likeness.max(initial=-1)
    out[:, 18] = places(typed.likeness)
    out[:, 19] = typed.head
    out[:, 20] = typed.head - typed.head.max(initial=-99)
    out[:, 21] = places(typed.head)
    out[:, 22], out[:, 23] = typed.popularity, typed.citations
    out[:, 24] = len(spelled)
    out[:, 25] = typed.in_sentence
    out[:, 26] = (weight * ~explained).sum(axis=0)
    out[:, 27] = places(out[:, 1] + TITLE_SHARE * out[:, 2] + FIRST * (out[:, 7] > 0))
    if len(spelled):
        rarest = int(np.argmax(found.weight))
        out[:, 28], out[:, 29] = found.in_title[rarest], explained[rarest]
    out[:, 30], out[:, 31] = found.called, found.called_whole
    out[:, 32] = found.called - found.called_best
    return out


class _Match:
    """Typed words matched with candidates: one row a word, one column a candidate."""

    def __init__(
        self, spelled: list[str], columns: Columns, words: TitleWords, aliases: Aliases
    ) -> None:
        count = len(columns)
        years = [int(w) if _YEAR.fullmatch(w) else 0 for w in spelled]
        hashes = np.array([word_hash(w) for w in spelled], np.uint32)
        self.weight = np.where(np.array(years) > 0, _YEAR_WEIGHT, words.of(hashes))
        self.weight = self.weight.astype(np.float32)
        shape = (len(spelled), count)
        self.in_title = np.zeros(shape, np.bool_)
        self.place = np.full(shape, -9, np.int32)
        self.named = np.zeros(shape, np.bool_)
        self.dated = np.zeros(shape, np.bool_)
        self.first_author = np.zeros(count, np.float32)
        self.any_author = np.zeros(count, np.float32)
        self.opening = np.zeros(count, np.float32)
        self.opening_whole = np.zeros(count, np.float32)
        self.initials = np.zeros(count, np.float32)
        self.called = np.zeros(count, np.float32)
        self.called_whole = np.zeros(count, np.float32)
        self.called_best = 0.0
        """Strength of the likeliest work of any typed name, in the library or not."""
        self._owner = np.repeat(np.arange(count), np.diff(columns.word_starts))
        self._by = np.repeat(np.arange(count), np.diff(columns.surname_starts))
        self._columns = columns
        self._words = _Hits(columns.word, _pieces(spelled))
        runs = {
            (at, size): "".join(spelled[at : at + size])
            for size in range(1, LONGEST_NAME + 1)
            for at in range(len(spelled) - size + 1)
            if not any(years[at : at + size])
        }
        named = {word: name_hash(word) for word in runs.values()}
        self._surnames = _Hits(columns.surname, named.values())
        self._openings = _Hits(columns.opening, named.values())
        met = np.zeros(len(columns.word), np.bool_)
        for at in range(len(spelled)):
            self._in_title(at, [int(hashes[at])], met)
        for at, word in enumerate(spelled):
            if years[at]:
                self.dated[at] = np.abs(columns.year.astype(np.int32) - years[at]) <= 1
            else:
                self._parted(at, word, met)
        for at in range(len(spelled) - 1):
            self._joined(at, spelled[at] + spelled[at + 1], met)
        for (at, size), word in runs.items():
            self._names(at, size, named[word])
            self._others_call(at, size, aliases.of(word), whole=size == len(spelled))
            if size == 1 and len(word) > 2:
                self._initials(at, word)
        if spelled:
            entire = np.uint32(name_hash("".join(spelled)))
            self.opening_whole = (columns.opening == entire).astype(np.float32)
        typed_years = [year for year in years if year]
        self.year = year_match(columns.year, typed_years, other=-1.0, none=0.0)
        idf = words.idf(columns.word)
        whole = np.bincount(self._owner, idf, count)
        part = np.bincount(self._owner, idf * met, count)
        self.covered = np.divide(part, whole, out=np.zeros(count), where=whole > 0)

    def _in_title(self, at: int, hashes: list[int], met: NDArray[np.bool_]) -> None:
        """Record the titles with the word, or all its parts, and its position."""
        places = [self._words.at(one) for one in hashes]
        owners = self._owner[places[0]]
        for one in places[1:]:
            owners = owners[is_among(owners, self._owner[one])]
        for one in places:
            inside = one if len(places) == 1 else one[is_among(self._owner[one], owners)]
            met[inside] = True
            owner = self._owner[inside]
            self.place[at, owner] = inside - self._columns.word_starts[owner]
        self.in_title[at, owners] = True

    def _parted(self, at: int, word: str, met: NDArray[np.bool_]) -> None:
        """Match "pretraining" with a title's "pre-training"."""
        for halves in _halves(word):
            hashes = [word_hash(half) for half in halves]
            if all(len(self._words.at(one)) for one in hashes):
                self._in_title(at, hashes, met)

    def _joined(self, at: int, word: str, met: NDArray[np.bool_]) -> None:
        """Match "pre training" with a title's "pretraining"."""
        found = self._words.at(word_hash(word))
        if len(found):
            met[found] = True
            owner = self._owner[found]
            self.in_title[at, owner] = self.in_title[at + 1, owner] = True
            place = found - self._columns.word_starts[owner]
            self.place[at, owner], self.place[at + 1, owner] = place - 1, place

    def _names(self, at: int, size: int, name: int) -> None:
        """Match consecutive words with a surname or the name before the colon."""
        own = self._surnames.at(name)
        if len(own):
            owner = self._by[own]
            self.named[at : at + size, owner] = True
            first = self._columns.surname_starts[owner] == own
            np.add.at(self.first_author, owner, first.astype(np.float32))
            np.add.at(self.any_author, owner, np.float32(1))
        opens = self._openings.at(name)
        self.named[at : at + size, opens] = True
        self.opening[opens] = 1

    def _others_call(self, at: int, size: int, works: Sequence[Alias], *, whole: bool) -> None:
        """Match consecutive words with a name that others use for a candidate."""
        for alias in works:
            self.called_best = max(self.called_best, alias.strength)
            rows = np.flatnonzero(self._columns.key == np.uint64(alias.key))
            self.named[at : at + size, rows] = True
            self.called[rows] = np.maximum(self.called[rows], alias.strength)
            if whole:
                self.called_whole[rows] = np.maximum(self.called_whole[rows], alias.strength)

    def _initials(self, at: int, word: str) -> None:
        short = np.flatnonzero(self._columns.initials == np.uint32(zlib.crc32(word.encode())))
        self.named[at, short] = True
        self.initials[short] = 1


class _Hits:
    """Occurrences of hashes among many values."""

    def __init__(self, values: NDArray[np.uint32], wanted: Iterable[int]) -> None:
        self._places: dict[int, NDArray[np.int64]] = {}
        keys = np.array(sorted(set(wanted)), np.uint32)
        if not len(keys):
            return
        key = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
        found = np.flatnonzero(keys[key] == values)
        # Most hashes of parts of words do not occur, and are looked up without an array.
        key = key[found]
        order = np.argsort(key, kind="stable")
        found, key = found[order], key[order]
        ends = np.flatnonzero(np.append(key[1:] != key[:-1], len(key) > 0)) + 1
        begin = 0
        for end, value in zip(ends.tolist(), keys[key[ends - 1]].tolist(), strict=True):
            self._places[value] = found[begin:end]
            begin = end

    def at(self, wanted: int) -> NDArray[np.int64]:
        """Indices of one of the hashes, ascending."""
        return self._places.get(wanted, _NOWHERE)


def _halves(word: str) -> list[tuple[str, str]]:
    cuts = range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1)
    return [(word[:cut], word[cut:]) for cut in cuts]


def _pieces(spelled: Sequence[str]) -> set[int]:
    """Hashes of the words, of their halves, and of two consecutive ones joined."""
    found = {*spelled, *(half for word in spelled for pair in _halves(word) for half in pair)}
    found |= {spelled[at] + spelled[at + 1] for at in range(len(spelled) - 1)}
    return {word_hash(word) for word in found}


def _order(place: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Per candidate, the share of the words that occur in the title in the typed order without a
    gap, and whether all of them do from its first word."""
    if not len(place):
        nothing = np.zeros(place.shape[1], np.float32)
        return nothing, nothing
    known = (place[:-1] >= 0) & (place[1:] >= 0)
    follows = known & (place[1:] == place[:-1] + 1)
    share = follows.mean(axis=0) if len(follows) else (place[0] >= 0)
    share = np.asarray(share, np.float32)
    return share, ((place[0] == 0) & (share >= 1)).astype(np.float32)
