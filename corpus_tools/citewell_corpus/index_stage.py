"""The third stage of a build: the indexes of a segment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citewell.corpus.catalogue import Catalogue
from citewell.corpus.contract import IndexBuilder
from citewell.corpus.layout import CATALOGUE, SegmentRecord
from citewell.model import Work
from citewell_corpus.progress import Progress
from citewell_corpus.segment_writer import write_whole


def build_indexes(
    folder: Path,
    count: int,
    builders: Sequence[IndexBuilder],
    markers: Path,
    progress: Progress,
) -> None:
    """Build the indexes that are not marked as finished, from the segment's catalogue."""
    catalogue = Catalogue(folder / CATALOGUE, count)

    def works() -> Iterator[Work]:
        return (work for _, work in catalogue.iterate())

    try:
        for builder in builders:
            marker = _marker(markers, folder, builder.name)
            if marker.is_file():
                continue
            into = folder / builder.name
            if not into.is_dir():
                into.mkdir()
            progress.stage(f"Index: {builder.name}", count)
            builder.build(works, count, into, progress.advance)
            write_whole(marker, b"done\n")
    finally:
        catalogue.close()


def link_segment(
    segment: Path,
    folder: Path,
    record: SegmentRecord,
    indexes: Mapping[str, Mapping[str, Any]],
    markers: Path,
) -> None:
    """Copy a segment with its current indexes into `folder`, as hard links if possible.

    They are marked as finished: rebuilding one would write into a segment in use. Markers of an
    earlier, incomplete copy are kept. Vectors that a former version kept under another name take
    the new one.
    """
    good = {name for name in record.indexes if record.indexes[name] == indexes.get(name)}
    stale = record.indexes.keys() - good
    renamed = {
        old: name
        for name, facts in indexes.items()
        for old in stale
        if name not in good and "weights" in facts and record.indexes[old] == facts
    }
    for name in record.files:
        index, _, rest = name.partition("/")
        if index in stale and index not in renamed:
            continue
        target = folder / renamed.get(index, index) / rest if rest else folder / name
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(segment / name, target)
        except OSError:
            # Another file system, or one without links.
            shutil.copy2(segment / name, target)
    for name in sorted(good.union(renamed.values())):
        write_whole(_marker(markers, folder, name), b"done\n")


def _marker(markers: Path, folder: Path, index: str) -> Path:
    """The marker file of a finished index."""
    return markers / f"{folder.name}.{index}.done"
