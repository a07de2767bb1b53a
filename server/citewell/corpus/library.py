"""A library of papers, opened for reading."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus import keys
from citewell.corpus.catalogue import Catalogue, Record
from citewell.corpus.citing import CitingPart
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.compact.catalogue import CompactCatalogue
from citewell.corpus.errors import LibraryError, library_error
from citewell.corpus.layout import Manifest, SegmentView, current_snapshot, read_manifest
from citewell.corpus.segment import Segment
from citewell.model import CitewellError, Problem, Work
from citewell.model.identifiers import arxiv_id, arxiv_ids, dois_of, normalise_doi
from citewell.model.names import family_key
from citewell.model.system.files import Closing
from citewell.model.titles import title_key

# Works of one library that another one has too: by title, and first author or year.
#
# They are computed whenever a library is opened on another one. The titles of both are sorted
# together: looking up a few hundred thousand keys one by one takes ten times as long.


class Covered(msgspec.Struct, frozen=True):
    """The rows of a segment that the segments above have too."""

    rows: NDArray[np.bool_]
    """Mask of these rows, shape (count,)."""
    holder: NDArray[np.int32]
    """The row above with the work of each row, shape (count,); -1 if there is none, or if several
    works there have the title."""


def covered_rows(above: Sequence[SegmentView], segment: SegmentView) -> Covered:
    """The covered rows of a segment; none if it was built without columns."""
    out = np.zeros(segment.count, np.bool_)
    holder = np.full(segment.count, -1, np.int32)
    own = SegmentView(path=segment.path, base=0, count=segment.count)
    try:
        upper, lower = LibraryColumns(above), LibraryColumns([own])
    except CitewellError:
        return Covered(out, holder)
    keys = upper.keys()
    if any(view.dead is not None for view in above):
        keys = keys.copy()  # those of one segment are mapped from its file
    for view in above:
        if view.dead is not None:
            keys[view.base : view.base + view.count][view.dead] = 0
    rows, title, held, own_title = _shared_titles(lower.keys(), keys)
    if not len(rows):
        return Covered(out, holder)
    holder_of = np.full(len(np.bincount(own_title)), -1, np.int32)
    holder_of[own_title] = held
    holder_of[np.bincount(own_title) > 1] = -1
    holders = holder_of[title]
    year, own_year = lower.years()[rows], upper.years()[held]
    # A title that each has once, in about the same year, is one work; for other titles the authors
    # decide, which take longer to read.
    year_of = np.zeros(len(np.bincount(own_title)), np.int16)
    year_of[own_title] = own_year
    once = (np.bincount(title) == 1) & (np.bincount(own_title) == 1)
    same = once[title] & (np.abs(year - year_of[title]) <= 1) & (year != 0)
    left = np.flatnonzero(~same)
    if len(left):
        open_titles = np.zeros(len(once), np.bool_)
        open_titles[title[left]] = True
        unclear = np.flatnonzero(open_titles[own_title])
        title, year = title[left], year[left]
        own_title, own_year = own_title[unclear], own_year[unclear]
        author, own_author = lower.first_authors(rows[left]), upper.first_authors(held[unclear])
        close = np.zeros(len(left), np.bool_)
        for step in (-1, 0, 1):
            close |= np.isin(_pairs(title, year), _pairs(own_title, own_year + np.int16(step)))
        close &= year != 0
        named = own_author != 0
        own_pairs = _pairs(own_title[named], own_author[named])
        by_author = (author != 0) & np.isin(_pairs(title, author), own_pairs)
        nameless = np.isin(title, own_title[~named])
        same[left] = by_author | (close & ((author == 0) | nameless))
    out[rows[same]] = True
    holder[rows[same]] = holders[same]
    return Covered(out, holder)


def _shared_titles(
    keys: NDArray[np.uint64], others: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the keys in both, without 0, each with the number of its title: those in `keys`,
    then those in `others`. The titles are numbered from 0 in the order of their keys."""
    every = np.concatenate([keys, others])
    order = _sorted_places(every)
    key, mine = every[order], order < len(keys)
    starts = np.flatnonzero(np.diff(key, prepend=~key[:1]))
    any_mine, all_mine = np.logical_or.reduceat(mine, starts), np.logical_and.reduceat(mine, starts)
    has = any_mine & ~all_mine & (key[starts] != 0)
    sizes = np.diff(starts, append=len(key))
    shared = np.repeat(has, sizes)
    order, mine = order[shared], mine[shared]
    title = np.repeat(np.arange(np.count_nonzero(has)), sizes[has])
    return order[mine], title[mine], order[~mine] - len(keys), title[~mine]


