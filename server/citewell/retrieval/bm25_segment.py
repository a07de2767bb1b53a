"""The BM25 index of one segment, ordinary or compact, mapped from its files."""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_right
from collections import OrderedDict
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import decode_rows, load_table, row_starts, row_widths, starts_of
from citewell.corpus.errors import unreadable_index
from citewell.corpus.layout import SegmentView
from citewell.retrieval.arrays import open_array
from citewell.retrieval.bm25_build import (
    ABSTRACT,
    AUTHORS,
    NAME,
    TITLE,
    VENUE,
    YEAR,
    lucene_idf,
)

# The BM25 index of a compact segment: hashed terms, postings of a few bits, decoded per term.
#
# The rows of a term are coded together (Elias 1974, Fano 1971); a word's also have a code of four
# bits each for how often the paper has it, from which the score follows. Only the telling words of
# an abstract are there; `frequency` says in how many papers a term stood before the others were
# left out, so that the inverse document frequency is that of the whole texts.

BM25 = "bm25"
"""Name of the index and of its retriever."""
META = "compact.json"
FORMAT = 1
WORD, KINDS = 0, {b"a:": (1, AUTHORS), b"v:": (2, VENUE), b"y:": (3, YEAR), b"n:": (4, NAME)}
"""Kind of a term and, for facts, their field."""
_FIELDS = np.array([0, AUTHORS, VENUE, YEAR, NAME], np.uint8)
TITLE_FROM = 6
FREQUENCIES = np.array([1, 2, 3, 4, 5.5, 8, 4, 5, 6, 7, 8, 9, 10.5, 13, 18, 28], np.float32)
"""Term frequency in the paper, by code; from `TITLE_FROM` on, the word is also in the title."""
LENGTH_STEP = 1.03
"""Ratio between two neighbouring codes of a paper's length."""
_KEPT = 256


def term_hash(term: bytes) -> int:
    """32-bit hash of a term of the index."""
    return int.from_bytes(hashlib.blake2b(term, digest_size=4).digest(), "little")


def kind_of(term: bytes) -> int:
    """Number of the term's kind; 0 for a word."""
    return KINDS.get(term[:2], (WORD, 0))[0]


class TermsMeta(msgspec.Struct, frozen=True, kw_only=True):
    """`compact.json` of the index."""

    format: int = FORMAT
    count: int
    k1: float
    b: float
    pivot: float


class _Postings(NamedTuple):
    rows: NDArray[np.int32]
    scores: NDArray[np.float32]
    codes: NDArray[np.uint8] | np.uint8
    """Frequency of the word in each paper; for a fact, its field."""

    def value(self, which: int, at: Any) -> Any:
        """Rows (0), scores (1) or fields (2) at some places. The fields, which only explanations
        and filters read, are computed on demand."""
        if which < 2:
            return (self.rows, self.scores)[which][at]
        if isinstance(self.codes, np.uint8):
            return np.broadcast_to(self.codes, self.rows.shape)[at]
        is_titled = self.codes[at] >= TITLE_FROM
        return np.where(is_titled, np.uint8(TITLE), np.uint8(ABSTRACT))


