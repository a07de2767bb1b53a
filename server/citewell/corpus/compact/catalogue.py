"""The works and the columns of a compact segment, read from mapped files.

Titles are runs of token numbers, authors runs of name numbers; the other fields are in blocks of
compressed records. Look-up keys are truncated to the row and a few bits; a candidate is checked
against all keys of its work, so that a look-up is exact.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, distinct, mapped_arrays, ranges
from citewell.corpus.compact.codec import (
    Texts,
    decode_varints,
    gather_runs,
    load_table,
    short_varints,
    starts_of,
)
from citewell.corpus.compact.records import CompactRecord, author_of, given_of, work_of
from citewell.corpus.errors import library_error
from citewell.corpus.keys import title_number, work_keys
from citewell.model import Author, Work

FOLDER = "compact"
META = "meta.json"
FORMAT = 1
BUCKET_BITS = 18
"""Leading bits of a key that choose its bucket."""
ROW_BITS = 19
ENTRY_BITS = 24
"""Bits of a bucket's entry: the row in the lower ones, further bits of the key above."""
_MAX_BLOCK = 16 << 20
_BLOCKS_KEPT = 64
Part = TypeVar("Part")


class CatalogueMeta(msgspec.Struct, frozen=True, kw_only=True):
    """`meta.json` of a compact segment."""

    format: int = FORMAT
    count: int
    block: int
    """Number of records in a block."""
    sources: tuple[str, ...]
    origins: tuple[str, ...]


