"""Builds, extends and updates a library in stages that survive being killed.

All work happens under `staging/`, where each finished stage leaves a marker. A build with the same
plan resumes after the last marker; a staging area of another plan is deleted. Segments are moved
into place and CURRENT is swapped only at the end, so that readers see the library before or after,
never in between.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from citewell import __version__
from citewell.corpus.errors import LibraryError, library_error
from citewell.corpus.layout import (
    FORMAT,
    SEGMENT,
    CitingUse,
    IndexBuilder,
    Manifest,
    SourceUse,
    current_snapshot,
    is_begun,
    is_library,
    leftovers,
    read_segment_record,
    strangers,
)
from citewell.corpus.library import Library
from citewell.model import Problem
from citewell.options.folders import private_writes
from citewell.retrieval.dense_build import READS_ALL, DenseBuilder
from citewell_corpus import sources as source_list
from citewell_corpus.importers.openalex import MergedIdsImporter
from citewell_corpus.importers.semantic_scholar import DeletedPapersImporter
from citewell_corpus.pdf_reading import PdfReading
from citewell_corpus.processes import Progress, SilentProgress
from citewell_corpus.segment_writer import seal, write_whole
from citewell_corpus.sources import FileSource
from citewell_corpus.stages.citing import (
    MAX_LISTS,
    MAX_PASSAGES,
    encoder_fingerprint,
    finish_citing,
)
from citewell_corpus.stages.importing import ImportedSource, StagedSource, stage_source
from citewell_corpus.stages.merging import MergeCounts, Merged, merge_sources
from citewell_corpus.stages.publish import (
    NewUse,
    build_indexes,
    collect_garbage,
    default_builders,
    link_segment,
    next_number,
    publish,
    writer_lock,
)

# The plan, the sources, the manifest and the report of a build.

_ONLY_IDS = (MergedIdsImporter.name, DeletedPapersImporter.name)
"""Formats of files that name works by their ids without describing them."""


class BuildReport(MergeCounts, kw_only=True):
    """The result of a build."""

    library: str
    snapshot: str = ""
    up_to_date: bool = False
    """Whether no source had changed, and nothing was written."""
    works: int = 0
    titles: int = 0
    segments: int = 0
    quarantined: int = 0
    """Works of the library with a malformed name, excluded from searches."""
    sources: list[ImportedSource] = msgspec.field(default_factory=list)
    problems: list[Problem] = msgspec.field(default_factory=list)
    seconds: dict[str, float] = msgspec.field(default_factory=dict)


class BuildPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a build; a build resumes another one with an equal plan."""

    format: int = FORMAT
    citewell: str = __version__
    base: str
    """Snapshot to extend; empty for a build from scratch."""
    sources: dict[str, FileSource]
    fingerprints: dict[str, str]
    stamps: dict[str, str]
    removed: tuple[str, ...] = ()
    """Sources to be removed from the base."""
    compact: bool
    indexes: dict[str, dict[str, Any]]
    renew: tuple[str, ...]
    """Segments with indexes made by other builders."""


def manifest_of(
    plan: BuildPlan,
    staged: list[StagedSource],
    citing: dict[str, CitingUse | None],
    merged: Merged,
    base: Library | None,
    works: int,
    previous: str,
) -> Manifest:
    """The manifest of the new snapshot, which has `works` rows; `previous` is the id of the one
    before it."""
    uses = dict(base.manifest.sources) if base is not None else {}
    for name in plan.removed:
        uses.pop(name, None)
    for source in staged:
        done = source.imported
        uses[done.name] = SourceUse(
            path=plan.sources[done.name].path,
            format=plan.sources[done.name].format,
            fingerprint=plan.fingerprints[done.name],
            stamp=plan.stamps[done.name],
            records=done.records,
            bad=done.bad,
            malformed=done.malformed,
            skipped=sum(done.skipped.values()),
            citing=citing[done.name],
        )
    if base is None or len(merged.absorbed) == len(base.segments):
        titles = merged.titles
    else:
        titles = 0 if merged.count or merged.dead else base.manifest.titles
    return Manifest(
        sources=uses,
        indexes=plan.indexes,
        merged=_merged(uses, merged, base, works),
        titles=titles,
        previous=previous,
    )


