"""Every place at which the key under the cursor stands, and those of one file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from citewell.documents.bib.macros import macro_at, macro_places
from citewell.documents.keys.table import BibKeys, KeyTable
from citewell.model.document import Span


class Reference(msgspec.Struct, frozen=True, order=True):
    """One place of what was asked for."""

    path: Path
    span: Span
    defines: bool = False


def references(
    table: KeyTable, path: Path, offset: int, *, declarations: bool = True
) -> list[Reference]:
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
    places = {Reference(p.path, p.span, p.defines) for p in found}
    return sorted(places, key=lambda place: (place.path != path, place))


def highlights(table: KeyTable, path: Path, offset: int) -> list[Reference]:
    """The places of the same key or macro in the same file, in order."""
    place = table.at(path, offset)
    if place is None:
        return _macro(table, path, offset)
    file = table.files[path]
    keys = table.spellings(place.key)
    found = [p for key in keys for p in (*file.uses(key), *file.definitions(key))]
    return sorted({Reference(p.path, p.span, p.defines) for p in found})


def _macro(table: KeyTable, path: Path, offset: int) -> list[Reference]:
    file = table.files.get(path)
    macro = macro_at(file.source, offset) if isinstance(file, BibKeys) else None
    if macro is None or not isinstance(file, BibKeys):
        return []
    return [
        Reference(path, place.span, place.defines)
        for place in macro_places(file.source, macro.name)
    ]
