"""The records that a merge clusters: those of the sources, and related ones of the library."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.keys import id_number
from citewell.corpus.library import Library
from citewell.model import Work
from citewell.sources.combine import records_of, statements, variants_of
from citewell_corpus.importers import files
from citewell_corpus.stages.importing import StagedSource
from citewell_corpus.stages.staging import (
    ONLY_IDS,
    KeyCollector,
    RecordFile,
    RecordKeyTable,
    RecordWriter,
    concatenate,
    map_tables,
)

# Matching of new records with rows of the library whose sources are read again.
#
# A row from only these sources joins no records: two new records could meet in it, one by its key
# and another by its title, although they are two works. Once the new records are clustered, each
# row goes to the one cluster that continues it, and that work keeps the id.

_NEAR = 20
"""Maximum new records to compare a row with, for one key."""


class Earlier(msgspec.Struct):
    """Records of the library, the first of the table, with sources that are read again."""

    first_new: int = 0
    """The number of the first record that is not in the library."""
    sole: dict[int, int] = msgspec.field(default_factory=dict)
    """Records from only these sources, with the number of their id."""
    remnants: set[int] = msgspec.field(default_factory=set)
    """The rest of records that another source has, too. Their DOI may come from a source that is
    read again."""
    bridging: set[int] = msgspec.field(default_factory=set)
    """Those of `sole` with ids that may have been joined by a file that is not read again."""


class ContinuedRows:
    """Collects the new records that share a key with the rows `earlier.sole`."""

    def __init__(self, earlier: Earlier, is_only_ids: Callable[[int], bool]) -> None:
        self._earlier = earlier
        self._is_only_ids = is_only_ids
        self._named: dict[int, list[int]] = {}
        """Records with an id of the row."""
        self._known: dict[int, list[int]] = {}
        """Records with another identifier of the row."""
        self._titled: dict[int, list[int]] = {}

    def named(self, bucket: list[int]) -> list[int]:
        """The bucket of an id without the rows."""
        return self._without_rows(bucket, self._named)

    def known(self, bucket: list[int]) -> list[int]:
        """The bucket of an identifier without the rows."""
        return self._without_rows(bucket, self._known)

    def titled(self, bucket: list[int]) -> list[int]:
        """The bucket of a title without the rows."""
        return self._without_rows(bucket, self._titled)

    def without_rows(self, bucket: list[int]) -> list[int]:
        """The bucket without the rows, without collecting them."""
        return self._without_rows(bucket, {})

    def _without_rows(self, bucket: list[int], found: dict[int, list[int]]) -> list[int]:
        sole = self._earlier.sole
        rows = [record for record in bucket if record in sole] if sole else []
        if not rows:
            return bucket
        rest = [record for record in bucket if record not in sole]
        new = [record for record in rest if record >= self._earlier.first_new]
        near = [record for record in new[:_NEAR] if not self._is_only_ids(record)]
        for row in rows:
            found.setdefault(row, []).extend(near)
        return rest

    def bridged(self) -> list[tuple[int, int]]:
        """Pairs of new records with ids that a file that is not read again may have joined."""
        rows = sorted(self._earlier.bridging & self._named.keys())
        return [pair for row in rows for pair in combinations(self._named[row], 2)]

    def successors(
        self,
        find: Callable[[int], int],
        has_id: Callable[[int, int], bool],
        is_same: Callable[[int, int], bool],
        matches_title: Callable[[int, int], int],
    ) -> list[tuple[int, int]]:
        """Each row with a record of the cluster that continues it.

        The record with the row's id decides, else one with a former id, else the only cluster with
        an identifier or the title of the row, if no other row goes there.
        """
        found: list[tuple[int, int]] = []
        for row, number in sorted(self._earlier.sole.items()):
            named = self._named.get(row, [])
            chosen = [record for record in named if has_id(record, number)] or named
            if len({find(record) for record in chosen}) == 1:
                found.append((row, chosen[0]))
        taken = {find(record) for _, record in found}
        for row in sorted(self._earlier.sole.keys() - self._named.keys()):
            near = [record for record in self._known.get(row, ()) if is_same(record, row)]
            near += [record for record in self._titled.get(row, ()) if matches_title(record, row)]
            roots = {find(record) for record in near}
            if len(roots) == 1 and taken.isdisjoint(roots):
                taken |= roots
                found.append((row, near[0]))
        return found


# Rows of the library with records of sources that are read again.
#
# The earlier records of these sources no longer count: a row of these sources only takes no part in
# the merge, except that the work which continues it keeps its id. For a row that another source
# has, too, the part of that source is merged.

_OF_FILES = ("bibtex", "zotero", "records")
"""Sources of one file, named after a colon in the provenance."""


class Reread(msgspec.Struct):
    """The live rows with records of the sources that are read again."""

    sole: set[int] = msgspec.field(default_factory=set)
    """Rows of these sources only."""
    shared: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Other rows, with the added sources that remain."""


