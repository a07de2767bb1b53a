"""Renaming a key wherever it stands, or an @string macro of a .bib: edits of the name and nothing
else, or a refusal that says why."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from citewell.documents.keys.pattern import KEY_SHAPE, NEVER_IN_KEYS, check_key
from citewell.documents.keys.table import BibKeys, DocumentKeys, KeyTable, macro_at
from citewell.documents.project.paper_project import Project
from citewell.features.navigation.definition import Occurrence, references
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Format, Span
from citewell.model.problem import Problem

_PANDOC = re.compile(r"\w+(?:[:.#$%&+?<>~/-]+\w+)*")
_MACRO = re.compile(r"[^\W\d][\w:.+/-]*")


class Renaming(msgspec.Struct, frozen=True):
    """What a new name changes, or why it cannot be given."""

    edits: tuple[FileEdit, ...] = ()
    """By file; the file that was asked for first."""
    elsewhere: frozenset[str] = frozenset()
    """Paths of the files that belong to other papers only."""
    problem: Problem | None = None
    joined: Problem | None = None
    """The author must confirm this first: the new key is cited already, and has no entry."""


def renamed_span(table: KeyTable, path: Path, offset: int) -> tuple[Span, str] | None:
    """The name at the offset with its range; None where nothing can be renamed."""
    place = table.at(path, offset)
    if place is not None:
        return place.span, place.key
    file = table.files.get(path)
    macro = macro_at(file.source, offset) if isinstance(file, BibKeys) else None
    if macro is None or not isinstance(file, BibKeys) or macro.name not in file.source.strings:
        return None
    return macro.span, file.source.text[macro.span.start : macro.span.end]


def rename(
    table: KeyTable, projects: Iterable[Project], path: Path, offset: int, new: str
) -> Renaming | None:
    """The edits that give the key or macro at the offset a new name; None where there is none.

    `table` holds all files that the key may reach, `projects` are the asked file's own; they say
    which files may be written.
    """
    found = renamed_span(table, path, offset)
    if found is None:
        return None
    old, new = found[1], new.strip()
    if old == new:
        return Renaming()
    is_key = table.at(path, offset) is not None
    places = references(table, path, offset)
    own = list(projects)
    joined = None
    if is_key:
        olds = table.spellings(old)
        reached = frozenset().union(*(table.reach(path, key) for key in olds))
        problem = _bad_key(table, places, old, new) or _taken(table, reached, olds, new)
        joined = _joined(table, reached, olds, new)
    else:
        problem = _bad_macro(table, path, new)
    problem = problem or _unwritable(own, places)
    if problem is not None:
        return Renaming(problem=problem)
    edits: dict[Path, list[TextEdit]] = {}
    for place in places:
        edits.setdefault(place.path, []).append(TextEdit(place.span, new))
    renamed = {file: _renamed(table, file, changes) for file, changes in edits.items()}
    near = {file for project in own for file in (*project.documents, *project.bibs)} | {path}
    return Renaming(
        tuple(
            FileEdit(
                str(file),
                tuple(changes),
                adds=(new,) * len(renamed[file]),
                removes=renamed[file],
            )
            for file, changes in edits.items()
        ),
        frozenset(str(file) for file in edits if file not in near),
        joined=joined,
    )


def _renamed(table: KeyTable, path: Path, changes: Iterable[TextEdit]) -> tuple[str, ...]:
    """The keys of the entries of a .bib that get the new key."""
    file = table.files.get(path)
    if isinstance(file, DocumentKeys):
        file = file.bib
    if file is None:
        return ()
    places = {change.span for change in changes}
    return tuple(entry.key for entry in file.source.entries if entry.key_span in places)


def _bad_key(table: KeyTable, places: Iterable[Occurrence], old: str, new: str) -> Problem | None:
    if not new:
        return Problem("rename-invalid", f"The new name of the key `{old}` is empty.", KEY_SHAPE)
    # What BibTeX takes and keys of the paper have already is legal, whatever we would choose.
    used = {char for file in table.files.values() for key in _keys_of(file) for char in key}
    signs = "".join(char for char in used if char not in NEVER_IN_KEYS)
    wrong = check_key(new, signs)
    if wrong is not None:
        return msgspec.structs.replace(wrong, code="rename-invalid")
    if _PANDOC.fullmatch(new) is None:
        for place in places:
            source = table.files[place.path].source
            if getattr(source, "format", None) is Format.MARKDOWN and not _is_braced(
                source.text, place.span
            ):
                message = f"Markdown cannot cite `{new}`, and {place.path.name} cites this key."
                hint = (
                    "Begin and end the key with a letter or digit, with single punctuation "
                    "marks inside."
                )
                return Problem("rename-invalid", message, hint)
    return None


def _keys_of(file: DocumentKeys | BibKeys) -> Iterable[str]:
    if isinstance(file, BibKeys):
        return file.source.by_key
    return () if file.bib is None else file.bib.source.by_key


def _is_braced(text: str, span: Span) -> bool:
    return text[span.start - 1 : span.start] == "{"


def _taken(
    table: KeyTable, reached: frozenset[Path], olds: Collection[str], new: str
) -> Problem | None:
    """The problem when a reached file has the new key already, in any case; None if it is free.

    BibTeX does not distinguish keys by case, so a new key must not differ in case only."""
    wanted = new.casefold()
    for path in reached:
        file = table.files.get(path)
        known: Iterable[str] = ()
        if isinstance(file, BibKeys):
            known = (*file.source.by_key, *file.aliases)
        elif isinstance(file, DocumentKeys):
            known = (*file.defined, *_keys_of(file))
        for key in known:
            if key.casefold() == wanted and key not in olds:
                place = file.definitions(key)[0] if file is not None else None
                line = 0
                if place is not None and file is not None:
                    line = file.source.text.count("\n", 0, place.span.start) + 1
                message = f"The key `{key}` is taken: {path.name}, line {line}."
                return Problem("rename-taken", message, "Choose another key.")
    return None


def _joined(
    table: KeyTable, reached: frozenset[Path], olds: Collection[str], new: str
) -> Problem | None:
    """The problem when a reached file cites the new key, which nothing defines; None otherwise."""
    forms = set(table.spellings(new)) - set(olds)
    uses = [use for form in sorted(forms) for use in table.uses(form, reached)]
    if not uses:
        return None
    first = uses[0]
    line = table.files[first.path].source.text.count("\n", 0, first.span.start) + 1
    more = f" and at {len(uses) - 1} more" if len(uses) > 1 else ""
    return Problem(
        "rename-joins",
        f"`{first.key}` is cited in {first.path.name}, line {line}{more}, without an entry: those "
        "citations would mean this paper too, and renaming back would rename them.",
        "Choose another key; or, if they mean this paper, change the key in the .bib by hand.",
    )


def _bad_macro(table: KeyTable, path: Path, new: str) -> Problem | None:
    file = table.files[path]
    assert isinstance(file, BibKeys)
    if _MACRO.fullmatch(new) is None:
        hint = "Begin with a letter; use only letters, digits and _ : . / + -."
        return Problem("rename-invalid", f"`{new}` is not a valid macro name.", hint)
    if new.lower() in file.source.strings:
        return Problem(
            "rename-taken", f"The macro `{new}` is already defined.", "Choose another name."
        )
    return None


def _unwritable(projects: list[Project], places: Iterable[Occurrence]) -> Problem | None:
    if not projects:
        return None
    for path in dict.fromkeys(place.path for place in places):
        if not any(project.may_write(path) for project in projects):
            message = f"{path.name} contains this key and is not writable: {path}."
            hint = "Open its folder in the editor, or make the file writable."
            return Problem("rename-unwritable", message, hint)
    return None
