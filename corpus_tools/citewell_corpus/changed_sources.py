"""The sources that a build reads: new ones, and those whose files changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import SourceUse
from citewell.model import Problem
from citewell_corpus import sources as source_list
from citewell_corpus.citing_stage import encoder_fingerprint
from citewell_corpus.sources import FileSource


class ChangedSources(msgspec.Struct):
    """Sources to read, with their fingerprints and stamps, by name."""

    sources: dict[str, FileSource] = msgspec.field(default_factory=dict)
    fingerprints: dict[str, str] = msgspec.field(default_factory=dict)
    stamps: dict[str, str] = msgspec.field(default_factory=dict)
    problems: list[Problem] = msgspec.field(default_factory=list)
    """Of the sources that cannot be read, whose papers the library keeps."""


def changed_sources(
    wanted: Mapping[str, FileSource],
    held: Mapping[str, SourceUse],
    advance: Callable[[int], None],
    *,
    every: bool = False,
) -> ChangedSources:
    """Those of `wanted` that differ from what the library holds; with `every`, all that exist.

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