def _merged(uses: dict[str, SourceUse], merged: Merged, base: Library | None, works: int) -> int:
    """Number of duplicates in all sources.

    Each record that gave no work of its own is one: merges of a source that is read again would be
    added once more. Only files of ids have records that are no duplicates either.
    """
    if base is None or any(use.format in _ONLY_IDS for use in uses.values()):
        before = base.manifest.merged if base is not None else 0
        return before + merged.by_identifier + merged.by_title
    return max(0, sum(use.records for use in uses.values()) - works)


class ChangedSources(msgspec.Struct):
    """Sources to read, with their fingerprints and stamps, by name."""

    sources: dict[str, FileSource] = msgspec.field(default_factory=dict)
    fingerprints: dict[str, str] = msgspec.field(default_factory=dict)
    stamps: dict[str, str] = msgspec.field(default_factory=dict)
    problems: list[Problem] = msgspec.field(default_factory=list)
    """Problems of the unreadable sources, whose papers the library keeps."""


def changed_sources(
    wanted: Mapping[str, FileSource],
    held: Mapping[str, SourceUse],
    advance: Callable[[int], None],
    *,
    every: bool = False,
) -> ChangedSources:
    """Those of `wanted` that differ from the library's; with `every`, all that exist.

    Raises `LibraryError` if one is missing that the library does not hold.
    """
    found = ChangedSources()
    for name, source in wanted.items():
        use = held.get(name)
        try:
            importer, path = source_list.location(source)
        except LibraryError as error:
            if use is None:
                raise
            # Its papers are already in the library; the file is not needed.
            found.problems.append(error.problem)
            continue
        stamp = source_list.stamp(importer, path) + source.filters
        old = use is not None and use.citing is not None
        old = old and use.citing.encoder != encoder_fingerprint()  # type: ignore[union-attr]
        again = every or old
        if use is None or use.stamp != stamp or again:
            mark = source_list.fingerprint(importer, path) + source.filters
            if use is None or use.fingerprint != mark or again:
                found.sources[name] = source
                found.fingerprints[name], found.stamps[name] = mark, stamp
        advance(1)
    return found


def all_exist(wanted: Mapping[str, FileSource]) -> bool:
    """Whether every source can be read."""
    for source in wanted.values():
        try:
            source_list.location(source)
        except LibraryError:
            return False
    return True


_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def reported_write_errors(path: Path) -> Iterator[None]:
    """Raise a `LibraryError` with a hint for a full disk or a read-only folder."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        name = error.filename if isinstance(error, OSError) else None
        where = Path(os.fsdecode(name)) if isinstance(name, (str, bytes)) else path
        if _is_full(error):
            message = "The disk is full; the library is unchanged."
            raise library_error("library-disk-full", message, where) from error
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        message = f"The library cannot be written: {reason}."
        raise library_error("library-unwritable", message, where) from error


@contextmanager
def free_when_full(staging: Path) -> Iterator[None]:
    """Delete the staging area if the disk is full."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        if _is_full(error):
            shutil.rmtree(staging, ignore_errors=True)
        raise


def _is_full(error: OSError | sqlite3.OperationalError) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    # SQLite reports a write that failed for lack of space as an I/O error.
    return "full" in str(error) or "disk I/O" in str(error)


__all__ = ["build_library", "default_builders"]

_PLAN = "plan.json"
_MERGED = "merged.json"


