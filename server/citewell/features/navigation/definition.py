"""Where the thing under the cursor is defined: a key, an @string macro, a file that is named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from citewell.documents.keys.table import BibKeys, KeyTable, macro_at, macro_places
from citewell.documents.project.paper_project import Project
from citewell.model.document import Span


class DefinitionTarget(msgspec.Struct, frozen=True):
    """A place to go to."""

    path: Path
    whole: Span
    """The entry as a whole."""
    name: Span
    """Its key: where the cursor goes."""


class Definition(msgspec.Struct, frozen=True):
    """All targets of the key, macro or path at `origin` in the document."""

    origin: Span
    targets: tuple[DefinitionTarget, ...]


def define(
    table: KeyTable, projects: Iterable[Project], path: Path, offset: int
) -> Definition | None:
    """Every definition of the item at an offset of a file; None where there is no such item.

    A key that several entries have leads to all of them. `\\input`, `\\bibliography` and similar
    commands lead to the file.
    """
    place = table.at(path, offset)
    if place is not None:
        near = table.near(path)
        found = [p for key in table.spellings(place.key) for p in table.definitions(key, near)]
        targets = (
            DefinitionTarget(p.path, p.entry.span if p.entry is not None else p.span, p.span)
            for p in found
        )
        return Definition(place.span, tuple(targets))
    file = table.files.get(path)
    if isinstance(file, BibKeys):
        macro = macro_at(file.source, offset)
        if macro is None:
            return None
        homes = (p for p in macro_places(file.source, macro.name) if p.defines)
        return Definition(macro.span, tuple(DefinitionTarget(path, p.whole, p.span) for p in homes))
    start = Span(0, 0)
    for project in projects:
        for span, target in project.named_files(path):
            if offset in span:
                there = target in table.files or target.is_file()
                return Definition(span, (DefinitionTarget(target, start, start),) if there else ())
    return None


# Every place at which the key under the cursor stands, and those of one file.


class Occurrence(msgspec.Struct, frozen=True, order=True):
    """One place of what was asked for."""

    path: Path
    span: Span
    defines: bool = False


def references(
    table: KeyTable, path: Path, offset: int, *, declarations: bool = True
) -> list[Occurrence]:
    """All places of the key or @string macro at the offset, the asked file's first.

    Those in other papers count where they use a .bib that defines the key. `declarations` says
    whether entries and `\\bibitem`s are among them.
    """
    place = table.at(path, offset)
    if place is None:
        return [p for p in _macro(table, path, offset) if declarations or not p.defines]
    found = []
    for key in table.spellings(place.key):
        reached = table.reach(path, key)
        found += table.uses(key, reached)
        if declarations:
            found += table.definitions(key, reached)
    places = {Occurrence(p.path, p.span, p.defines) for p in found}
    return sorted(places, key=lambda place: (place.path != path, place))


def highlights(table: KeyTable, path: Path, offset: int) -> list[Occurrence]:
    """The places of the same key or macro in the same file, in order."""
    place = table.at(path, offset)
    if place is None:
        return _macro(table, path, offset)
    file = table.files[path]
    keys = table.spellings(place.key)
    found = [p for key in keys for p in (*file.uses(key), *file.definitions(key))]
    return sorted({Occurrence(p.path, p.span, p.defines) for p in found})


def _macro(table: KeyTable, path: Path, offset: int) -> list[Occurrence]:
    file = table.files.get(path)
    macro = macro_at(file.source, offset) if isinstance(file, BibKeys) else None
    if macro is None or not isinstance(file, BibKeys):
        return []
    return [
        Occurrence(path, place.span, place.defines)
        for place in macro_places(file.source, macro.name)
    ]
