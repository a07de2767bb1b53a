"""The records that a merge clusters: those of the sources, and related ones of the library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.keys import id_number
from citewell.corpus.library import Library
from citewell.model import Work
from citewell_corpus.continued_rows import Earlier
from citewell_corpus.import_stage import StagedSource
from citewell_corpus.rereading import Reread, remaining, reread_rows
from citewell_corpus.staging import (
    ONLY_IDS,
    KeyCollector,
    KeyTable,
    RecordFile,
    RecordWriter,
    concatenate,
    map_tables,
)

_BATCH = 1000
_MERGED_IDS = "openalex"
"""The source of which another file says which ids name one work."""


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
        # Works of the library keep their DOI: only new records lose a disputed one, and what
        # remains of a work, because the DOI may be that of the source that is read again.
        new = record >= self.first_new or record in self.remnants
        if record in self.doubtful and new:
            return msgspec.structs.replace(work, doi="")
        return work

    @property
    def sole(self) -> dict[int, int]:
        """Records of rows that only sources which are read again had given."""
        return self.earlier.sole

    @property
    def remnants(self) -> set[int]:
        """Records of rows that lost a source which is read again, and keep another."""
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
        """Whether the record says only which ids name one work."""
        return bool(self.table.flags[record] & ONLY_IDS)

    def source(self, record: int) -> str:
        return self.names[int(np.searchsorted(self.ends, record, side="right"))]

    def _related(self, folder: Path, table: KeyTable, base: Library) -> tuple[KeyTable, RecordFile]:
        """Works of the library that share a key with a new record, and those that lose a source
        but keep another, copied to the staging area."""
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
