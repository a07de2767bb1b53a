"""Writes a library with one compact segment, whose bytes follow from its works alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from citewell import __version__
from citewell.corpus.compact.catalogue import FOLDER
from citewell.corpus.compact.volumes import save_places
from citewell.corpus.layout import (
    CURRENT,
    MANIFEST,
    SEGMENT,
    FileRecord,
    Manifest,
    SegmentRecord,
    SegmentUse,
    SourceUse,
    digest,
    file_digest,
    snapshot_id,
)
from citewell.corpus.library import Library
from citewell.corpus.volumes import FORMAT as VOLUMES_FORMAT
from citewell.corpus.volumes import NAME as VOLUMES
from citewell.corpus.volumes import places_of
from citewell.model import Work
from citewell.retrieval.dense_build import VECTORS
from citewell_corpus.compact.records import write_records
from citewell_corpus.compact.terms import TELLING, write_terms
from citewell_corpus.compact.vectors import group_sizes, write_vectors
from citewell_corpus.progress import Progress

VECTOR_BYTES = 40
"""Bytes in which the vector of a work is kept."""


class CompactReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    works: int
    abstracts: int
    """Works of which an abstract was read."""
    cosine: float
    """Mean likeness of the kept vectors to the original ones."""


def write_compact_library(
    base: Path,
    into: Path,
    name: str,
    progress: Progress,
    *,
    telling: int = TELLING,
    vector_bytes: int = VECTOR_BYTES,
) -> CompactReport:
    """Write the works of the library `base` into the folder `into` as one compact segment.

    `base` must have one segment without dead rows and a dense index; abstracts and extra fields
    of provenance stay behind. What was in `into` is replaced when all is written.
    """
    scratch = into.with_name(f".{into.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    with Library.open(base) as library:
        if len(library.segments) != 1 or library.whole_segments[0].dead is not None:
            raise ValueError("the library must be of one segment: build it with --compact")
        count = len(library)
        segment = scratch / "segment"
        for part in (FOLDER, "bm25", "dense"):
            (segment / part).mkdir(parents=True)
        progress.stage("Records", count)
        abstracts = 0

        def works() -> Iterator[Work]:
            for work in library.iter_works():
                progress.advance(1)
                yield work

        def counted() -> Iterator[Work]:
            nonlocal abstracts
            for work in works():
                abstracts += bool(work.abstract)
                yield work

        write_records(segment / FOLDER, counted(), (name,))
        progress.stage("Words", count)
        write_terms(segment / "bm25", works(), telling)
        progress.stage("Volumes", count)
        places = places_of(works())
        save_places(segment / VOLUMES, msgspec.structs.astuple(places))
        progress.stage("Vectors", 0)
        vectors = np.load(library.segments[0].index("dense") / VECTORS, mmap_mode="r")
        sizes = group_sizes(vectors.shape[1], vector_bytes)
        cosine = write_vectors(segment / "dense", vectors, sizes)
        indexes = {
            "columns": {"compact": 1},
            "facets": {"compact": 1},
            VOLUMES: {"format": VOLUMES_FORMAT},
            "bm25": {"compact": 1, "telling": telling},
            "dense": {**library.manifest.indexes["dense"], "compact": list(sizes)},
        }
        manifest = library.manifest
    record = _seal(segment, count, name, indexes)
    (scratch / "segments").mkdir()
    segment.replace(scratch / "segments" / record.id)
    own = (scratch / "segments" / record.id / SEGMENT).read_bytes()
    data = _json(
        Manifest(
            citewell=__version__,
            works=count,
            merged=manifest.merged,
            titles=manifest.titles,
            segments=(SegmentUse(id=record.id, count=count, record=digest(own)),),
            sources={
                name: SourceUse(path=name, format="compact", fingerprint=digest(own), records=count)
            },
            indexes=indexes,
        )
    )
    snapshot = snapshot_id(1, data)
    (scratch / "snapshots" / snapshot).mkdir(parents=True)
    (scratch / "snapshots" / snapshot / MANIFEST).write_bytes(data)
    (scratch / CURRENT).write_text(f"{snapshot}\n", encoding="ascii")
    shutil.rmtree(into, ignore_errors=True)
    scratch.replace(into)
    known = cosine[cosine > 0]
    mean = float(known.mean()) if len(known) else 0.0
    return CompactReport(works=count, abstracts=abstracts, cosine=round(mean, 4))


def _seal(
    folder: Path, count: int, name: str, indexes: dict[str, dict[str, object]]
) -> SegmentRecord:
    """Write segment.json; the segment is named by what its files hold."""
    files = {
        path.relative_to(folder).as_posix(): FileRecord(
            size=path.stat().st_size, blake2b=file_digest(path)
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    mark = digest(msgspec.json.encode(sorted(files.items())))[:8]
    record = SegmentRecord(
        id=f"000001-{mark}", count=count, indexes=indexes, origins=(name,), files=files
    )
    (folder / SEGMENT).write_bytes(_json(record))
    return record


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)
