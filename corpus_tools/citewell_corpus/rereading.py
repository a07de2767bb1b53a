"""Rows of the library that hold records of sources which are read again.

The earlier records of such a source no longer count: a row of these sources alone takes no part in
the merge, except that the work which continues it keeps its id. Of a row that another source holds,
too, the part of that source is merged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from citewell.corpus.library import Library
from citewell.model import Work
from citewell.sources.variants import records_of, statements, variants_of
from citewell_corpus.importers import fields

_OF_FILES = ("bibtex", "zotero", "records")
"""Sources of one file, which is named behind a colon in the provenance."""


class Reread(msgspec.Struct):
    """The live rows with records of the sources that are read again."""

    sole: set[int] = msgspec.field(default_factory=set)
    """Rows of these sources only."""
    shared: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Other rows, with the added sources that remain."""


def reread_rows(base: Library, names: Iterable[str]) -> Reread:
    """The rows of `base` with records of the added sources `names`."""
    again = set(names)
    found = Reread()
    for row in {row for name in again for row in base.rows_from(name)}:
        remain = tuple(name for name in base.origins_of(row) if name not in again)
        if remain:
            found.shared[row] = remain
        else:
            found.sole.add(row)
    return found


def remaining(work: Work, again: Collection[str], remain: Sequence[str]) -> Work:
    """What a work of the library is without the sources `again`, for the sources that `remain`.

    Fields stay where no variant records which source they are from, and so do ids and origins that
    both kinds of sources may have given.
    """
    gone = _gone(work, again, remain)
    kept = tuple(origin for origin in work.provenance if origin.source not in gone)
    if not gone or not kept:
        return work
    gone_ids = [origin.source_id for origin in work.provenance if origin.source in gone]
    records = []
    for record, statement in zip(records_of(work), statements(work), strict=True):
        origins = tuple(origin for origin in record.provenance if origin.source not in gone)
        if origins:
            records.append(
                msgspec.structs.replace(record, doi=statement.doi, provenance=origins, variants=())
            )
    if records:
        variants = variants_of(records[0], records)
        work = msgspec.structs.replace(records[0], variants=variants)
    names = [origin.source_id for origin in kept]
    ids = [
        one
        for one in ids_without_files(work.same_as, gone)
        if not _named(one, gone_ids) or _named(one, names)
    ]
    own = [one for one in ids if not one.startswith("doi:")]
    identifier = work.id if work.id in own or not own else own[0]
    return msgspec.structs.replace(work, id=identifier, same_as=tuple(ids), provenance=kept)


def ids_without_files(ids: Iterable[str], gone: Iterable[str]) -> list[str]:
    """The ids but those that a file among the sources `gone`, named as in the provenance, gave.

    The file may give them to other entries when it is read again.
    """
    marks = [_mark(source) for source in gone if _is_of_file(source)]
    return [one for one in ids if not any(mark in one for mark in marks)]


def _gone(work: Work, again: Collection[str], remain: Sequence[str]) -> set[str]:
    """The work's sources, as its provenance names them, that only `again` gave."""
    named = {origin.source for origin in work.provenance}
    gone = {name for name in named if any(_is_from(name, path) for path in again)}
    if all(any(_is_from(name, path) for name in named) for path in remain):
        # The files that remain are accounted for, so all others are from those read again.
        gone |= {name for name in named if not _is_of_file(name)}
    return gone


def _is_of_file(name: str) -> bool:
    kind, mark, _ = name.partition(":")
    return bool(mark) and kind in _OF_FILES


def _is_from(name: str, path: str) -> bool:
    """Whether the provenance `name` is of the file, folder or pattern at `path`."""
    kind, _, file = name.partition(":")
    if kind == "records":
        return file == fields.place(Path(path))
    if not _is_of_file(name):
        return False
    return file == path or Path(file).is_relative_to(path) or fnmatchcase(file, path)


def _mark(name: str) -> str:
    """What the ids of a file's records contain (`fields.place`)."""
    kind, _, file = name.partition(":")
    return f"{file}:" if kind == "records" else f"{fields.place(Path(file))}:"


def _named(identifier: str, names: Sequence[str]) -> bool:
    return any(identifier == name or identifier.endswith(f":{name}") for name in names)
