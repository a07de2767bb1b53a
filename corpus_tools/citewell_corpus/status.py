"""The status of a library, whole or damaged."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from citewell.corpus.card import Card, coverage_of, read_card
from citewell.corpus.errors import LibraryError, library_error, library_problem
from citewell.corpus.layout import (
    CURRENT,
    ENTRIES,
    SourceUse,
    default_libraries_dir,
    existing_libraries,
    is_begun,
    leftovers,
    strangers,
)
from citewell.corpus.library import Library
from citewell.model import Problem
from citewell.model.identifiers import identifier_of
from citewell.model.work import RecordVariant, Work
from citewell.sources.values import malformed_name
from citewell_corpus import sources as source_list
from citewell_corpus.fetching.run import FetchFolder
from citewell_corpus.sources import write_released
from citewell_corpus.stages.publish import NewUse, collect_garbage, publish, writer_lock


class LastFetch(msgspec.Struct, frozen=True, kw_only=True):
    """How old the works of one fetch are."""

    source: str
    works: int
    date: str
    """ISO 8601 date of the last round, which `library refresh` would continue from."""
    age_days: float
    folder: str


class LibraryStatus(msgspec.Struct, kw_only=True):
    """The status of one library."""

    name: str
    path: str
    snapshot: str = ""
    works: int = 0
    titles: int = 0
    merged: int = 0
    quarantined: int = 0
    """Works with a malformed name, excluded from searches."""
    rows: int = 0
    """Live and dead rows; many dead ones make `library build --compact` worthwhile."""
    segments: int = 0
    size: int = 0
    """Bytes on disk, unfinished builds included."""
    created: str = ""
    age_days: float | None = None
    citewell: str = ""
    indexes: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    sources: dict[str, SourceUse] = msgspec.field(default_factory=dict)
    fetched: list[LastFetch] = msgspec.field(default_factory=list)
    """The fetches among the sources, the oldest first."""
    fields: dict[str, int] = msgspec.field(default_factory=dict)
    """Percentage of the references of public theses that the starter, if it is this library or
    below it, holds by field."""
    card: Card | None = None
    """Contents and gaps of a bundled library."""
    first: int = 0
    last: int = 0
    """Years of the first and the last work; 0 if unknown."""
    below: Card | None = None
    """The card of the starter library, if it is searched below this one."""
    unfinished: bool = False
    """A build was interrupted; `library build` resumes it."""
    problems: list[Problem] = msgspec.field(default_factory=list)


def library_status(path: Path, *, verify: bool = False) -> LibraryStatus:
    """The status of the library in the folder; `verify` hashes every file. Never raises for its
    state."""
    status = LibraryStatus(name=path.name, path=str(path))
    status.size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    status.card = read_card(path)
    if status.card is not None:
        status.name = status.card.name
    status.unfinished = (path / "staging" / "plan.json").is_file()
    try:
        with Library.open(path) as library:
            manifest = library.manifest
            status.snapshot, status.works = library.snapshot, len(library)
            status.titles, status.merged = manifest.titles, manifest.merged
            status.rows, status.segments = library.rows, len(library.segments)
            status.created, status.citewell = manifest.created, manifest.citewell
            status.age_days = _age(manifest.created)
            status.quarantined = len(library.quarantined_rows())
            status.indexes, status.sources = manifest.indexes, manifest.sources
            (covered,) = coverage_of(library)
            status.first, status.last = covered.first, covered.last
            if verify:
                status.problems += library.verify()
    except LibraryError as error:
        status.problems.append(error.problem)
    else:
        if not status.works:
            status.problems.append(library_problem("library-empty", "It contains no papers.", path))
    status.problems += _sources(path, status)
    status.fetched = _fetched(status.sources)
    return status


def _fetched(sources: Iterable[str]) -> list[LastFetch]:
    """The last rounds of the fetches among sources; one whose state cannot be read is left out."""
    found = []
    for name in sources:
        try:
            state = FetchFolder(Path(name), "").state()
        except LibraryError:
            continue
        if state is not None and (age := _age(f"{state.begun}T00:00:00+00:00")) is not None:
            found.append(
                LastFetch(
                    source=state.source,
                    works=state.records,
                    date=state.begun,
                    age_days=age,
                    folder=name,
                )
            )
    return sorted(found, key=lambda one: one.date)


def libraries(folder: Path | None) -> list[Path]:
    """Folders of the libraries below `folder`, by name, damaged ones included."""
    place = folder or default_libraries_dir()
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if path.is_dir() and is_begun(path))


def remove_library(path: Path) -> None:
    """Delete a library. Raises `LibraryError` if the folder is no library or is in use."""
    if not path.is_dir():
        message = f"No library in this folder.{existing_libraries(path.parent)}"
        raise library_error("library-missing", message, path)
    strange = strangers(path)
    if not is_begun(path):
        message = f"The folder is not a library{f', it holds {strange[0]}' if strange else ''}."
        raise library_error("library-foreign", message, path)
    with writer_lock(path):
        # CURRENT first: without it, readers do not take the rest for a library.
        (path / CURRENT).unlink(missing_ok=True)
    if not strange:
        shutil.rmtree(path)
        return
    # The folder contains other files.
    for left in leftovers(path):
        left.unlink(missing_ok=True)
    for name in ENTRIES:
        if (path / name).is_dir():
            shutil.rmtree(path / name)
        else:
            (path / name).unlink(missing_ok=True)


def _age(created: str) -> float | None:
    try:
        moment = datetime.datetime.fromisoformat(created)
    except ValueError:
        return None
    return round((datetime.datetime.now(datetime.UTC) - moment).total_seconds() / 86_400, 2)


def _sources(path: Path, status: LibraryStatus) -> list[Problem]:
    try:
        known = source_list.read_sources(path)
    except LibraryError as error:
        return [error.problem]
    problems = []
    for name, source in known.items():
        if name not in status.sources:
            message = "A source was added but not built yet."
            problems.append(library_problem("source-pending", message, Path(source.path)))
        try:
            source_list.location(source)
        except LibraryError as error:
            problems.append(error.problem)
    return problems


# The quarantine of a library: works with malformed author names, stored but excluded from searches.


class QuarantinedWork(msgspec.Struct, frozen=True, kw_only=True):
    """One work in quarantine."""

    id: str
    title: str
    name: str
    """The malformed name."""
    reason: str
    """For example "e-mail address"."""
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
    builds: those with these ids, or all of them. Return the released works.

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


# The records behind a work of a library, with their differences.

_FIELDS = ("title", "authors", "year", "venue", "booktitle", "journal", "doi")


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One record that was merged into a work."""

    source: str
    source_id: str
    retrieved: str
    """ISO 8601 date; empty when unknown."""
    differs: dict[str, str]
    """Field -> this record's value, where it differs from the merged work."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A work and the records merged into it."""

    work: Work
    added_from: tuple[str, ...]
    """Sources of the library that contain a record of it."""
    records: tuple[SourceRecord, ...]