def reread_rows(base: Library, names: Iterable[str]) -> Reread:
    """The rows of `base` with records of the added sources `names`."""
    again = set(names)
    found = Reread()
    for row in {row for name in again for row in base.rows_from(name)}:
        remain = tuple(name for name in base.origins_of(row) if name not in again)
        if remain:
            found.shared[row] = remain
        else:
            found.sole.add(row)
    return found


def remaining(work: Work, again: Collection[str], remain: Sequence[str]) -> Work:
    """A work of the library without the sources `again`, for the sources that `remain`.

    Fields stay if no variant records their source, and so do ids and origins that both kinds of
    sources may have given.
    """
    gone = _gone(work, again, remain)
    kept = tuple(origin for origin in work.provenance if origin.source not in gone)
    if not gone or not kept:
        return work
    gone_ids = [origin.source_id for origin in work.provenance if origin.source in gone]
    records = []
    for record, statement in zip(records_of(work), statements(work), strict=True):
        origins = tuple(origin for origin in record.provenance if origin.source not in gone)
        if origins:
            records.append(
                msgspec.structs.replace(record, doi=statement.doi, provenance=origins, variants=())
            )
    if records:
        variants = variants_of(records[0], records)
        work = msgspec.structs.replace(records[0], variants=variants)
    names = [origin.source_id for origin in kept]
    ids = [
        one
        for one in ids_without_files(work.same_as, gone)
        if not _named(one, gone_ids) or _named(one, names)
    ]
    own = [one for one in ids if not one.startswith("doi:")]
    identifier = work.id if work.id in own or not own else own[0]
    return msgspec.structs.replace(work, id=identifier, same_as=tuple(ids), provenance=kept)


def ids_without_files(ids: Iterable[str], gone: Iterable[str]) -> list[str]:
    """The ids without those given by a file among the sources `gone`, named as in the provenance.

    The file may give them to other entries when it is read again.
    """
    marks = [_mark(source) for source in gone if _is_of_file(source)]
    return [one for one in ids if not any(mark in one for mark in marks)]


def _gone(work: Work, again: Collection[str], remain: Sequence[str]) -> set[str]:
    """The names in the work's provenance of sources that only `again` contains."""
    named = {origin.source for origin in work.provenance}
    gone = {name for name in named if any(_is_from(name, path) for path in again)}
    if all(any(_is_from(name, path) for name in named) for path in remain):
        # The files that remain are accounted for, so all others are from those read again.
        gone |= {name for name in named if not _is_of_file(name)}
    return gone


def _is_of_file(name: str) -> bool:
    kind, mark, _ = name.partition(":")
    return bool(mark) and kind in _OF_FILES


def _is_from(name: str, path: str) -> bool:
    """Whether the provenance `name` is of the file, folder or pattern at `path`."""
    kind, _, file = name.partition(":")
    if kind == "records":
        return file == files.place(Path(path))
    if not _is_of_file(name):
        return False
    return file == path or Path(file).is_relative_to(path) or fnmatchcase(file, path)


def _mark(name: str) -> str:
    """The mark in the ids of a file's records (`files.place`)."""
    kind, _, file = name.partition(":")
    return f"{file}:" if kind == "records" else f"{files.place(Path(file))}:"


def _named(identifier: str, names: Sequence[str]) -> bool:
    return any(identifier == name or identifier.endswith(f":{name}") for name in names)


_BATCH = 1000
_MERGED_IDS = "openalex"
"""The source with a separate file of ids that name one work."""


