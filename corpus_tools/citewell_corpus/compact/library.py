"""Writes a library with one compact segment; its bytes depend only on the works."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell import __version__
from citewell.corpus.compact.catalogue import FOLDER
from citewell.corpus.compact.codec import save_table
from citewell.corpus.compact.records import save_places
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
from citewell.retrieval.arrays import save_array
from citewell.retrieval.dense import CENTROIDS, CODES, CODEWORDS, COMPACT_SHRINK, SIZES
from citewell.retrieval.dense_build import VECTORS
from citewell_corpus.compact.records import write_records
from citewell_corpus.compact.terms import TELLING, write_terms
from citewell_corpus.processes import Progress

# Product quantisation of the vectors of a compact segment.

_SAMPLE = 65_536
_ROUNDS = 20
_BLOCK = 16_384
_SEED = 1


def group_sizes(dim: int, groups: int) -> list[int]:
    """Components in each group, as even as possible, larger groups first."""
    small, more = divmod(dim, groups)
    return [small + 1] * more + [small] * (groups - more)


def write_vectors(
    folder: Path, vectors: NDArray[np.int8], sizes: Sequence[int]
) -> NDArray[np.float32]:
    """Write the codes of all rows; return the cosine of each with its original, shape (rows,)."""
    count, dim = vectors.shape
    chosen = np.random.default_rng(_SEED).permutation(count)[:_SAMPLE]
    sample = _unit(vectors[np.sort(chosen)])
    centroids = np.zeros((CODEWORDS, dim), np.float32)
    ends = np.cumsum(sizes)
    for size, end in zip(sizes, ends.tolist(), strict=True):
        centroids[:, end - size : end] = _centroids(sample[:, end - size : end])
    scale = 127 / max(float(np.abs(centroids).max()), 1e-9)
    coded = np.rint(centroids * scale).astype(np.int8)
    own = coded.astype(np.float32) / scale
    codes = np.zeros((len(sizes), count), np.uint8)
    shrink = np.zeros(count, np.float32)
    cosine = np.zeros(count, np.float32)
    for begin in range(0, count, _BLOCK):
        block = _unit(vectors[begin : begin + _BLOCK])
        decoded = np.zeros(block.shape, np.float32)
        for group, (size, end) in enumerate(zip(sizes, ends.tolist(), strict=True)):
            part = slice(end - size, end)
            near = _nearest(block[:, part], own[:, part])
            codes[group, begin : begin + len(block)] = near
            decoded[:, part] = coded[near, part]
        known = np.abs(block).max(axis=1, initial=0) > 0
        length = np.linalg.norm(decoded, axis=1)
        good = known & (length > 0)
        at = slice(begin, begin + len(block))
        np.divide(1.0, length, out=shrink[at], where=good)
        cosine[at] = np.einsum("ij,ij->i", block, decoded) * shrink[at]
    save_array(folder / CODES, codes)
    save_table(folder / SIZES, np.array(sizes, np.uint8))
    save_table(folder / CENTROIDS, coded)
    save_table(folder / COMPACT_SHRINK, shrink.astype(np.float16))
    return cosine


def _unit(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    out = vectors.astype(np.float32)
    length = np.linalg.norm(out, axis=1, keepdims=True)
    return np.asarray(np.divide(out, length, out=out, where=length > 0), np.float32)


def _nearest(rows: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    """Number of the nearest centroid of each row."""
    distance = np.einsum("ij,ij->i", centroids, centroids) - 2 * (rows @ centroids.T)
    return np.asarray(distance.argmin(axis=1), np.int64)


def _centroids(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lloyd's algorithm from distinct rows; an empty cluster keeps its place."""
    start = np.unique(rows, axis=0)
    pick = np.random.default_rng(_SEED).permutation(len(start))[:CODEWORDS]
    found = np.zeros((CODEWORDS, rows.shape[1]), np.float32)
    found[: len(pick)] = start[np.sort(pick)]
    for _ in range(_ROUNDS):
        near = _nearest(rows, found)
        often = np.bincount(near, minlength=CODEWORDS)
        for at in range(rows.shape[1]):
            total = np.bincount(near, rows[:, at], CODEWORDS)
            found[:, at] = np.where(often > 0, total / np.maximum(often, 1), found[:, at])
    return found


def read_vectors(folder: Path, dim: int) -> tuple[list[str], NDArray[np.int8]]:
    """Ids of works and their vectors by the transformer, of any length, shape (n, dim).

    `folder` holds `ids.txt.gz`, an id a line, and `codes.npy`, uint8 (n, dim / 2): two numbers a
    byte, the low half first, each increased by 8. Raises `OSError` and `ValueError`.
    """
    names = gzip.decompress((folder / "ids.txt.gz").read_bytes()).decode().split()
    codes = np.load(folder / "codes.npy", allow_pickle=False)
    if codes.shape != (len(names), dim // 2):
        raise ValueError(f"{folder}: codes of the shape {codes.shape} for {len(names)} works")
    vectors = np.empty((len(names), dim), np.int8)
    vectors[:, 0::2], vectors[:, 1::2] = codes & 15, codes >> 4
    vectors -= 8
    return names, vectors


VECTOR_BYTES = 40
"""Bytes of the stored vector of a work."""


class CompactReport(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a written library."""

    works: int
    abstracts: int
    """Number of works with an abstract."""
    cosine: float
    """Mean cosine of the stored and the original vectors."""


def write_compact_library(
    base: Path,
    into: Path,
    name: str,
    progress: Progress,
    *,
    telling: int = TELLING,
    vector_bytes: int = VECTOR_BYTES,
    read: Path | None = None,
) -> CompactReport:
    """Write the works of the library `base` into the folder `into` as one compact segment.

    `read` is a folder with vectors of works by the transformer (`read_vectors`), which take the
    place of the dense index's. `base` must have one segment without dead rows and a dense index;
    abstracts and extra fields of provenance are left out. The content of `into` is replaced at the
    end.
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
        vectors = np.load(library.segments[0].index("dense") / VECTORS)
        if read is not None:
            names, better = read_vectors(read, vectors.shape[1])
            rows = library.rows_of(names)
            vectors[rows[rows >= 0]] = better[rows >= 0]
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
    """Write segment.json; the segment is named after the content of its files."""
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
