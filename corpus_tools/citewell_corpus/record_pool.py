"""The records that a merge clusters: those of the sources, and related ones of the library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from citewell.corpus.library import Library
from citewell.model import Work
from citewell_corpus.import_stage import StagedSource
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


class RecordPool:
    """All records to cluster: works of the library first, then those of each source, in order."""

    def __init__(self, folder: Path, staged: Sequence[StagedSource], base: Library | None) -> None:
        paths = [path for source in staged for path in source.tables()]
        self.files: list[RecordFile] = []
        self.doubtful: frozenset[int] = frozenset()
        self.base_rows: list[int] = []
        new, counts = map_tables(paths, folder / "keys")
        self.names = [source.imported.name for source in staged for _ in source.parts]
        if base is not None and staged:
            base_table, self.base_rows, file = _related(folder, new, base)
            new = concatenate([base_table, new])
            self.files.append(file)
            self.names.insert(0, "")
            counts.insert(0, len(base_table))
        self.table = new
        self.files += [RecordFile(path) for source in staged for path in source.records()]
        self.first_new = len(self.base_rows)
        self.ends = np.cumsum(counts)

    def __enter__(self) -> RecordPool:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            file.close()

    def work(self, record: int) -> Work:
        file = int(np.searchsorted(self.ends, record, side="right"))
        work = self.files[file].work(int(self.table.offset[record]))
        # Works of the library keep their DOI: only new records lose a disputed one.
        if record in self.doubtful and record >= self.first_new:
            return msgspec.structs.replace(work, doi="")
        return work

    def is_only_ids(self, record: int) -> bool:
        """Whether the record says only which ids name one work."""
        return bool(self.table.flags[record] & ONLY_IDS)

    def source(self, record: int) -> str:
        return self.names[int(np.searchsorted(self.ends, record, side="right"))]


def _related(
    folder: Path, table: KeyTable, base: Library
) -> tuple[KeyTable, list[int], RecordFile]:
    """Works of the library that share a key with a new record, copied to the staging area."""
    numbers = np.unique(np.concatenate([table.own, table.ids, table.doi, table.arxiv, table.title]))
    numbers = numbers[numbers != 0]
    rows: set[int] = set()
    for start in range(0, len(numbers), _BATCH):
        found = base.key_rows(numbers[start : start + _BATCH].tolist())
        rows.update(row for members in found.values() for row in members)
    path = folder / "related.bin"
    collector, writer = KeyCollector(), RecordWriter(path)
    ordered = sorted(rows)
    for start in range(0, len(ordered), _BATCH):
        for work in base.works(ordered[start : start + _BATCH]):
            collector.add(work, writer.write(work))
    writer.close()
    return collector.table(), ordered, RecordFile(path)
