"""The plan, the sources, the manifest and the report of a build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from citewell import __version__
from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import FORMAT, CitingUse, Manifest, SourceUse
from citewell.corpus.library import Library
from citewell.model import Problem
from citewell_corpus import sources as source_list
from citewell_corpus.importers.openalex import MergedIdsImporter
from citewell_corpus.importers.semantic_scholar import DeletedPapersImporter
from citewell_corpus.sources import FileSource
from citewell_corpus.stages.citing import encoder_fingerprint
from citewell_corpus.stages.importing import ImportedSource, StagedSource
from citewell_corpus.stages.merging import MergeCounts, Merged

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