class RecordPool:
    """All records to cluster: works of the library first, then those of each source, in order."""

    def __init__(
        self,
        folder: Path,
        staged: Sequence[StagedSource],
        base: Library | None,
        removed: Sequence[str] = (),
    ) -> None:
        paths = [path for source in staged for path in source.tables()]
        self.files: list[RecordFile] = []
        self.doubtful: frozenset[int] = frozenset()
        self.base_rows: list[int] = []
        self.reread = Reread()
        self.earlier = Earlier()
        self._again: list[str] = []
        self._originals: dict[int, int] = {}
        self._taken: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        new, counts = map_tables(paths, folder / "keys")
        self.names = [source.imported.name for source in staged for _ in source.parts]
        if base is not None and (staged or removed):
            self._again = sorted({*removed, *(source.imported.name for source in staged)})
            self.reread = reread_rows(base, self._again)
            base_table, file = self._related(folder, new, base)
            new = concatenate([base_table, new])
            self.files.append(file)
            self.names.insert(0, "")
            counts.insert(0, len(base_table))
        self.table = new
        self.files += [RecordFile(path) for source in staged for path in source.records()]
        self.first_new = self.earlier.first_new = len(self.base_rows)
        self.root = np.arange(len(self.table))
        self.ends = np.cumsum(counts)

    def __enter__(self) -> RecordPool:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            file.close()

    def work(self, record: int) -> Work:
        file = int(np.searchsorted(self.ends, record, side="right"))
        work = self.files[file].work(int(self.table.offset[record]))
        # Works of the library keep their DOI: only new records lose a disputed one, and remnants,
        # because the DOI may come from the source that is read again.
        new = record >= self.first_new or record in self.remnants
        if record in self.doubtful and new:
            return msgspec.structs.replace(work, doi="")
        return work

    @property
    def sole(self) -> dict[int, int]:
        """Records of rows from only those sources that are read again."""
        return self.earlier.sole

    @property
    def remnants(self) -> set[int]:
        """Records of rows that lose a source to be read again, and keep another."""
        return self.earlier.remnants

    def held_work(self, record: int) -> Work:
        """The work of the library, as it was before its sources were read again."""
        offset = self._originals.get(record)
        return self.work(record) if offset is None else self.files[0].work(offset)

    def is_taken(self, identifier: str, members: Sequence[int]) -> bool:
        """Whether a new record outside the group of `members` has this id."""
        if self._taken is None:
            start = int(self.table.own_end[self.first_new - 1]) if self.first_new else 0
            counts = np.diff(self.table.own_end, prepend=0)[self.first_new :]
            owners = np.repeat(np.arange(self.first_new, len(self.table)), counts)
            order = np.argsort(self.table.own[start:], kind="stable")
            self._taken = self.table.own[start:][order], owners[order]
        numbers, owners = self._taken
        number = id_number(identifier)
        first, last = np.searchsorted(numbers, number), np.searchsorted(numbers, number, "right")
        return bool((self.root[owners[first:last]] != self.root[members[0]]).any())

    def is_only_ids(self, record: int) -> bool:
        """Whether the record only states ids of one work."""
        return bool(self.table.flags[record] & ONLY_IDS)

    def source(self, record: int) -> str:
        return self.names[int(np.searchsorted(self.ends, record, side="right"))]

    def _related(
        self, folder: Path, table: RecordKeyTable, base: Library
    ) -> tuple[RecordKeyTable, RecordFile]:
        """Works of the library that share a key with a new record, and those that lose a source but
        keep another, copied to the staging area."""
        numbers = np.unique(
            np.concatenate([table.own, table.ids, table.doi, table.arxiv, table.title])
        )
        numbers = numbers[numbers != 0]
        rows = set(self.reread.shared)
        for start in range(0, len(numbers), _BATCH):
            found = base.key_rows(numbers[start : start + _BATCH].tolist())
            rows.update(row for members in found.values() for row in members)
        path = folder / "related.bin"
        collector, writer = KeyCollector(), RecordWriter(path)
        self.base_rows = sorted(rows)
        for start in range(0, len(self.base_rows), _BATCH):
            batch = self.base_rows[start : start + _BATCH]
            for record, (row, work) in enumerate(zip(batch, base.works(batch), strict=True), start):
                offset = writer.write(work)
                if row in self.reread.sole:
                    self.earlier.sole[record] = id_number(work.id)
                    if any(origin.source == _MERGED_IDS for origin in work.provenance):
                        self.earlier.bridging.add(record)
                elif row in self.reread.shared:
                    self.earlier.remnants.add(record)
                    self._originals[record] = offset
                    work = remaining(work, self._again, self.reread.shared[row])
                    offset = writer.write(work)
                collector.add(work, offset)
        writer.close()
        return collector.table(), RecordFile(path)