def _sorted_places(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Positions of the keys in an order in which equal ones are adjacent.

    The leading bits of a key and its place are sorted as one number, in half of the time that
    `argsort` takes, which decides where two keys differ in the other bits alone.
    """
    low = np.uint64((1 << len(keys).bit_length()) - 1)
    numbers = keys & ~low | np.arange(len(keys), dtype=np.uint64)
    numbers.sort()
    order = (numbers & low).astype(np.int64)
    differs = keys[order[1:]] ^ keys[order[:-1]]
    return np.argsort(keys) if ((differs != 0) & (differs <= low)).any() else order


def _pairs(
    title: NDArray[np.int64], fact: NDArray[np.uint32] | NDArray[np.int16]
) -> NDArray[np.int64]:
    """One number for each pair of a title and a fact of its work."""
    return (title << 33) + fact


# Fields that a record lacks, filled from the same work in a library below.

FillGaps = Callable[[Work, Work], Work]
"""Returns a record completed from another one of the same work."""


def filled(
    works: Mapping[int, Work], lower: Sequence[Segment], fill_gaps: FillGaps
) -> dict[int, Work]:
    """The works by row, completed from the segments below; upper segments take precedence. A work
    stays as it is if two records of a segment may be the same work."""
    found = dict(works)
    numbers = {row: keys.title_number(work.title) for row, work in works.items()}
    wanted = [number for number in dict.fromkeys(numbers.values()) if number is not None]
    for segment in lower if wanted else ():
        held = {
            number: list(segment.catalogue.works(_covered(segment, rows)).values())
            for number, rows in segment.catalogue.rows(wanted).items()
        }
        for row, number in numbers.items():
            if row < segment.base and number is not None:
                same = [work for work in held.get(number, ()) if is_same(found[row], work)]
                if len(same) == 1:
                    found[row] = fill_gaps(found[row], same[0])
    return found


def _covered(segment: Segment, rows: Iterable[int]) -> list[int]:
    return [row for row in rows if segment.is_live(row) and segment.is_covered(row)]


def is_same(own: Work, other: Work) -> bool:
    """Whether a covered record of the same title belongs to the same work: by an author, or by the
    year if one of them has no authors."""
    families = {family_key(author) for author in own.authors}
    others = {family_key(author) for author in other.authors}
    if families and others:
        return bool(families & others)
    return own.year is not None and other.year is not None and abs(own.year - other.year) <= 1


def is_thin(work: Work) -> bool:
    """Whether a record lacks a field that every list shows: authors, year or venue."""
    return not (work.authors and work.year and (work.venue or work.booktitle or work.journal))


def has_gaps(work: Work) -> bool:
    """Whether another record may complete an entry."""
    return is_thin(work) or not ((work.booktitle or work.journal) and work.pages and work.doi)


# Whether a record is the work with an identifier or a title.


def has_source_id(work: Work, identifier: str) -> bool:
    """True if a source of the record has this id for the work."""
    return any(origin.source_id == identifier for origin in work.provenance)


def answers_to(work: Work, identifier: str) -> bool:
    """True if the identifier is the work's: that of a source, or one of its own."""
    if has_source_id(work, identifier):
        return True
    return keys.id_number(identifier) in keys.identity_numbers(work)


def same_doi(work: Work, doi: str) -> bool:
    """True if the work has the DOI."""
    return normalise_doi(doi) in dois_of(work)


def same_arxiv(work: Work, arxiv: str) -> bool:
    """True if the work has the arXiv id."""
    return arxiv_id(arxiv) in arxiv_ids(work)


def same_title(work: Work, title: str) -> bool:
    """True if a record of the work has the title, normalised."""
    key = title_key(title)
    titles = work.title, *(variant.title for variant in work.variants)
    return any(title_key(one) == key for one in titles)


# Values of library-wide rows, each read from its segment.

Value = TypeVar("Value")
RowReader = Callable[[Catalogue | CompactCatalogue, list[int]], dict[int, Value]]
"""Returns the values of rows of one segment, by row."""


def segment_of(row: int, bases: Sequence[int]) -> int:
    """Number of the segment with a row; `bases` are the first rows of the segments, and the number
    of all rows. Raises `IndexError` for a missing row."""
    if not 0 <= row < bases[-1]:
        raise IndexError(f"row {row} of {bases[-1]}")
    return bisect_right(bases, row) - 1


def read_rows(
    segments: Sequence[Segment],
    bases: Sequence[int],
    rows: Sequence[int],
    read: RowReader[Value],
) -> dict[int, Value]:
    """The results of `read` by library-wide row. Raises `IndexError` for a missing row."""
    by_segment: dict[int, list[int]] = {}
    for row in rows:
        by_segment.setdefault(segment_of(row, bases), []).append(row)
    found: dict[int, Value] = {}
    for number, members in by_segment.items():
        base = segments[number].base
        values = read(segments[number].catalogue, [row - base for row in members])
        found.update((row + base, value) for row, value in values.items())
    return found


class RowColumns(NamedTuple):
    """One value per row of the whole library, dead rows included."""

    year: NDArray[np.int16]
    """0 if unknown."""
    citations: NDArray[np.int32]
    """-1 if unknown."""


class Library(Closing):
    """One snapshot of a library. Immutable; safe for many threads and many processes.

    Rows are numbered through all segments, dead ones included, in the order of the segments. A
    build that ends while the library is open changes nothing here: open it again to see it.

    A library may lie on another one, which is never written: a search covers both. Of a work in
    both it finds the record of the upper one, completed from the lower one.
    """

    def __init__(
        self,
        path: Path,
        snapshot: str,
        manifest: Manifest,
        below: Library | None = None,
        fill_gaps: FillGaps | None = None,
    ) -> None:
        self._fill_gaps = fill_gaps
        self.path = path
        self.snapshot: str = snapshot if below is None else f"{snapshot}+{below.snapshot}"
        self.manifest = manifest
        self.below = below
        """The library below this one; it is closed with this one."""
        self._segments: list[Segment] = []
        base = 0
        try:
            for use in manifest.segments:
                self._segments.append(Segment(path, snapshot, use, base))
                base += use.count
        except LibraryError:
            self.close()
            raise
        try:
            self.citing: tuple[CitingPart, ...] = tuple(
                CitingPart(path, source.citing)
                for source in manifest.sources.values()
                if source.citing is not None
            )
            """The citation data of the sources."""
        except LibraryError:
            self.close()
            raise
        self._own, self._covered = len(self._segments), 0
        holders = [np.full(base, -1, np.int32)]
        for segment in () if below is None else below._segments:
            views = (one.view() for one in self._segments[: self._own])
            covered = covered_rows(list(views), segment.view())
            lower = segment.below(base, covered.rows)
            self._covered += segment.live_count - lower.live_count
            self._segments.append(lower)
            holders.append(covered.holder)
            base += segment.count
        self.holder = None if below is None else np.concatenate(holders)
        """For each row of the library below, the row of this one with the same work, or -1."""
        self.rows = base
        """Number of rows, dead ones included."""
        self._bases = [*(segment.base for segment in self._segments), base]
        self.segments: tuple[SegmentView, ...] = tuple(s.view() for s in self._segments)
        """The segments for a search, which finds each work once: rows of the library below that
        this one has too are dead, and so are quarantined ones."""
        self.whole_segments: tuple[SegmentView, ...] = tuple(
            s.view(whole=True) for s in self._segments
        )
        """The segments with every record, for a check."""

    @property
    def own_segments(self) -> tuple[SegmentView, ...]:
        """The segments without those of the library below."""
        return self.segments[: self._own]

    @classmethod
    def open(
        cls, path: Path, below: Library | None = None, fill_gaps: FillGaps | None = None
    ) -> Library:
        """Open the current snapshot after a quick check of sizes, headers, counts and hashes.

        `below` is the library below it; `fill_gaps` completes a record from that of the same work
        there. Without `fill_gaps`, records stay as they are.

        Raises `LibraryError` with the code library-missing, -corrupt, -foreign, -newer, -older or
        -unreadable, each with its hint. Nothing of a library that fails the check is used.
        """
        path = Path(path)
        snapshot = current_snapshot(path)
        while True:
            try:
                return cls(path, snapshot, read_manifest(path, snapshot), below, fill_gaps)
            except LibraryError:
                # A build may have replaced the snapshot and its files after CURRENT was read.
                newer = current_snapshot(path)
                if newer == snapshot:
                    raise
                snapshot = newer

    def __len__(self) -> int:
        return self.manifest.works + (0 if self.below is None else len(self.below) - self._covered)

    def indexes(self, name: str) -> list[Mapping[str, Any] | None]:
        """Fingerprints of the index `name` in the library and in those below; None if it is
        missing."""
        below = [] if self.below is None else self.below.indexes(name)
        return [self.manifest.indexes.get(name), *below]

    def indexed(self, name: str) -> list[tuple[Mapping[str, Any] | None, tuple[SegmentView, ...]]]:
        """Fingerprint of the index `name` (None if it is missing) and segments of the library and
        of those below it, in the order of the segments."""
        found: list[tuple[Mapping[str, Any] | None, tuple[SegmentView, ...]]] = []
        part: Library | None = self
        for facts in self.indexes(name):
            assert part is not None
            begin = sum(len(views) for _, views in found)
            found.append((facts, self.segments[begin : begin + part._own]))
            part = part.below
        return found

    def close(self) -> None:
        """Close the files; later calls raise `LibraryError`."""
        for segment in self._segments:
            segment.catalogue.close()

    def works(self, rows: Iterable[int], *, whole: bool = False) -> list[Work]:
        """The works in these rows, in order. Raises `IndexError` for a missing row.

        What a record lacks comes from the library below: always if it names no author, year or
        venue, else only if it is wanted `whole`, which takes a millisecond a work.
        """
        wanted = [int(row) for row in rows]
        works = self.records(wanted, Work)
        if self._fill_gaps is None:
            return works
        found = dict(zip(wanted, works, strict=True))
        lacks = has_gaps if whole else is_thin
        thin = {row: work for row, work in found.items() if lacks(work)}
        found.update(filled(thin, self._segments[self._own :], self._fill_gaps))
        return [found[row] for row in wanted]

    def records(self, rows: Iterable[int], kind: type[Record]) -> list[Record]:
        """The records in these rows, decoded as `kind`: a struct with some fields of `Work`, in a
        fraction of the time."""
        return self._read(rows, lambda catalogue, own: catalogue.records(own, kind))

    def titles_of(self, rows: Iterable[int]) -> list[str]:
        """The titles in these rows, in order. Raises `IndexError` for a missing row."""
        return self._read(rows, lambda catalogue, own: catalogue.titles_of(own))

    def _read(self, rows: Iterable[int], read: RowReader[Value]) -> list[Value]:
        wanted = [int(row) for row in rows]
        found = read_rows(self._segments, self._bases, wanted, read)
        try:
            return [found[row] for row in wanted]
        except KeyError as error:
            message = f"Row {error.args[0]} is missing from the catalogue."
            raise library_error("library-corrupt", message, self.path) from None

    def _upper(self, row: int, work: Work) -> Work:
        """The record of the upper library in place of one that it has too."""
        segment = self._segments[self._segment_of(row)]
        number = keys.title_number(work.title)
        if self._fill_gaps is None or number is None or not segment.is_covered(row - segment.base):
            return work
        rows = [one for one in self._live_rows([number]).get(number, ()) if one < segment.base]
        same = [one for one in self.works(rows, whole=True) if is_same(one, work)]
        return same[0] if len(same) == 1 else work

    def work(self, identifier: str) -> Work | None:
        """The work with this id, or the one that a record with this id was merged into."""
        row = int(self.rows_of([identifier])[0])
        return None if row < 0 else self.works([row])[0]

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Row of each id, -1 if there is none; shape (len(ids),).

        An id may be a work's own, that of a record merged into it, or the bare identifier that the
        source itself uses ("2020.acl-main.1" for "acl:2020.acl-main.1"); "acl:..." also finds a
        record of another source that points into the ACL Anthology.
        """
        numbers = {identifier: keys.id_number(identifier) for identifier in ids}
        live = self._live_rows(list(set(numbers.values())))
        # Only if several works have the number must the records be read.
        unclear = {number: rows for number, rows in live.items() if len(rows) > 1}
        candidates = sorted({row for rows in unclear.values() for row in rows})
        works = dict(zip(candidates, self.works(candidates), strict=True))
        result = np.full(len(ids), -1, np.int64)
        for place, identifier in enumerate(ids):
            rows = live.get(numbers[identifier], [])
            if len(rows) > 1:
                exact = [row for row in rows if identifier in (works[row].id, *works[row].same_as)]
                rows = exact or [row for row in rows if answers_to(works[row], identifier)]
            if rows:
                result[place] = rows[0]
        return result

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Live works for the first of the given keys with a match.

        DOI and arXiv id in any spelling; a title by its normalised form; a bibkey exactly, as the
        source or one of the merged records uses it.
        """
        lookups = (
            (keys.doi_number(doi) if doi else None, lambda w: same_doi(w, doi)),
            (keys.arxiv_number(arxiv) if arxiv else None, lambda w: same_arxiv(w, arxiv)),
            (keys.title_number(title) if title else None, lambda w: same_title(w, title)),
            (keys.bibkey_number(bibkey) if bibkey else None, lambda w: w.bibkey == bibkey),
            (keys.id_number(bibkey) if bibkey else None, lambda w: has_source_id(w, bibkey)),
        )
        for number, matches in lookups:
            if number is None:
                continue
            rows = self._live_rows([number]).get(number, [])
            works = zip(rows, self.works(rows, whole=True), strict=True)
            found = [self._upper(row, work) for row, work in works if matches(work)]
            if found:
                return found
        return []

    def by_title_rows(self, title: str) -> list[int]:
        """Live rows with the normalised title of `title`."""
        number = keys.title_number(title)
        if number is None:
            return []
        rows = self._live_rows([number]).get(number, [])
        return [
            row for row, work in zip(rows, self.works(rows), strict=True) if same_title(work, title)
        ]

    def key_rows(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Live rows per key number (see `keys`); the caller checks the works for collisions. A work
        that the library below has too has a row for each of its records."""
        return self._live_rows(list(dict.fromkeys(numbers)), every=True)

    def iter_works(self) -> Iterator[Work]:
        """Every live work, in row order."""
        for _, work in self.iter_rows():
            yield work

    def iter_rows(self) -> Iterator[tuple[int, Work]]:
        """Every live row with its work, in row order; each work once."""
        for segment in self._segments:
            for row, work in segment.catalogue.iterate():
                if segment.is_live(row) and not segment.is_covered(row):
                    yield row + segment.base, work

    def columns(self) -> RowColumns:
        """Year and citation count of every row; memory-mapped when there is one segment."""
        return self._columns

    @cached_property
    def _columns(self) -> RowColumns:
        if len(self._segments) == 1:
            return RowColumns(self._segments[0].years, self._segments[0].citations)
        years = [segment.years for segment in self._segments]
        citations = [segment.citations for segment in self._segments]
        return RowColumns(
            np.concatenate(years) if years else np.empty(0, np.int16),
            np.concatenate(citations) if citations else np.empty(0, np.int32),
        )

    def origins_of(self, row: int) -> tuple[str, ...]:
        """Added sources of the records in this row."""
        segment = self._segments[self._segment_of(row)]
        return segment.catalogue.origins_of(row - segment.base)

    def origin_table(self, segments: Iterable[int]) -> dict[int, tuple[str, ...]]:
        """The added sources of each row of the segments with these numbers, by row."""
        table: dict[int, tuple[str, ...]] = {}
        for segment in (self._segments[number] for number in segments):
            found = segment.catalogue.origins(segment.record.origins)
            for source, rows in found.items():
                for row in rows:
                    table[row + segment.base] = (*table.get(row + segment.base, ()), source)
        return table

    def rows_from(self, source: str) -> list[int]:
        """Live rows with a record from this added source."""
        rows = []
        for segment in self._segments:
            found = segment.catalogue.origins([source]).get(source, [])
            rows += [row + segment.base for row in found if segment.is_live(row)]
        return rows

    def quarantined_rows(self) -> list[int]:
        """Live rows with a malformed name, which searches exclude, ascending."""
        return [
            row + segment.base
            for segment in self._segments
            if segment.quarantined is not None
            for row in np.flatnonzero(segment.quarantined).tolist()
            if segment.is_live(row)
        ]

    def verify(self) -> list[Problem]:
        """Hash every file of the snapshot; return the problems found. Slow: reads everything."""
        found = [problem for segment in self._segments for problem in segment.verify()]
        return found + [problem for part in self.citing for problem in part.verify()]

    def _segment_of(self, row: int) -> int:
        return segment_of(row, self._bases)

    def _live_rows(self, numbers: Sequence[int], *, every: bool = False) -> dict[int, list[int]]:
        """Live rows by key number. Unless `every`, a covered row is returned only without another
        one: its identifier may be missing from the record above."""
        found: dict[int, list[int]] = {}
        covered: dict[int, list[int]] = {}
        for segment in self._segments:
            for number, rows in segment.catalogue.rows(numbers).items():
                for row in sorted(rows):
                    if segment.is_live(row):
                        kind = covered if segment.is_covered(row) and not every else found
                        kind.setdefault(number, []).append(row + segment.base)
        return covered | found
