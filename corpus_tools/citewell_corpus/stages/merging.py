"""The second stage of a build: merges new records with each other and with the library.

The same steps serve a first build and an addition. Works of the library that share a key with a new
record are clustered with the new records; a cluster of old and new records becomes a new row, and
the old rows are marked dead. Nothing else of the library is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.model import Work
from citewell.sources.combine import combine, same_content, update
from citewell.sources.values import malformed_name
from citewell_corpus.processes import Progress
from citewell_corpus.segment_writer import Row, write_catalogue
from citewell_corpus.stages.clusters import Clusters, cluster
from citewell_corpus.stages.importing import StagedSource
from citewell_corpus.stages.record_pool import RecordPool, ids_without_files
from citewell_corpus.stages.staging import ONLY_IDS, withdraws

# The pairs of sources joined by a merge, with counts and a few examples.

EXAMPLES = 3
"""Number of works named for each pair of sources."""


class MergedWork(msgspec.Struct, frozen=True):
    """A merged work."""

    title: str
    ids: tuple[str, ...]
    """Ids of the merged records, as in the sources."""


class MergedPair(msgspec.Struct, kw_only=True):
    """The merges between two sources; within one, if both names are the same."""

    first: str
    second: str
    works: int = 0
    examples: list[MergedWork] = msgspec.field(default_factory=list)


def merged_pairs(
    groups: Iterable[Sequence[int]],
    first_new: int,
    source_of: Callable[[int], str],
    origins_of: Callable[[int], tuple[str, ...]],
    work_of: Callable[[int], Work],
) -> list[MergedPair]:
    """The pairs of sources among groups of two or more records, the most frequent first.

    Records below `first_new` are works of the library, with sources from `origins_of`. Reading a
    source again merges nothing.
    """
    pairs: dict[tuple[str, str], MergedPair] = {}
    for members in groups:
        new = [source_of(record) for record in members if record >= first_new]
        if not new:
            continue
        held = {name for record in members if record < first_new for name in origins_of(record)}
        if held and held >= set(new):
            continue
        names = sorted({*new, *held})
        found = list(combinations(names, 2)) or [(names[0], names[0])]
        for pair in found:
            one = pairs.setdefault(pair, MergedPair(first=pair[0], second=pair[1]))
            one.works += 1
            if len(one.examples) < EXAMPLES:
                works = [work_of(record) for record in members]
                one.examples.append(MergedWork(works[0].title, tuple(work.id for work in works)))
    return sorted(pairs.values(), key=lambda pair: (-pair.works, pair.first, pair.second))


# The work of a group of records, and whether the library already has it.


def is_changed(pool: RecordPool, base: Library, members: Sequence[int]) -> bool:
    """Whether the group, which has a row of the library, becomes a new row.

    A group of rows only does so if one of them lost a source and keeps another.
    """
    held = [record for record in members if record < pool.first_new]
    if len(held) == len(members):
        return not pool.remnants.isdisjoint(held)
    if len(held) > 1:
        return True
    row = pool.base_rows[held[0]]
    if set(base.origins_of(row)) != origins_of(pool, base, members):
        return True
    return not same_content(work_of(pool, members), pool.held_work(held[0]))


def origins_of(pool: RecordPool, base: Library | None, members: Sequence[int]) -> set[str]:
    """The added sources of the group."""
    origins = {
        pool.source(record)
        for record in members
        if record >= pool.first_new and not pool.is_only_ids(record)
    }
    for record in members if base is not None else ():
        if record < pool.first_new:
            row = pool.base_rows[record]
            assert base is not None
            if row not in pool.reread.sole:
                origins.update(pool.reread.shared.get(row) or base.origins_of(row))
    return origins


def work_of(pool: RecordPool, members: Sequence[int]) -> Work:
    """The work of the group, with the id of its first row in the library, if it has one."""
    held = [record for record in members if record < pool.first_new]
    other = [record for record in members if record >= pool.first_new]
    new = [pool.work(record) for record in other if not pool.is_only_ids(record)]
    current = [pool.work(record) for record in held if record not in pool.sole]
    if len(current) == 1:
        work = update(current[0], new) if new else current[0]
    else:
        work = combine([*new, *current])
    named = [pool.work(record) for record in other if pool.is_only_ids(record)]
    ids = dict.fromkeys(work.same_as)
    for record in held:
        if record in pool.sole:
            ids |= dict.fromkeys(_former_ids(pool, pool.held_work(record), work, members))
    ids |= dict.fromkeys(one for record in named for one in (record.id, *record.same_as))
    if held:
        first = pool.held_work(held[0]).id
        if first != work.id and first in ids:
            ids = dict.fromkeys((first, work.id, *ids))
            work = msgspec.structs.replace(work, id=first)
    if named:
        ids.pop(work.id, None)
    return msgspec.structs.replace(work, same_as=tuple(ids)) if tuple(ids) != work.same_as else work


def _former_ids(pool: RecordPool, old: Work, work: Work, members: Sequence[int]) -> Iterator[str]:
    """Ids of the row `old` that stay valid for the `work` that continues it: no DOIs, no ids of
    another work, and none of a file that no longer has the work."""
    sources = {origin.source for origin in work.provenance}
    gone = {origin.source for origin in old.provenance} - sources
    for one in ids_without_files((old.id, *old.same_as), gone):
        if not one.startswith("doi:") and not pool.is_taken(one, members):
            yield one


# Records withdrawn by a later file of the same origin, such as papers deleted by Semantic Scholar.

_Origin = tuple[str, str]
"""A source and the record's identifier in it."""


