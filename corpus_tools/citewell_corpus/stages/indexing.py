"""The third stage of a build: the indexes of a segment."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from citewell.corpus.catalogue import Catalogue
from citewell.corpus.contract import IndexBuilder
from citewell.corpus.layout import CATALOGUE, SegmentRecord
from citewell.model import Work
from citewell.options import Options
from citewell_corpus.processes import Progress, Report, run_tasks
from citewell_corpus.segment_writer import write_whole


def default_builders(options: Options) -> list[IndexBuilder]:
    """The index builders of the retrievers enabled in the settings."""
    from citewell.corpus.columns import ColumnsBuilder
    from citewell.corpus.volumes import VolumesBuilder
    from citewell.retrieval import registry
    from citewell.retrieval.facets import FacetsBuilder

    return [ColumnsBuilder(), FacetsBuilder(), VolumesBuilder(), *registry.builders(options)]


def build_indexes(
    folder: Path,
    count: int,
    builders: Sequence[IndexBuilder],
    markers: Path,
    progress: Progress,
    jobs: int = 1,
) -> None:
    """Build the indexes that are not marked as finished, from the segment's catalogue.

    With several `jobs`, an index whose builder can be pickled is built by a process of its own.
    """
    waiting = [one for one in builders if not _marker(markers, folder, one.name).is_file()]
    apart = [one for one in waiting if _can_be_pickled(one)] if min(jobs, len(waiting)) > 1 else []
    tasks = [partial(_build_index, folder, count, one, markers) for one in apart]

    def build_here() -> None:
        for builder in waiting:
            if builder not in apart:
                progress.stage(f"Index: {builder.name}", count)
                _build_index(folder, count, builder, markers, progress.advance)

    if not tasks:
        build_here()
        return
    if len(apart) == len(waiting):
        progress.stage(f"Index: {', '.join(one.name for one in apart)}", count * len(apart))
        run_tasks(tasks, jobs, progress.advance)
    else:
        run_tasks(tasks, max(1, jobs - 1), lambda steps: None, build_here)


def _build_index(
    folder: Path, count: int, builder: IndexBuilder, markers: Path, report: Report
) -> None:
    catalogue = Catalogue(folder / CATALOGUE, count)

    def works() -> Iterator[Work]:
        return (work for _, work in catalogue.iterate())

    try:
        into = folder / builder.name
        if not into.is_dir():
            into.mkdir()
        builder.build(works, count, into, report)
        write_whole(_marker(markers, folder, builder.name), b"done\n")
    finally:
        catalogue.close()


def _can_be_pickled(builder: IndexBuilder) -> bool:
    """False for the builder of a loaded encoder."""
    try:
        pickle.dumps(builder)
    except (TypeError, AttributeError, pickle.PicklingError):
        return False
    return True


def link_segment(
    segment: Path,
    folder: Path,
    record: SegmentRecord,
    indexes: Mapping[str, Mapping[str, Any]],
    markers: Path,
) -> None:
    """Copy a segment with its current indexes into `folder`, as hard links if possible.

    They are marked as finished: rebuilding one would write into a segment in use. Markers of an
    earlier, incomplete copy are kept.
    """
    good = {name for name in record.indexes if record.indexes[name] == indexes.get(name)}
    stale = record.indexes.keys() - good
    for name in record.files:
        index = name.partition("/")[0]
        if index in stale:
            continue
        target = folder / name
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(segment / name, target)
        except OSError:
            # Another file system, or one without links.
            shutil.copy2(segment / name, target)
    for name in sorted(good):
        write_whole(_marker(markers, folder, name), b"done\n")


def _marker(markers: Path, folder: Path, index: str) -> Path:
    """The marker file of a finished index."""
    return markers / f"{folder.name}.{index}.done"