def build_library(
    path: Path,
    *,
    add: Sequence[FileSource] = (),
    remove: Sequence[str] = (),
    builders: Sequence[IndexBuilder] = (),
    fresh: bool = False,
    compact: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    pdf: PdfReading | None = None,
    encode: str = "",
) -> BuildReport:
    """Create or update the library in the folder `path` from its sources and `add`, without the
    sources named in `remove`; return the report.

    Reads only new or changed sources, and rebuilds indexes made by other builders. `fresh` rebuilds
    everything; `compact` merges all segments into one; `jobs` processes read the files of patterns
    and write the indexes; `encode` says what computes the vectors of works, the transformer ("all")
    or the token table ("table"), by default what did before. Raises `LibraryError` with a hint:
    locked, unwritable, disk full, a source missing or unreadable. The existing library is then
    unchanged.
    """
    with reported_write_errors(path), private_writes(path):
        strange = [] if is_begun(path) else strangers(path)
        if strange:
            message = f"The folder is not a library: it contains {strange[0]}."
            raise library_error("library-foreign", message, path)
        with writer_lock(path), free_when_full(path / "staging"):
            for left in leftovers(path):
                left.unlink(missing_ok=True)
            build = _Build(path, builders, progress or SilentProgress(), pdf, jobs, encode)
            return build.run(list(add), remove, fresh=fresh, compact=compact)