class CompactCatalogue:
    """Reads one segment's works, like `Catalogue`. Thread-safe."""

    def __init__(self, folder: Path, count: int) -> None:
        """Raises `LibraryError` without a valid catalogue in the folder."""
        self.path = folder
        self.count = count
        self._closed = False
        self._lock = threading.RLock()
        self._blocks: OrderedDict[int, list[msgspec.Raw]] = OrderedDict()
        self._decoder = msgspec.msgpack.Decoder(CompactRecord)
        self._list_decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])
        try:
            self.meta = msgspec.json.decode((folder / META).read_bytes(), type=CatalogueMeta)
        except (OSError, msgspec.DecodeError) as error:
            raise self._damaged(error) from None
        if self.meta.format != FORMAT:
            code = "library-newer" if self.meta.format > FORMAT else "library-older"
            message = f"The records have format {self.meta.format}, this Citewell reads {FORMAT}."
            raise library_error(code, message, folder)
        if self.meta.count != count or count >= 1 << ROW_BITS:
            raise library_error("library-corrupt", "The catalogue lacks works.", folder)

    def records(self, rows: Iterable[int], kind: type[Part]) -> dict[int, Part]:
        """The records in these rows, by row, decoded as `kind`, a subset of the fields of
        `Work`."""
        names = kind.__struct_fields__  # type: ignore[attr-defined]
        if set(names) == {"title", "abstract"}:  # a compact library has no abstracts
            titles = self.titles_of(rows)
            return {row: kind(title=title, abstract="") for row, title in titles.items()}  # type: ignore[call-arg]
        works = self.works(rows)
        if kind is Work:
            return works  # type: ignore[return-value]
        return {
            row: kind(**{name: getattr(work, name) for name in names})
            for row, work in works.items()
        }

    def works(self, rows: Iterable[int]) -> dict[int, Work]:
        """The works in these rows; missing rows are left out."""
        wanted = [int(row) for row in rows]
        if self._closed:
            raise library_error("library-missing", "The library was closed.", self.path)
        try:
            return {row: self._work(row) for row in wanted if 0 <= row < self.count}
        except (OSError, ValueError, IndexError, zstandard.ZstdError, msgspec.DecodeError) as error:
            raise self._damaged(error) from None

    def titles_of(self, rows: Iterable[int]) -> dict[int, str]:
        """The titles of these rows, in a tenth of the time of their works; missing rows are left
        out."""
        wanted = [row for row in map(int, rows) if 0 <= row < self.count]
        try:
            titles = self._column_titles(wanted)
        except (OSError, ValueError, IndexError) as error:
            raise self._damaged(error) from None
        found = dict(zip(wanted, titles, strict=True))
        in_records = [row for row, title in found.items() if not title]
        return found | {row: work.title for row, work in self.works(in_records).items()}

    def rows(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Rows per key number (see `keys`); numbers without a row are left out."""
        hashes = np.array(numbers, np.int64).view(np.uint64)
        bucket = (hashes >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)
        mark_bits = ENTRY_BITS - ROW_BITS
        mark = (hashes >> np.uint64(64 - BUCKET_BITS - mark_bits)).astype(np.int64)
        mark &= (1 << mark_bits) - 1
        likely: dict[int, list[int]] = {}
        starts = self._bucket_starts
        for number, at, own in zip(numbers, bucket.tolist(), mark.tolist(), strict=True):
            begin, end = int(starts[at]), int(starts[at + 1])
            entries = self._key_low[begin:end].astype(np.int64)
            entries |= self._key_high[begin:end].astype(np.int64) << 16
            rows = (entries & ((1 << ROW_BITS) - 1))[entries >> ROW_BITS == own].tolist()
            if rows:
                likely[number] = rows
        return self._with_keys(likely)

    def _with_keys(self, likely: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """The rows among the candidates that do have the key number. Most numbers are of titles,
        which are read in a fraction of the time."""
        every = sorted({row for rows in likely.values() for row in rows})
        titled = {row: title_number(title) for row, title in self.titles_of(every).items()}
        open_rows = {
            row for number, rows in likely.items() for row in rows if titled.get(row) != number
        }
        others = {row: work_keys(work) for row, work in self.works(sorted(open_rows)).items()}
        found = {
            number: [
                row
                for row in dict.fromkeys(rows)
                if titled.get(row) == number or number in others.get(row, ())
            ]
            for number, rows in likely.items()
        }
        return {number: rows for number, rows in found.items() if rows}

    def iterate(self) -> Iterator[tuple[int, Work]]:
        """Every row and its work, in row order."""
        for row in range(self.count):
            yield row, self.works((row,))[row]

    def origins(self, sources: Sequence[str]) -> dict[str, list[int]]:
        """The rows with a record from each of these sources: all of them."""
        return {name: list(range(self.count)) for name in sources if name in self.meta.origins}

    def origins_of(self, row: int) -> tuple[str, ...]:
        """Sources of the records in a row."""
        return self.meta.origins

    def close(self) -> None:
        """Release the tables; later calls raise `LibraryError`."""
        self._closed = True
        with self._lock:
            self._blocks.clear()

    def title(self, row: int) -> str:
        """The title of a row; empty if its record has it instead."""
        begin, end = self.title_starts[row : row + 2]
        tokens = self._tokens
        numbers = short_varints(self.titles[begin:end].tobytes())
        return " ".join([tokens[one] for one in numbers])

    def _column_titles(self, rows: Sequence[int]) -> list[str]:
        """The titles of many rows: each token is read once."""
        at = np.array(rows, np.int64)
        begin = self.title_starts[at]
        sizes = self.title_starts[at + 1] - begin
        data = gather_runs(self.titles, begin, sizes)
        numbers, place = np.unique(decode_varints(data), return_inverse=True)
        tokens = [self._tokens[number] for number in numbers.tolist()]
        words = [tokens[one] for one in place.tolist()]
        # A token ends at each byte below 128.
        tokens_before = starts_of(data < 128)
        ends = tokens_before[np.cumsum(sizes)].tolist()
        return [" ".join(words[first:end]) for first, end in zip([0, *ends], ends, strict=False)]

    def given_names(self, authors: NDArray[np.int64]) -> list[str]:
        """The given names of authors with ascending numbers."""
        return [given_of(text) for text in self._names.of(authors)]

    def author(self, number: int) -> Author:
        """The author with this number."""
        return author_of(self._names[number])

    @cached_property
    def years(self) -> NDArray[np.int16]:
        """The year of every row, 0 if unknown."""
        return self._table("year")

    @cached_property
    def titles(self) -> NDArray[np.uint8]:
        """Token numbers of all titles, as varints."""
        return self._mapped("titles")

    @cached_property
    def title_starts(self) -> NDArray[np.int64]:
        """The start of each row's run in `titles`."""
        return starts_of(self._table("title_sizes"))

    @cached_property
    def authors(self) -> NDArray[np.uint8]:
        """Numbers of all authors, as varints."""
        return self._mapped("authors")

    @cached_property
    def author_starts(self) -> NDArray[np.int64]:
        """The start of each row's run in `authors`."""
        return starts_of(self._table("author_sizes"))

    @cached_property
    def shared(self) -> NDArray[np.int32]:
        """Number of each row's venue and volume, shape (count,)."""
        return self._table("shared")

    @cached_property
    def _shared_labels(self) -> NDArray[np.int32]:
        return self._table("shared_labels")

    def kinds(self) -> list[str]:
        """The kind of each venue and volume, by its number in `shared`."""
        return [self.labels[int(one)] for one in self._shared_labels[:, 4]]

    @cached_property
    def labels(self) -> Texts:
        """Names of venues, volumes, publishers and kinds."""
        return Texts(self.path / "labels.zst")

    @cached_property
    def _tokens(self) -> Texts:
        return Texts(self.path / "tokens.zst")

    @cached_property
    def _names(self) -> Texts:
        return Texts(self.path / "names.zst")

    @cached_property
    def _bucket_starts(self) -> NDArray[np.int64]:
        return starts_of(self._table("key_counts"))

    @cached_property
    def _key_low(self) -> NDArray[np.uint16]:
        return self._mapped("key_low")

    @cached_property
    def _key_high(self) -> NDArray[np.uint8]:
        return self._mapped("key_high")

    @cached_property
    def _records(self) -> NDArray[np.uint8]:
        return self._mapped("records")

    @cached_property
    def _record_starts(self) -> NDArray[np.int64]:
        return starts_of(self._table("record_sizes"))

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        """The decompressor; used by one thread at a time."""
        data = (self.path / "dictionary.bin").read_bytes()
        dictionary = zstandard.ZstdCompressionDict(data) if data else None
        return zstandard.ZstdDecompressor(dict_data=dictionary)

    def _work(self, row: int) -> Work:
        number, place = divmod(row, self.meta.block)
        record = self._decoder.decode(self._block(number)[place])
        labels = self.labels
        venue, booktitle, journal, publisher, kind = (
            labels[int(one)] for one in self._shared_labels[self.shared[row]]
        )
        authors: tuple[Author, ...] = ()
        if not record.authors:
            begin, end = self.author_starts[row : row + 2]
            numbers = short_varints(self.authors[begin:end].tobytes())
            authors = tuple(self.author(one) for one in numbers)
        return work_of(
            record,
            (venue, booktitle, journal, publisher, kind),
            record.title or self.title(row),
            authors,
            int(self.years[row]) or None,
            labels=labels,
            sources=self.meta.sources,
        )

    def _block(self, number: int) -> list[msgspec.Raw]:
        with self._lock:
            block = self._blocks.get(number)
            if block is None:
                begin, end = self._record_starts[number : number + 2]
                data = self._records[begin:end].tobytes()
                raw = self._decompressor.decompress(data, max_output_size=_MAX_BLOCK)
                block = self._blocks[number] = self._list_decoder.decode(raw)
            self._blocks.move_to_end(number)
            while len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
            return block

    def _table(self, name: str) -> NDArray[Any]:
        try:
            return load_table(self.path / f"{name}.zst")
        except (OSError, ValueError) as error:
            raise self._damaged(error) from None

    def _mapped(self, name: str) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(
                self.path / f"{name}.npy", mmap_mode="r", allow_pickle=False
            )
        except (OSError, ValueError) as error:
            raise self._damaged(error) from None
        return array.view(np.ndarray)

    def _damaged(self, error: Exception) -> Exception:
        return library_error(
            "library-corrupt", f"The catalogue cannot be read: {error}.", self.path
        )


# The columns of a compact segment: some are stored, the rest are derived from its runs.

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
