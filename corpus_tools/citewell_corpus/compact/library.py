"""Writes a library with one compact segment; its bytes depend only on the works."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell import __version__
from citewell.corpus.compact.catalogue import FOLDER
from citewell.corpus.compact.codec import encode_rows, save_table
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
from citewell.retrieval.bm25_build import (
    Parameters,
    Terms,
    fact_terms,
    in_chunks,
    lucene_idf,
)
from citewell.retrieval.bm25_segment import (
    FREQUENCIES,
    LENGTH_STEP,
    META,
    TITLE_FROM,
    TermsMeta,
    kind_of,
    term_hash,
)
from citewell.retrieval.dense import CENTROIDS, CODES, CODEWORDS, COMPACT_SHRINK, SIZES
from citewell.retrieval.dense_build import VECTORS
from citewell_corpus.compact.records import write_records
from citewell_corpus.processes import Progress

# Writes the BM25 index of a compact segment: whole titles, and distinctive words of abstracts.

TELLING = 12
"""Number of words kept of an abstract, those with the highest scores."""
_FACT = 255
"""Marks a posting of a fact among the codes."""


def write_terms(folder: Path, works: Iterable[Work], telling: int = TELLING) -> None:
    """Write the index of the works, in order."""
    parameters = Parameters()
    state = _PostingCounts(parameters)
    for chunk in in_chunks(works):
        state.add(chunk)
    names = state.terms.names()
    frequency = state.frequency(len(names))
    idf = lucene_idf(frequency, state.count)
    parts = [_telling(part, idf, frequency, telling) for part in state.parts]
    term = np.concatenate([part[0] for part in parts] or [np.zeros(0, np.int32)])
    row = np.concatenate([part[1] for part in parts] or [np.zeros(0, np.int32)])
    code = np.concatenate([part[2] for part in parts] or [np.zeros(0, np.uint8)])
    number, kept = _numbers(names, frequency, np.bincount(term, minlength=len(names)))
    own = number[term]
    use = own >= 0
    own, row, code = own[use], row[use], code[use]
    order = np.lexsort((row, own))
    own, row, code = own[order], row[order].astype(np.int64), code[order]
    counts = np.bincount(own, minlength=len(kept))
    save_array(folder / "rows.npy", encode_rows(row, counts, state.count))
    save_table(folder / "counts.zst", counts.astype(np.int32))
    word_codes = code[code != _FACT]
    pairs = np.zeros(len(word_codes) + len(word_codes) % 2, np.uint8)
    pairs[: len(word_codes)] = word_codes
    save_array(folder / "codes.npy", pairs[::2] | pairs[1::2] << 4)
    save_array(folder / "terms.npy", np.array([term_hash(names[at]) for at in kept], np.uint32))
    save_table(folder / "kinds.zst", np.array([kind_of(names[at]) for at in kept], np.uint8))
    save_table(folder / "frequency.zst", frequency[kept].astype(np.int32))
    save_table(folder / "lengths.zst", np.concatenate([np.zeros(0, np.uint8), *state.lengths]))
    meta = TermsMeta(count=state.count, k1=parameters.k1, b=parameters.b, pivot=parameters.pivot)
    (folder / META).write_bytes(msgspec.json.format(msgspec.json.encode(meta), indent=1))


_Part = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], NDArray[np.float32]]
"""Term, row, code and saturated frequency of each posting; a fact has the code `_FACT`."""


class _PostingCounts:
    """The postings of all works, chunk by chunk."""

    def __init__(self, parameters: Parameters) -> None:
        self.terms = Terms()
        self.count = 0
        self.parts: list[_Part] = []
        self.lengths: list[NDArray[np.uint8]] = []
        self._parameters = parameters

    def add(self, works: list[Work]) -> None:
        p = self._parameters
        title, title_of = self.terms.of_texts([work.title for work in works])
        text, text_of = self.terms.of_texts([work.abstract for work in works])
        key = np.concatenate(
            [title.astype(np.int64) << 32 | title_of, text.astype(np.int64) << 32 | text_of]
        )
        distinct, place = np.unique(key, return_inverse=True)
        in_title = np.bincount(place[: len(title)], minlength=len(distinct)) > 0
        weight = np.concatenate([np.full(len(title), p.title_weight), np.ones(len(text))])
        often = np.bincount(place, weight, len(distinct)).astype(np.float64)
        length = p.title_weight * np.bincount(title_of, minlength=len(works))
        length += np.bincount(text_of, minlength=len(works))
        damp = p.k1 * (1 - p.b + p.b * length / p.pivot)
        row = (distinct & 0xFFFFFFFF).astype(np.int32)
        score = (often / (often + damp[row])).astype(np.float32)
        term = (distinct >> 32).astype(np.int32)
        facts, fact_of, _ = fact_terms(works, self.terms)
        own = np.unique(facts.astype(np.int64) << 32 | fact_of)
        self.parts.append(
            (
                np.concatenate([term, (own >> 32).astype(np.int32)]),
                np.concatenate([row, (own & 0xFFFFFFFF).astype(np.int32)]) + np.int32(self.count),
                np.concatenate([_codes(often, in_title), np.full(len(own), _FACT, np.uint8)]),
                np.concatenate([score, np.zeros(len(own), np.float32)]),
            )
        )
        steps = np.rint(np.log(length + 1) / np.log(LENGTH_STEP))
        self.lengths.append(np.clip(steps, 0, 255).astype(np.uint8))
        self.count += len(works)

    def frequency(self, terms: int) -> NDArray[np.int64]:
        """Number of works with each term."""
        total = np.zeros(terms, np.int64)
        for term, _, _, _ in self.parts:
            total += np.bincount(term, minlength=terms)
        return total


def _codes(often: NDArray[np.float64], in_title: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Code of each frequency: the nearest in its half of the table."""
    out = np.zeros(len(often), np.uint8)
    for begin, end, which in ((0, TITLE_FROM, ~in_title), (TITLE_FROM, 16, in_title)):
        levels = FREQUENCIES[begin:end]
        between = (levels[1:] + levels[:-1]) / 2
        out[which] = begin + np.searchsorted(between, often[which])
    return out


