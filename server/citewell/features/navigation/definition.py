"""Where the thing under the cursor is defined: a key, an @string macro, a file that is named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from citewell.documents.bib.macros import macro_at, macro_places
from citewell.documents.keys.table import BibKeys, KeyTable
from citewell.documents.project.paper_project import Project
from citewell.model.document import Span


class Target(msgspec.Struct, frozen=True):
    """A place to go to."""

    path: Path
    whole: Span
    """The entry as a whole."""
    name: Span
    """Its key: where the cursor goes."""


class Definition(msgspec.Struct, frozen=True):
    """All targets of the key, macro or path at `origin` in the document."""

    origin: Span
    targets: tuple[Target, ...]


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
            Target(p.path, p.entry.span if p.entry is not None else p.span, p.span) for p in found
        )
        return Definition(place.span, tuple(targets))
    file = table.files.get(path)
    if isinstance(file, BibKeys):
        macro = macro_at(file.source, offset)
        if macro is None:
            return None
        homes = (p for p in macro_places(file.source, macro.name) if p.defines)
        return Definition(macro.span, tuple(Target(path, p.whole, p.span) for p in homes))
    start = Span(0, 0)
    for project in projects:
        for span, target in project.named_files(path):
            if offset in span:
                there = target in table.files or target.is_file()
                return Definition(span, (Target(target, start, start),) if there else ())
    return None