class _Build:
    def __init__(
        self,
        path: Path,
        builders: Sequence[IndexBuilder],
        progress: Progress,
        pdf: PdfReading | None = None,
        jobs: int = 1,
        encode: str = "",
    ) -> None:
        self.pdf = pdf
        self.encode = encode
        self.jobs = jobs
        self.path = path
        self.builders = builders
        self.progress = progress
        self.staging = path / "staging"
        self.previous = ""
        self.report = BuildReport(library=str(path))
        self._began = time.perf_counter()

    def run(
        self, add: list[FileSource], remove: Sequence[str], *, fresh: bool, compact: bool
    ) -> BuildReport:
        known = source_list.read_sources(self.path)
        wanted = known | {source.path: source for source in add}
        wanted = {name: source for name, source in wanted.items() if name not in remove}
        base = None
        if is_library(self.path) and not fresh:
            base = Library.open(self.path)
            if self.staging.exists() and (damaged := base.verify()):
                # The previous build was interrupted, perhaps by a crash of the machine.
                base.close()
                raise LibraryError(damaged[0])
            if set(base.manifest.sources) - set(wanted) and all_exist(wanted):
                # A row may have fields of a removed source: rebuild from scratch.
                base.close()
                base = None
        self.previous = _current(self.path)
        try:
            plan = self._plan(wanted, base, compact=compact)
            if wanted != known:
                source_list.write_sources(self.path, wanted)
            if base is not None and self._is_done(plan, base):
                return self._unchanged(base)
            self._prepare(plan)
            if self.pdf is not None and base is not None:
                self.pdf.library = base.lookup
            read = self._import(plan)
            plan, staged = self._without_empty(plan, read, known, wanted)
            citing = self._citing(staged, base, plan.removed)
            merged = self._merge(plan, staged, base)
            uses = self._segments(plan, merged, base)
            works = sum(use.count - len(use.dead) for use in uses)
            manifest = manifest_of(plan, staged, citing, merged, base, works, self.previous)
        finally:
            if base is not None:
                base.close()
        snapshot = publish(self.path, manifest, uses)
        shutil.rmtree(self.staging, ignore_errors=True)
        collect_garbage(self.path)
        self._mark("publish")
        return self._finish(snapshot, merged, read)

    def _plan(
        self, wanted: dict[str, FileSource], base: Library | None, *, compact: bool
    ) -> BuildPlan:
        self.progress.stage("Check the sources", len(wanted))
        held = base.manifest.sources if base is not None else {}
        removed = tuple(name for name in held if name not in wanted)
        # A row may have fields of a removed source: all others are read again.
        changed = changed_sources(wanted, held, self.progress.advance, every=bool(removed))
        self.report.problems += changed.problems
        dense = base.manifest.indexes.get("dense", {}) if base is not None else {}
        for builder in self.builders:
            if isinstance(builder, DenseBuilder) and builder.name == "dense":
                builder.reads_all = (
                    self.encode == "all" if self.encode else dense.get(READS_ALL, False)
                )
        indexes = {builder.name: _plain(builder.fingerprint()) for builder in self.builders}
        renew = []
        for segment in base.segments if base is not None else ():
            use = next(u for u in base.manifest.segments if u.id == segment.path.name)  # type: ignore[union-attr]
            if read_segment_record(segment.path, use.record).indexes != indexes:
                renew.append(use.id)
        self._mark("look")
        return BuildPlan(
            base=base.snapshot if base is not None else "",
            sources=changed.sources,
            fingerprints=changed.fingerprints,
            stamps=changed.stamps,
            removed=removed,
            compact=compact,
            indexes=indexes,
            renew=tuple(renew),
        )

    def _is_done(self, plan: BuildPlan, base: Library) -> bool:
        scattered = len(base.segments) > 1 or any(s.dead is not None for s in base.whole_segments)
        return not (plan.sources or plan.removed or plan.renew or (plan.compact and scattered))

    def _prepare(self, plan: BuildPlan) -> None:
        """Resume the staging area if it has the same plan, else start a new one."""
        marker = self.staging / _PLAN
        data = msgspec.json.encode(plan)
        if marker.is_file() and marker.read_bytes() == data:
            return
        shutil.rmtree(self.staging, ignore_errors=True)
        self.staging.mkdir()
        write_whole(marker, data)

    def _import(self, plan: BuildPlan) -> list[StagedSource]:
        staged = []
        for number, (name, source) in enumerate(plan.sources.items()):
            folder = self.staging / f"source-{number}"
            staged.append(stage_source(folder, name, source, self.progress, self.pdf, self.jobs))
        self._mark("import")
        return staged

    def _without_empty(
        self,
        plan: BuildPlan,
        staged: list[StagedSource],
        known: dict[str, FileSource],
        wanted: dict[str, FileSource],
    ) -> tuple[BuildPlan, list[StagedSource]]:
        """The plan without added sources that gave nothing: the report names them, and none is
        stored."""
        empty = {
            source.imported.name
            for source in staged
            if source.imported.name not in known
            and any(problem.code == "source-empty" for problem in source.imported.problems)
        }
        if not empty:
            return plan, staged
        kept = {name: source for name, source in wanted.items() if name not in empty}
        source_list.write_sources(self.path, kept)
        sources = {name: one for name, one in plan.sources.items() if name not in empty}
        left = [one for one in staged if one.imported.name not in empty]
        return replace(plan, sources=sources), left

    def _citing(
        self, staged: list[StagedSource], base: Library | None, removed: Sequence[str]
    ) -> dict[str, CitingUse | None]:
        """The citation data of each staged source, in order, within the limits of the library."""
        held = base.manifest.sources if base is not None else {}
        replaced = {*removed, *(source.imported.name for source in staged)}
        kept = [use.citing for name, use in held.items() if use.citing and name not in replaced]
        lists = MAX_LISTS - sum(use.lists for use in kept)
        passages = MAX_PASSAGES - sum(use.passages for use in kept)
        made: dict[str, CitingUse | None] = {}
        for source in staged:
            name = source.imported.name
            room = (max(0, lists), max(0, passages))
            use = finish_citing(self.path, source.folder, source.parts, name, room, self.progress)
            if use is not None:
                lists, passages = lists - use.lists, passages - use.passages
            made[name] = use
        self._mark("citing")
        return made

    def _merge(self, plan: BuildPlan, staged: list[StagedSource], base: Library | None) -> Merged:
        marker = self.staging / _MERGED
        if marker.is_file():
            return msgspec.json.decode(marker.read_bytes(), type=Merged)
        folder = self.staging / "segment"
        shutil.rmtree(folder, ignore_errors=True)
        merged = merge_sources(
            folder,
            self.staging,
            staged,
            base,
            compact=plan.compact,
            progress=self.progress,
            removed=plan.removed,
            released=source_list.read_released(self.path),
        )
        write_whole(marker, msgspec.json.encode(merged))
        self._mark("merge")
        return merged

    def _segments(self, plan: BuildPlan, merged: Merged, base: Library | None) -> list[NewUse]:
        """Finish all segments of the new snapshot and move new ones into place."""
        uses = []
        held = base.quarantined_rows() if base is not None else []
        for segment in base.whole_segments if base is not None else ():
            name = segment.path.name
            if name in merged.absorbed:
                continue
            old = [] if segment.dead is None else segment.dead.nonzero()[0].tolist()
            dead = sorted({*old, *merged.dead.get(name, ())})
            if len(dead) == segment.count:
                continue
            own = range(segment.base, segment.base + segment.count)
            kept = sorted({row - segment.base for row in held if row in own}.difference(dead))
            use = next(u for u in base.manifest.segments if u.id == name)  # type: ignore[union-attr]
            if name not in plan.renew:
                uses.append(NewUse(name, use.count, use.record, dead, kept))
                continue
            record = read_segment_record(segment.path, use.record)
            folder = self.staging / f"renew-{name}"
            link_segment(segment.path, folder, record, plan.indexes, self.staging)
            new = self._finish_segment(plan, folder, use.count, record.origins)
            uses.append(replace(new, dead=dead, quarantined=kept))
        if merged.count:
            folder = self.staging / "segment"
            new = self._finish_segment(plan, folder, merged.count, merged.origins)
            uses.append(replace(new, quarantined=merged.quarantined))
        return uses

    def _finish_segment(
        self, plan: BuildPlan, folder: Path, count: int, origins: tuple[str, ...]
    ) -> NewUse:
        """Index, seal and move one segment, unless that was done before; no row is dead."""
        marker = self.staging / f"{folder.name}.sealed.json"
        if marker.is_file():
            sealed = msgspec.json.decode(marker.read_bytes(), type=NewUse)
            if not (self.path / "segments" / sealed.id / SEGMENT).is_file():
                self._place(folder, sealed.id)
            return NewUse(sealed.id, count, sealed.record, [])
        build_indexes(folder, count, self.builders, self.staging, self.progress, self.jobs)
        self._mark("index")
        name = f"{next_number(self.path):06d}-{uuid4().hex[:8]}"
        self.progress.stage("Seal", 0)
        record = seal(folder, name, count, origins, plan.indexes)
        write_whole(marker, msgspec.json.encode(NewUse(name, count, record, [])))
        self._place(folder, name)
        self._mark("seal")
        return NewUse(name, count, record, [])

    def _place(self, folder: Path, name: str) -> None:
        (self.path / "segments").mkdir(exist_ok=True)
        folder.replace(self.path / "segments" / name)

    def _unchanged(self, base: Library) -> BuildReport:
        shutil.rmtree(self.staging, ignore_errors=True)
        self.report.up_to_date = True
        self.report.snapshot = base.snapshot
        self.report.works = len(base)
        self.report.titles = base.manifest.titles
        self.report.segments = len(base.segments)
        self.report.quarantined = len(base.quarantined_rows())
        return self.report

    def _finish(self, snapshot: str, merged: Merged, staged: list[StagedSource]) -> BuildReport:
        report = self.report
        with Library.open(self.path) as library:
            report.works = len(library)
            report.titles = library.manifest.titles
            report.segments = len(library.segments)
            report.quarantined = len(library.quarantined_rows())
        report.snapshot = snapshot
        for name in MergeCounts.__struct_fields__:
            setattr(report, name, getattr(merged, name))
        report.sources = [source.imported for source in staged]
        report.problems += [p for source in staged for p in source.imported.problems]
        return report

    def _mark(self, stage: str) -> None:
        now = time.perf_counter()
        self.report.seconds[stage] = self.report.seconds.get(stage, 0.0) + now - self._began
        self._began = now


def _current(path: Path) -> str:
    try:
        return current_snapshot(path)
    except LibraryError:
        return ""


def _plain(facts: Any) -> dict[str, Any]:
    """A fingerprint as JSON restores it."""
    plain = msgspec.json.decode(msgspec.json.encode(dict(facts)))
    assert isinstance(plain, dict)
    return plain


__all__ = ["BuildReport", "LibraryError", "build_library", "default_builders"]
