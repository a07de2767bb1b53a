"""What a literature search asked, as a report of a systematic search names it."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine.which_library import libraries_below, which_library
from citewell.model import CitewellError
from citewell.options import Options
from citewell.sources.registry import allowed


class DatabaseSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where records of a library come from."""

    name: str
    """Path or name, as it was given to `citewell library add`."""
    format: str
    records: int
    """Records that were read."""


class Database(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A library, or a source that was asked online."""

    name: str
    kind: str
    """Either "library" or "online"."""
    snapshot: str = ""
    built: str = ""
    """When the snapshot was made, ISO 8601 in UTC; empty if unknown."""
    works: int = 0
    duplicates: int = 0
    """Records that were merged into others when the library was built."""
    sources: tuple[DatabaseSource, ...] = ()


def databases(options: Options, *, online: bool) -> tuple[Database, ...]:
    """The library that the settings name, those that are searched below it, and with `online` the
    allowed sources. A library that cannot be read is left out."""
    found = []
    for folder in (which_library(options), *libraries_below(options)):
        with suppress(CitewellError):
            snapshot = current_snapshot(folder)
            manifest = read_manifest(folder, snapshot)
            sources = tuple(
                DatabaseSource(name=name, format=one.format, records=one.records)
                for name, one in manifest.sources.items()
            )
            found.append(
                Database(
                    name=folder.name,
                    kind="library",
                    snapshot=snapshot,
                    built=manifest.created,
                    works=manifest.works,
                    duplicates=manifest.merged,
                    sources=sources,
                )
            )
    names = allowed(options.sources.allow)[0] if online else ()
    return (*found, *(Database(name=name, kind="online") for name in names))