def explain(library: Library, name: str) -> list[Explanation]:
    """The works identified by an id of the library or of a merged record, a DOI, an arXiv id, a
    citation key of a source, or a full title; empty if there is none."""
    row = int(library.rows_of([name])[0])
    if row >= 0:
        return [_explained(library, row)]
    found = identifier_of(name)
    works = library.lookup(
        doi=found.doi if found else "", arxiv=found.arxiv if found else "", title=name, bibkey=name
    )
    return [_explained(library, int(library.rows_of([work.id])[0])) for work in works]


def _explained(library: Library, row: int) -> Explanation:
    work = library.works([row], whole=True)[0]
    variants: dict[str, RecordVariant] = {
        source: variant for variant in work.variants for source in variant.sources
    }
    return Explanation(
        work=work,
        added_from=library.origins_of(row),
        records=tuple(
            SourceRecord(
                source=origin.source,
                source_id=origin.source_id,
                retrieved=origin.retrieved,
                differs=_differences(variants.get(origin.source)),
            )
            for origin in work.provenance
        ),
    )


def _differences(variant: RecordVariant | None) -> dict[str, str]:
    if variant is None:
        return {}
    values = {name: getattr(variant, name) for name in _FIELDS}
    if values["authors"]:
        values["authors"] = "; ".join(author.display for author in variant.authors)
    return {name: str(value) for name, value in values.items() if value}