class CompactTerms:
    """One compact segment's index, with the interface of `Bm25Segment`. Thread-safe."""

    def __init__(self, view: SegmentView) -> None:
        """Raises `CitewellError` if the index cannot be read."""
        self._folder = view.index(BM25)
        self.base, self.count, self.dead = view.base, view.count, view.dead
        self._lock = threading.Lock()
        self._decoded: OrderedDict[int, _Postings] = OrderedDict()
        try:
            self._meta = msgspec.json.decode((self._folder / META).read_bytes(), type=TermsMeta)
            self._hashes = open_array(self._folder / "terms.npy")
            self._bits = open_array(self._folder / "rows.npy")
            self._codes = open_array(self._folder / "codes.npy")
            self._kinds: NDArray[np.uint8] = load_table(self._folder / "kinds.zst")
            self.pointer = starts_of(load_table(self._folder / "counts.zst"))
            if len(self.pointer) != len(self._hashes) + 1:
                raise ValueError("its files are inconsistent")
            if self._meta.count != view.count or self._meta.format != FORMAT:
                raise ValueError(f"it holds {self._meta.count} papers, not {view.count}")
        except (OSError, ValueError, msgspec.DecodeError) as error:
            raise unreadable_index(
                "The BM25 index", error, self._folder, "Install the library again."
            ) from error
        # A look-up in an array takes ten times as long.
        self._places = self.pointer.data
        self.rows, self.data, self.fields = (_Column(self, place) for place in range(3))

    def column(self, term: bytes) -> int:
        """Number of the term, or -1. Only one of two terms with the same hash is in the index."""
        wanted = np.uint32(term_hash(term))
        at = int(np.searchsorted(self._hashes, wanted))
        if at == len(self._hashes) or self._hashes[at] != wanted:
            return -1
        return at if self._kinds[at] == kind_of(term) else -1

    def fields_of(self, at: slice, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The fields of some papers with a term, by its postings and the papers' slots."""
        found: NDArray[np.uint8] = self.decoded(at.start).value(2, slots)
        return found

    def postings(self, column: int) -> slice:
        """The range of the term's papers and scores."""
        return slice(int(self.pointer[column]), int(self.pointer[column + 1]))

    def frequency(self, column: int) -> int:
        """Number of papers with the term, including those not stored in the index."""
        return int(self._frequency[column])

    def column_at(self, place: int) -> int:
        """Number of the term whose postings include this place."""
        return bisect_right(self._places, place) - 1

    def decoded(self, place: int) -> _Postings:
        """The postings of the term at this place."""
        column = self.column_at(place)
        with self._lock:
            found = self._decoded.get(column)
            if found is not None:
                self._decoded.move_to_end(column)
                return found
        made = self._decode(column)
        with self._lock:
            self._decoded[column] = made
            while len(self._decoded) > _KEPT:
                self._decoded.popitem(last=False)
        return made

    def _decode(self, column: int) -> _Postings:
        at = self.postings(column)
        begin, end = int(self._begin[column]), int(self._begin[column + 1])
        width = int(self._widths[column])
        count = at.stop - at.start
        rows = decode_rows(self._bits, begin, end, count, width)
        idf = lucene_idf(np.array([self.frequency(column)]), self.count)[0]
        kind = int(self._kinds[column])
        if kind != WORD:
            score = np.full(len(rows), idf / np.float32(1 + self._meta.k1), np.float32)
            return _Postings(rows, score, _FIELDS[kind])
        first = int(self._word_starts[column])
        pairs = self._codes[first >> 1 : (first + count + 1) >> 1]
        codes = np.empty((len(pairs), 2), np.uint8)
        np.bitwise_and(pairs, 15, out=codes[:, 0])
        np.right_shift(pairs, 4, out=codes[:, 1])
        code = codes.reshape(-1)[first & 1 :][:count]
        score = FREQUENCIES[code]
        damp = self._damp[rows]
        damp += score
        score /= damp
        score *= idf
        return _Postings(rows, score, code)

    @cached_property
    def _begin(self) -> NDArray[np.int64]:
        """Bit at which each term's rows begin."""
        return row_starts(np.diff(self.pointer), self.count)

    @cached_property
    def _widths(self) -> NDArray[np.int64]:
        return row_widths(np.diff(self.pointer), self.count)

    @cached_property
    def _frequency(self) -> NDArray[np.int32]:
        return load_table(self._folder / "frequency.zst")

    @cached_property
    def _word_starts(self) -> NDArray[np.int64]:
        """The start of each word's codes: facts have none."""
        return starts_of(np.where(self._kinds == WORD, np.diff(self.pointer), 0))

    @cached_property
    def _damp(self) -> NDArray[np.float32]:
        """The part of the score's denominator from a paper's length, shape (count,)."""
        meta = self._meta
        length = LENGTH_STEP ** np.arange(256, dtype=np.float32) - 1
        damp = meta.k1 * (1 - meta.b + meta.b * length / meta.pivot)
        code: NDArray[np.uint8] = load_table(self._folder / "lengths.zst")
        return damp.astype(np.float32)[code]


class _Column:
    """One of the arrays of an ordinary index, by the places of one term."""

    def __init__(self, terms: CompactTerms, which: int) -> None:
        self._terms, self._which = terms, which

    def __getitem__(self, at: slice) -> Any:
        if at.stop <= at.start:
            return np.zeros(0, (np.int32, np.float32, np.uint8)[self._which])
        postings = self._terms.decoded(at.start)
        first = int(self._terms.pointer[self._terms.column_at(at.start)])
        return postings.value(self._which, slice(at.start - first, at.stop - first))


def open_compact_terms(view: SegmentView) -> CompactTerms | None:
    """The index of a compact segment; None for any other."""
    return CompactTerms(view) if (view.index(BM25) / META).is_file() else None


_STEP = 64
"""Number of terms between two in memory, so that a look-up reads few pages of the file."""


class Bm25Segment:
    """One segment's index, mapped from its files; several processes share the pages."""

    def __init__(self, view: SegmentView) -> None:
        folder = view.index(BM25)
        self.base, self.count, self.dead = view.base, view.count, view.dead
        try:
            self.data = open_array(folder / "data.csc.index.npy")
            self.rows = open_array(folder / "indices.csc.index.npy")
            self.pointer = open_array(folder / "indptr.csc.index.npy")
            self.fields = open_array(folder / "fields.npy")
            self._ends = open_array(folder / "terms.ends.npy")
            self._order = open_array(folder / "terms.order.npy")
            terms = folder / "terms.bin"
            # An empty file cannot be mapped.
            raw: Any = np.memmap(terms, np.uint8, "r") if len(self._ends) else np.zeros(0, np.uint8)
            self._terms = memoryview(raw.view(np.ndarray))
            ends = self._ends[::_STEP].tolist()
            begins = [0, *self._ends[_STEP - 1 :: _STEP].tolist()]
            self._signposts = [self._terms[a:b].tobytes() for a, b in zip(begins, ends)]  # noqa: B905
            total = int(self.pointer[-1]) if len(self.pointer) else -1
            if len(self.pointer) != len(self._ends) + 1 or total != len(self.rows):
                raise ValueError("its files are inconsistent")
            counted = msgspec.json.decode((folder / "params.index.json").read_bytes())["num_docs"]
            if counted != self.count:
                raise ValueError(f"it holds {counted} papers, not {self.count}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise unreadable_index("The BM25 index", error, folder) from error

    def column(self, term: bytes) -> int:
        """Number of the term, or -1."""
        high = bisect_right(self._signposts, term) * _STEP
        low, high = max(0, high - _STEP), min(high, len(self._ends))
        while low < high:
            middle = (low + high) // 2
            found = self._term(middle)
            if found == term:
                return int(self._order[middle])
            if found < term:
                low = middle + 1
            else:
                high = middle
        return -1

    def _term(self, place: int) -> bytes:
        begin = self._ends[place - 1] if place else 0
        return self._terms[begin : self._ends[place]].tobytes()

    def fields_of(self, at: slice, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The fields of some papers with a term, by its postings and the papers' slots."""
        found: NDArray[np.uint8] = self.fields[at][slots]
        return found

    def postings(self, column: int) -> slice:
        """The range of the term's papers and scores."""
        return slice(int(self.pointer[column]), int(self.pointer[column + 1]))

    def frequency(self, column: int) -> int:
        """Number of papers with the term."""
        return int(self.pointer[column + 1]) - int(self.pointer[column])


IndexSegment = Bm25Segment | CompactTerms
"""The index of a segment of either kind."""


def open_segment(view: SegmentView) -> IndexSegment:
    """Open one segment's index, of either kind. Raises `CitewellError` if it cannot be read."""
    return open_compact_terms(view) or Bm25Segment(view)
