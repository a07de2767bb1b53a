"""The columns of a compact segment: some are stored, the rest are derived from its runs.

The words of a title follow from its tokens. Titles whose words do not ("$\\alpha$-rank", where
markup spans several tokens) are marked, and read whole.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, distinct, mapped_arrays, ranges
from citewell.corpus.compact.catalogue import FOLDER, META, CompactCatalogue
from citewell.corpus.compact.codec import decode_varints, gather_runs, load_table, starts_of

# The rows of each author of a compact segment, and the first author of each row. They are derived
# from the records, which are slow to decode.

KEPT_FROM = 20_000
"""Minimum number of rows for caching; with fewer the arrays are computed in milliseconds."""
_SOURCES = (
    "authors.npy",
    "author_sizes.zst",
    "crowd_rows.zst",
    "crowd_sizes.zst",
    "crowd_authors.zst",
    "surname.npy",
)


class Crowds:
    """Works with hundreds of authors: ascending `rows`, and the numbers of their authors in
    sequence, those of work i at `[starts[i], starts[i + 1])`."""

    def __init__(
        self, rows: NDArray[np.int32], starts: NDArray[np.int64], numbers: NDArray[np.int32]
    ) -> None:
        self.rows, self.starts, self.numbers = rows, starts, numbers

    def of(self, row: int) -> NDArray[np.int32]:
        """The authors' numbers of one of these rows."""
        at = int(np.searchsorted(self.rows, row))
        return self.numbers[int(self.starts[at]) : int(self.starts[at + 1])]


