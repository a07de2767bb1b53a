"""The quarantine of a library: works with malformed author names, kept but left out of searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.corpus.library import Library
from citewell.sources.malformed_names import malformed_name
from citewell_corpus.lock import writer_lock
from citewell_corpus.publish import NewUse, collect_garbage, publish
from citewell_corpus.sources import write_released


class QuarantinedWork(msgspec.Struct, frozen=True, kw_only=True):
    """One work in quarantine."""

    id: str
    title: str
    name: str
    """The malformed name."""
    reason: str
    """Such as "e-mail address"."""
    added_from: tuple[str, ...]
    """Sources of the library that contain a record of it."""


def quarantined_works(library: Library) -> list[QuarantinedWork]:
    """The works in quarantine, in the order of the library."""
    rows = library.quarantined_rows()
    found = []
    for row, work in zip(rows, library.works(rows), strict=True):
        malformed = malformed_name(work.authors)
        found.append(
            QuarantinedWork(
                id=work.id,
                title=work.title,
                name=malformed.name if malformed else "",
                reason=malformed.reason if malformed else "",
                added_from=library.origins_of(row),
            )
        )
    return found


def release(path: Path, ids: Sequence[str] | None = None) -> list[QuarantinedWork]:
    """Let searches find quarantined works of the library in the folder `path`, also after later
    builds: those with these ids, or all of them. The works released.

    Nothing is read or indexed again. Raises `LibraryError`: missing, locked, damaged.
    """
    with writer_lock(path), Library.open(path) as library:
        rows = library.quarantined_rows()
        works = library.works(rows)
        wanted = set(ids or ())
        chosen = {
            row
            for row, work in zip(rows, works, strict=True)
            if ids is None or not wanted.isdisjoint((work.id, *work.same_as))
        }
        if not chosen:
            return []
        names = {work.id for row, work in zip(rows, works, strict=True) if row in chosen}
        released = [one for one in quarantined_works(library) if one.id in names]
        write_released(path, names)
        held = [row for row in rows if row not in chosen]
        uses = []
        for use, view in zip(library.manifest.segments, library.whole_segments, strict=True):
            dead = [] if view.dead is None else view.dead.nonzero()[0].tolist()
            own = range(view.base, view.base + view.count)
            kept = [row - view.base for row in held if row in own]
            uses.append(NewUse(use.id, use.count, use.record, dead, kept))
        manifest = msgspec.structs.replace(library.manifest, previous=library.snapshot)
        staging = path / "staging"
        unfinished = staging.is_dir()
        publish(path, manifest, uses)
        if not unfinished:
            staging.rmdir()
        collect_garbage(path)
    return released