def withdrawn_records(pool: RecordPool, root: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the records that do not count: those that withdraw others, and those with all origins
    withdrawn by later records. `root` is each record's cluster.

    A work of the library that another source holds, too, keeps its other origin and stays.
    """
    gone = np.zeros(len(root), np.bool_)
    withdrawing = withdraws(pool.table)
    if not len(withdrawing):
        return gone
    gone[withdrawing] = True
    last: dict[_Origin, int] = {}
    for record in withdrawing.tolist():
        for origin in _origins(pool, record):
            last[origin] = record
    concerned = np.isin(root, root[withdrawing]) & ~gone
    for record in np.flatnonzero(concerned).tolist():
        origins = _origins(pool, record)
        gone[record] = bool(origins) and all(last.get(one, -1) > record for one in origins)
    return gone


def _origins(pool: RecordPool, record: int) -> set[_Origin]:
    return {(one.source, one.source_id) for one in pool.work(record).provenance}


_BATCH = 1000


class MergeCounts(msgspec.Struct, kw_only=True):
    """Counts of the merge."""

    added: int = 0
    """Works new to the library."""
    updated: int = 0
    """Works of the library that changed."""
    unchanged: int = 0
    removed: int = 0
    """Works deleted from their only source."""
    by_identifier: int = 0
    """Records merged by a DOI, arXiv id or source id."""
    by_title: int = 0
    refused_identifier: int = 0
    refused_title: int = 0
    doubtful_doi: int = 0
    """Records without their DOI, because other works have it too."""
    pairs: list[MergedPair] = msgspec.field(default_factory=list)
    """Works merged from two sources, by pair of sources."""


class Merged(MergeCounts, kw_only=True):
    """The result of the stage; the marker that it is finished."""

    count: int
    """Rows of the new segment; 0: there is none."""
    titles: int = 0
    origins: tuple[str, ...] = ()
    absorbed: tuple[str, ...] = ()
    """Segments whose live rows moved into the new one."""
    dead: dict[str, list[int]] = msgspec.field(default_factory=dict)
    """Newly dead rows of the segments that stay, by segment."""
    quarantined: list[int] = msgspec.field(default_factory=list)
    """Rows of the new segment with a malformed name."""


def merge_sources(
    folder: Path,
    work_folder: Path,
    staged: Sequence[StagedSource],
    base: Library | None,
    *,
    compact: bool,
    progress: Progress,
    removed: Sequence[str] = (),
    released: frozenset[str] = frozenset(),
) -> Merged:
    """Write the new segment's catalogue into `folder`; `work_folder` is for scratch files.

    Content of `removed` sources stays only if others provide it, too. Works with a malformed name
    are quarantined, unless one of their ids is among `released`.
    """
    with RecordPool(work_folder, staged, base, removed) as pool:
        progress.stage("Merge duplicates", 0)
        decided = _decide(pool, base)
        absorbed = _absorb(base, decided, compact=compact)
        rows = _Rows(pool, base, decided, absorbed, released)
        if not len(rows):
            return _outcome(decided, base, absorbed, count=0)
        progress.stage("Write the catalogue", len(rows))
        folder.mkdir(parents=True, exist_ok=True)
        written = write_catalogue(folder, len(rows), rows.iterate, rows.sample, progress.advance)
        done = _outcome(decided, base, absorbed, count=written.count)
        return msgspec.structs.replace(
            done,
            titles=written.titles,
            origins=written.origins,
            quarantined=rows.quarantined,
        )


class _Decided(msgspec.Struct):
    """The groups of records that become rows, and the changes to the library's rows."""

    clusters: Clusters
    order: NDArray[np.int64]
    """Record numbers, group by group."""
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    """Position in `order` of each group that becomes a row."""
    dead: set[int] = msgspec.field(default_factory=set)
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    pairs: list[MergedPair] = msgspec.field(default_factory=list)


def _decide(pool: RecordPool, base: Library | None) -> _Decided:
    clusters = cluster(pool.table, lambda record: pool.work(record).title, pool.earlier)
    pool.doubtful, pool.root = clusters.doubtful_doi, clusters.root
    gone = withdrawn_records(pool, clusters.root)
    order = np.argsort(clusters.root, kind="stable")
    order = order[~gone[order]]
    cuts = np.flatnonzero(np.diff(clusters.root[order])) + 1
    begin = np.concatenate(([0], cuts)) if len(order) else np.empty(0, np.int64)
    end = np.concatenate((cuts, [len(order)])) if len(order) else np.empty(0, np.int64)
    decided = _Decided(clusters, order, begin, end)
    decided.pairs = merged_pairs(
        (order[begin[at] : end[at]].tolist() for at in np.flatnonzero(end - begin > 1).tolist()),
        pool.first_new,
        pool.source,
        lambda record: () if base is None else base.origins_of(pool.base_rows[record]),
        pool.work,
    )
    touched: set[int] = set()
    only_ids = (pool.table.flags[order] & ONLY_IDS) != 0
    if only_ids.any():
        # Records with ids only do not make a work.
        some = ~np.logical_and.reduceat(only_ids, begin)
        begin, end = begin[some], end[some]
        decided.begin, decided.end = begin, end
    if base is None or not pool.first_new:
        decided.added = len(begin)
    else:
        keep = np.ones(len(begin), np.bool_)
        # Records of the library have the lowest numbers, so groups without one are skipped.
        for group in np.flatnonzero(order[begin] < pool.first_new).tolist():
            members = order[begin[group] : end[group]].tolist()
            held = [pool.base_rows[record] for record in members if record < pool.first_new]
            new = [record for record in members if record >= pool.first_new]
            keep[group] = is_changed(pool, base, members)
            if new or keep[group]:
                touched.update(held)
            if keep[group]:
                decided.updated += 1
                decided.dead.update(held)
            elif new:
                decided.unchanged += 1
        decided.added = int(keep.sum()) - decided.updated
        decided.begin, decided.end = begin[keep], end[keep]
    if base is not None:
        deleted = {pool.base_rows[at] for at in np.flatnonzero(gone[: pool.first_new]).tolist()}
        removed = deleted | (pool.reread.sole - touched)
        decided.removed = len(removed)
        decided.dead |= removed
    return decided


def _absorb(base: Library | None, decided: _Decided, *, compact: bool) -> list[int]:
    """Segments to rewrite together with the new rows.

    Cost is logarithmic: a segment is absorbed if the rows to write are at least half as many, so
    that a paper is rewritten only when its segment has grown by half.
    """
    if base is None or not base.segments:
        return []
    dead = np.sort(np.fromiter(decided.dead, np.int64, len(decided.dead)))
    live = []
    for number, segment in enumerate(base.whole_segments):
        old = 0 if segment.dead is None else int(segment.dead.sum())
        new = np.searchsorted(dead, [segment.base, segment.base + segment.count])
        live.append((segment.count - old - int(new[1] - new[0]), number))
    if compact:
        needed = len(live) > 1 or live[0][0] < base.segments[0].count or len(decided.begin) > 0
        return [number for _, number in live] if needed else []
    size, absorbed = len(decided.begin), []
    for count, number in sorted(live):
        if count and (count > 2 * size or not size):
            break
        absorbed.append(number)
        size += count
    return sorted(absorbed)


class _Rows:
    """The rows of the new segment: live rows of absorbed segments, then the new groups."""

    def __init__(
        self,
        pool: RecordPool,
        base: Library | None,
        decided: _Decided,
        absorbed: list[int],
        released: frozenset[str],
    ) -> None:
        self._released = released
        self.quarantined: list[int] = []
        """Rows with a malformed name; complete after `iterate`."""
        self._pool = pool
        self._base = base
        self._decided = decided
        self._absorbed = absorbed
        self._old: list[int] = []
        for number in absorbed if base is not None else ():
            assert base is not None
            segment = base.whole_segments[number]
            live = np.ones(segment.count, np.bool_) if segment.dead is None else ~segment.dead
            rows = (np.flatnonzero(live) + segment.base).tolist()
            self._old += [row for row in rows if row not in decided.dead]

    def __len__(self) -> int:
        return len(self._old) + len(self._decided.begin)

    def iterate(self) -> Iterator[Row]:
        """Every row with its sources."""
        self.quarantined.clear()
        for number, row in enumerate(self._each()):
            work = row[0]
            if malformed_name(work.authors) is not None and self._released.isdisjoint(
                (work.id, *work.same_as)
            ):
                self.quarantined.append(number)
            yield row

    def _each(self) -> Iterator[Row]:
        if self._base is not None and self._old:
            origins = self._base.origin_table(self._absorbed)
            for start in range(0, len(self._old), _BATCH):
                part = self._old[start : start + _BATCH]
                for row, work in zip(part, self._base.works(part), strict=True):
                    yield work, origins.get(row, ())
        for group in range(len(self._decided.begin)):
            yield self._group(group)

    def sample(self, wanted: int) -> Iterator[Work]:
        """About `wanted` works, evenly spread."""
        step = max(1, len(self) // wanted)
        old = self._old[::step]
        if self._base is not None:
            for start in range(0, len(old), _BATCH):
                yield from self._base.works(old[start : start + _BATCH])
        for group in range(0, len(self._decided.begin), step):
            yield self._group(group)[0]

    def _group(self, group: int) -> Row:
        decided, pool = self._decided, self._pool
        members = decided.order[decided.begin[group] : decided.end[group]].tolist()
        return work_of(pool, members), origins_of(pool, self._base, members)


def _outcome(decided: _Decided, base: Library | None, absorbed: list[int], *, count: int) -> Merged:
    dead: dict[str, list[int]] = {}
    for number, segment in enumerate(base.segments if base is not None else ()):
        rows = [
            row - segment.base
            for row in decided.dead
            if segment.base <= row < segment.base + segment.count
        ]
        if rows and number not in absorbed:
            dead[segment.path.name] = sorted(rows)
    return Merged(
        count=count,
        added=decided.added,
        updated=decided.updated,
        unchanged=decided.unchanged,
        removed=decided.removed,
        by_identifier=decided.clusters.by_identifier,
        by_title=decided.clusters.by_title,
        refused_identifier=decided.clusters.refused_identifier,
        refused_title=decided.clusters.refused_title,
        doubtful_doi=len(decided.clusters.doubtful_doi),
        pairs=decided.pairs,
        absorbed=tuple(base.segments[number].path.name for number in absorbed) if base else (),
        dead=dead,
    )