class AuthorRows:
    """Looks up rows by author. Thread-safe."""

    def __init__(
        self,
        folder: Path,
        records: CompactCatalogue,
        crowds: Crowds,
        surnames: NDArray[np.uint32],
    ) -> None:
        """`surnames` are hashes, by author. Arrays of a large segment are cached on disk. Raises
        `OSError` for an unreadable file."""

        def make() -> Arrays:
            return _by_author(records, crowds, surnames)

        sources = [folder / name for name in _SOURCES]
        large = records.count >= KEPT_FROM
        arrays = mapped_arrays("author-rows-1", sources, make) if large else make()
        self._starts: NDArray[np.int64] = arrays["starts"]
        self._rows: NDArray[np.int32] = arrays["rows"]
        self.first: NDArray[np.uint32] = arrays["first"]
        """Surname hash of each row's first author, 0 without authors."""

    def of(self, authors: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of any of the authors, given by number, ascending."""
        places, _ = ranges(self._starts[authors], self._starts[authors + 1])
        return distinct(self._rows[places].astype(np.int64))


def _by_author(records: CompactCatalogue, crowds: Crowds, surnames: NDArray[np.uint32]) -> Arrays:
    """`starts`, shape (authors + 1,), and `rows`: those of author i are at `[starts[i],
    starts[i + 1])`; and `first`."""
    numbers = decode_varints(records.authors)
    starts = np.concatenate([[0], np.cumsum(records.authors < 128)])[records.author_starts]
    count = np.diff(starts)
    owner = np.repeat(np.arange(records.count), count)
    crowd_owner = np.repeat(crowds.rows, np.diff(crowds.starts))
    every = np.concatenate([numbers, crowds.numbers]).astype(np.uint64)
    rows = np.concatenate([owner, crowd_owner]).astype(np.uint64)
    pairs = np.sort(every << np.uint64(32) | rows)
    bounds = np.arange(len(surnames) + 1, dtype=np.uint64) << np.uint64(32)
    first = np.zeros(records.count, np.uint32)
    first[crowds.rows] = surnames[crowds.numbers[crowds.starts[:-1]]]
    first[count > 0] = surnames[numbers[starts[:-1][count > 0]]]
    return {
        "starts": np.searchsorted(pairs, bounds).astype(np.int64),
        "rows": (pairs & np.uint64(0xFFFFFFFF)).astype(np.int32),
        "first": first,
    }


class _Hashes(Protocol):
    def __call__(self, title: str) -> list[int]: ...


class Taken:
    """Runs of some rows: the values in sequence and the start of each row, shape (n + 1,)."""

    def __init__(self, values: NDArray[np.uint32], starts: NDArray[np.int64]) -> None:
        self.values, self.starts = values, starts


class CompactColumns:
    """The equivalent of `Columns` for one compact segment. `surname` is by author, not by row."""

    def __init__(self, segment: Path, count: int, words_of: _Hashes) -> None:
        """`words_of` returns the word hashes of a title. Raises `CitewellError` or `OSError`."""
        self._folder = segment / FOLDER
        self._words_of = words_of
        self._records = CompactCatalogue(self._folder, count)
        self.key: NDArray[np.uint64] = self._mapped("title_key")
        self.initials: NDArray[np.uint32] = self._mapped("initials")
        self.surname: NDArray[np.uint32] = self._mapped("surname")
        self.year: NDArray[np.int16] = self._records.years
        lengths = {len(self.key), len(self.initials), len(self.year)}
        if lengths != {count}:
            raise ValueError("its files are inconsistent")

    @staticmethod
    def is_in(segment: Path) -> bool:
        """True for the folder of a compact segment."""
        return (segment / FOLDER / META).is_file()

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def abstract(self) -> NDArray[np.bool_]:
        """Whether the value of its abstract is known, by row."""
        bits = load_table(self._folder / "abstract.zst")
        return np.unpackbits(bits, count=len(self)).astype(np.bool_)

    @cached_property
    def opening(self) -> NDArray[np.uint32]:
        """Hash of the name before a colon; 0 for none."""
        out = np.zeros(len(self), np.uint32)
        out[load_table(self._folder / "opening_rows.zst")] = self._mapped("opening")
        return out

    @cached_property
    def venue(self) -> NDArray[np.uint32]:
        """Hash of each row's venue."""
        table: NDArray[np.uint32] = load_table(self._folder / "shared_venue.zst")
        return table[self._records.shared]

    def words(self, rows: NDArray[np.int64]) -> Taken:
        """Hashes of the distinct words of some rows' titles, in order."""
        tokens, owner = self._decoded(self._records.titles, self._records.title_starts, rows)
        counts = np.diff(self._token_starts)[tokens]
        values = gather_runs(self._token_words, self._token_starts[tokens], counts)
        of_row = np.repeat(owner, counts)
        odd = np.flatnonzero(self._odd[rows])
        if len(odd):
            keep = ~np.isin(of_row, odd)
            values, of_row = values[keep], of_row[keep]
            found = [self._words_of(self._title(int(rows[at]))) for at in odd]
            sizes = [len(one) for one in found]
            more = np.array([word for one in found for word in one], np.uint32)
            values = np.concatenate([values, more])
            of_row = np.concatenate([of_row, np.repeat(odd, sizes)])
        pair = of_row.astype(np.uint64) << np.uint64(32) | values
        _, first = np.unique(pair, return_index=True)
        order = np.sort(first)
        order = order[np.argsort(of_row[order], kind="stable")]
        sizes_of = np.bincount(of_row[order], minlength=len(rows))
        return Taken(values[order], starts_of(sizes_of))

    def surnames(self, rows: NDArray[np.int64]) -> Taken:
        """Surname hashes of some rows: the first authors and the last, as in `Columns`."""
        numbers, owner = self._decoded(self._records.authors, self._records.author_starts, rows)
        for at in np.flatnonzero(self._crowded[rows]).tolist():
            # The record has all authors of the work.
            own = self._crowds.of(int(rows[at]))
            numbers = np.concatenate([numbers, own])
            owner = np.concatenate([owner, np.full(len(own), at)])
        order = np.argsort(owner, kind="stable")
        numbers, owner = numbers[order], owner[order]
        counts = np.bincount(owner, minlength=len(rows))
        place = np.arange(len(owner)) - np.repeat(starts_of(counts)[:-1], counts)
        keep = (place < self.most_authors - 1) | (place == counts[owner] - 1)
        return Taken(
            self.surname[numbers[keep]], starts_of(np.bincount(owner[keep], minlength=len(rows)))
        )

    most_authors = 12

    def first_authors(self, rows: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Surname hash of each row's first author, 0 without authors."""
        return self._author_rows.first[rows]

    def rows_of(self, authors: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows with one of the authors, given by number, ascending."""
        return self._author_rows.of(authors)

    def rows_by(self, name: int) -> NDArray[np.int64]:
        """Rows with an author of this surname hash, ascending."""
        return self.rows_of(np.flatnonzero(self.surname == np.uint32(name)))

    def word_counts(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Title words, sorted, and the number of titles with each."""
        folder = self._folder
        return load_table(folder / "word.zst"), load_table(folder / "word_count.zst")

    def _decoded(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers in the runs of some rows, and the index in `rows` of each."""
        sizes = starts[rows + 1] - starts[rows]
        run = gather_runs(data, starts[rows], sizes)
        owner = np.repeat(np.arange(len(rows)), sizes)[run < 128]
        return decode_varints(run), owner

    def _title(self, row: int) -> str:
        return self._records.title(row) or self._records.works((row,))[row].title

    @cached_property
    def _odd(self) -> NDArray[np.bool_]:
        return self._marked("odd_titles")

    @cached_property
    def _crowded(self) -> NDArray[np.bool_]:
        return self._marked("crowd_rows")

    @cached_property
    def _crowds(self) -> Crowds:
        return Crowds(
            load_table(self._folder / "crowd_rows.zst"),
            starts_of(load_table(self._folder / "crowd_sizes.zst")),
            load_table(self._folder / "crowd_authors.zst"),
        )

    @cached_property
    def _author_rows(self) -> AuthorRows:
        return AuthorRows(self._folder, self._records, self._crowds, self.surname)

    @cached_property
    def _token_words(self) -> NDArray[np.uint32]:
        return self._mapped("token_words")

    @cached_property
    def _token_starts(self) -> NDArray[np.int64]:
        return starts_of(load_table(self._folder / "token_sizes.zst"))

    def _marked(self, name: str) -> NDArray[np.bool_]:
        out = np.zeros(len(self), np.bool_)
        out[load_table(self._folder / f"{name}.zst")] = True
        return out

    def _mapped(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.load(
            self._folder / f"{name}.npy", mmap_mode="r", allow_pickle=False
        )
        return array.view(np.ndarray)