def _telling(
    part: _Part, idf: NDArray[np.float32], frequency: NDArray[np.int64], telling: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Drop terms that occur only in an abstract and are not among its highest-weighted ones."""
    term, row, code, score = part
    abstract = np.flatnonzero(code < TITLE_FROM)
    # A word in a single paper is more often a typo than a name.
    abstract = abstract[frequency[term[abstract]] > 1]
    gain = score[abstract] * idf[term[abstract]]
    order = np.lexsort((term[abstract], -gain, row[abstract]))
    ranked = row[abstract][order]
    begin = np.flatnonzero(np.diff(ranked, prepend=-1))
    rank = np.arange(len(ranked)) - np.repeat(begin, np.diff(np.append(begin, len(ranked))))
    keep = code >= TITLE_FROM
    keep[abstract[order[rank < telling]]] = True
    return term[keep], row[keep], code[keep]


def _numbers(
    names: list[bytes], frequency: NDArray[np.int64], kept: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The column of each term, -1 if left out, and the terms in the order of the columns.

    Columns ascend with the hash; of two terms with the same hash, the more frequent one is kept.
    """
    used = np.flatnonzero(kept)
    order = sorted(
        used.tolist(), key=lambda at: (term_hash(names[at]), -int(frequency[at]), names[at])
    )
    hashes = np.array([term_hash(names[at]) for at in order], np.uint32)
    first = np.flatnonzero(np.diff(hashes.astype(np.int64), prepend=-1))
    stay = np.array(order, np.int64)[first]
    number = np.full(len(names), -1, np.int64)
    number[stay] = np.arange(len(stay))
    return number, stay


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
