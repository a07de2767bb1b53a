"""A library of papers, opened for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citewell.corpus import keys
from citewell.corpus.catalogue import Record
from citewell.corpus.citing import CitingPart
from citewell.corpus.contract import SegmentView
from citewell.corpus.covered import covered_rows
from citewell.corpus.errors import LibraryError, library_error
from citewell.corpus.gaps import FillGaps, filled, has_gaps, is_same, is_thin
from citewell.corpus.identity import answers_to, has_source_id, same_arxiv, same_doi, same_title
from citewell.corpus.layout import Manifest, current_snapshot, read_manifest
from citewell.corpus.segment import Segment
from citewell.corpus.segment_rows import RowReader, Value, read_rows, segment_of
from citewell.model import Problem, Work
from citewell.model.closing import Closing


class Columns(NamedTuple):
    """One value per row of the whole library, dead rows included."""

    year: NDArray[np.int16]
    """0 where unknown."""
    citations: NDArray[np.int32]
    """-1 where unknown."""


class Library(Closing):
    """One snapshot of a library. Immutable; safe for many threads and many processes.

    Rows are numbered through all segments, dead ones included, in the order of the segments. A
    build that ends while the library is open changes nothing here: open it again to see it.

    A library may lie on another one, of which nothing is written: a search covers both, and of a
    work that both hold finds the record of the upper one, its gaps filled from the lower one.
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
        """The library on which this one lies; it is closed with this one."""
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
        """Of each row of the library below the row of this one that holds its work, else -1."""
        self.rows = base
        """Number of rows, dead ones included."""
        self._bases = [*(segment.base for segment in self._segments), base]
        self.segments: tuple[SegmentView, ...] = tuple(s.view() for s in self._segments)
        """What a search finds: each work once, so that rows of the library below that this one
        holds too are dead, and so are quarantined ones."""
        self.whole_segments: tuple[SegmentView, ...] = tuple(
            s.view(whole=True) for s in self._segments
        )
        """With every record, for a check."""

    @property
    def own_segments(self) -> tuple[SegmentView, ...]:
        """Without those of the library below."""
        return self.segments[: self._own]

    @classmethod
    def open(
        cls, path: Path, below: Library | None = None, fill_gaps: FillGaps | None = None
    ) -> Library:
        """Open the current snapshot after a quick check of sizes, headers, counts and hashes.

        `below` is the library on which it lies, and `fill_gaps` completes a record by that of the
        same work in there; without it records are given as they are.

        Raises `LibraryError` with the code library-missing, -corrupt, -foreign, -newer, -older or
        -unreadable, each with its hint. Nothing of a library that fails the check is used.
        """
        path = Path(path)
        snapshot = current_snapshot(path)
        while True:
            try:
                return cls(path, snapshot, read_manifest(path, snapshot), below, fill_gaps)
            except LibraryError:
                # A build may have replaced the snapshot, and its files, since CURRENT was read.
                newer = current_snapshot(path)
                if newer == snapshot:
                    raise
                snapshot = newer

    def __len__(self) -> int:
        return self.manifest.works + (0 if self.below is None else len(self.below) - self._covered)

    def indexes(self, name: str) -> list[Mapping[str, Any] | None]:
        """Fingerprint of the index `name` in the library and in those below; None without it."""
        below = [] if self.below is None else self.below.indexes(name)
        return [self.manifest.indexes.get(name), *below]

    def indexed(self, name: str) -> list[tuple[Mapping[str, Any] | None, tuple[SegmentView, ...]]]:
        """Fingerprint of the index `name` (None without it) and segments of the library and of
        those below it, in the order of the segments."""
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
        """The works in these rows, in the order asked. Raises `IndexError` for a row not there.

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
        """The titles in these rows, in the order asked. Raises `IndexError` for a row not there."""
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
        """The work of the upper library in place of one that it holds too."""
        segment = self._segments[self._segment_of(row)]
        number = keys.title_number(work.title)
        if self._fill_gaps is None or number is None or not segment.is_covered(row - segment.base):
            return work
        rows = [one for one in self._live_rows([number]).get(number, ()) if one < segment.base]
        same = [one for one in self.works(rows, whole=True) if is_same(one, work)]
        return same[0] if len(same) == 1 else work

    def work(self, identifier: str) -> Work | None:
        """The work with this id, or into which a record with this id was merged."""
        row = int(self.rows_of([identifier])[0])
        return None if row < 0 else self.works([row])[0]

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Row of each id, -1 where there is none; shape (len(ids),).

        An id may be a work's own, that of a record merged into it, or the bare identifier that the
        source itself uses ("2020.acl-main.1" for "acl:2020.acl-main.1"); "acl:..." also finds a
        record of another source that points into the ACL Anthology.
        """
        numbers = {identifier: keys.id_number(identifier) for identifier in ids}
        live = self._live_rows(list(set(numbers.values())))
        # Only where several works have the number must the records be asked which one is meant.
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
        """Live works that match the first of the given keys that matches any.

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
        """Live rows whose normalised title is that of `title`."""
        number = keys.title_number(title)
        if number is None:
            return []
        rows = self._live_rows([number]).get(number, [])
        return [
            row for row, work in zip(rows, self.works(rows), strict=True) if same_title(work, title)
        ]

    def key_rows(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Live rows per key number (see `keys`); the caller checks the works for collisions.

        A work that the library below holds too has a row for each of its records.
        """
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

    def columns(self) -> Columns:
        """Year and citation count of every row; memory-mapped when there is one segment."""
        return self._columns

    @cached_property
    def _columns(self) -> Columns:
        if len(self._segments) == 1:
            return Columns(self._segments[0].years, self._segments[0].citations)
        years = [segment.years for segment in self._segments]
        citations = [segment.citations for segment in self._segments]
        return Columns(
            np.concatenate(years) if years else np.empty(0, np.int16),
            np.concatenate(citations) if citations else np.empty(0, np.int32),
        )

    def origins_of(self, row: int) -> tuple[str, ...]:
        """Added sources whose records make up the work in this row."""
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
        """Live rows that hold a record of this added source."""
        rows = []
        for segment in self._segments:
            found = segment.catalogue.origins([source]).get(source, [])
            rows += [row + segment.base for row in found if segment.is_live(row)]
        return rows

    def quarantined_rows(self) -> list[int]:
        """Live rows with a malformed name, which no search finds, rising."""
        return [
            row + segment.base
            for segment in self._segments
            if segment.quarantined is not None
            for row in np.flatnonzero(segment.quarantined).tolist()
            if segment.is_live(row)
        ]

    def verify(self) -> list[Problem]:
        """Hash every file of the snapshot; empty when all is as it was built. Slow: reads all."""
        found = [problem for segment in self._segments for problem in segment.verify()]
        return found + [problem for part in self.citing for problem in part.verify()]

    def _segment_of(self, row: int) -> int:
        return segment_of(row, self._bases)

    def _live_rows(self, numbers: Sequence[int], *, every: bool = False) -> dict[int, list[int]]:
        """Unless every row is wanted, a covered one is given only where there is no other: its
        identifier may be one that the record above lacks."""
        found: dict[int, list[int]] = {}
        covered: dict[int, list[int]] = {}
        for segment in self._segments:
            for number, rows in segment.catalogue.rows(numbers).items():
                for row in sorted(rows):
                    if segment.is_live(row):
                        kind = covered if segment.is_covered(row) and not every else found
                        kind.setdefault(number, []).append(row + segment.base)
        return covered | found
