"""Entries of one work made one: a key is kept, and the uses of the others are rewritten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from citewell.documents.keys.table import KeyTable, PlaceKind
from citewell.documents.project.paper_project import Project
from citewell.features.action import ActionPlan
from citewell.features.bib.sort import without
from citewell.features.checking.lint import lint_bib
from citewell.features.checking.lint_rule import LintPaper
from citewell.model import Problem
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.document import Document, Span
from citewell.model.fields import VENUE_FIELDS, with_trait

_MERGED = with_trait("merged")
"""Fields that the kept entry takes over where it lacks them."""


def twins_of(bib: BibFile, entry: BibEntry, paper: LintPaper) -> list[BibEntry]:
    """The other entries of the file that describe the same work, as the lint sees it."""
    pairs = [
        (one.data.get("key", ""), one.data.get("other", ""))
        for one in lint_bib(bib, paper)
        if one.code == "duplicate-work" and one.data.get("path") == bib.path
    ]
    group = {entry.key}
    while True:
        more = {k for pair in pairs if not group.isdisjoint(pair) for k in pair} - group
        if not more:
            break
        group |= more
    return [bib.by_key[k] for k in bib.by_key if k in group and k != entry.key]


def best_of(entries: Sequence[BibEntry], table: KeyTable) -> BibEntry:
    """The entry to keep: the most cited, then the fullest, then the first."""
    return max(
        entries,
        key=lambda entry: (table.count(entry.key), len(set(entry.names)), -entry.start),
    )


def plan_merge(
    bib: BibFile,
    kept: BibEntry,
    gone: Sequence[BibEntry],
    table: KeyTable,
    projects: Collection[Project],
) -> ActionPlan:
    """Keep one entry with what only the others say, take those away, and cite the kept key."""
    keys = {entry.key for entry in gone} - {kept.key}
    path = Path(bib.path)
    edits: dict[Path, list[TextEdit]] = {path: list(without(bib, gone))}
    taken = _taken_over(bib, kept, gone)
    if taken is not None:
        edits[path].append(taken)
    texts: dict[Path, str] = {path: bib.text}
    lost = [(entry.start, entry.end) for entry in gone]
    for key in sorted(keys):
        for place in table.uses(key):
            if place.path == path and any(a <= place.span.start < b for a, b in lost):
                continue
            if place.kind in (PlaceKind.CITATION, PlaceKind.NOCITE):
                continue
            texts[place.path] = table.files[place.path].source.text
            edits.setdefault(place.path, []).append(TextEdit(place.span, kept.key))
    for file in table.documents:
        changes = _citations(file.source, keys, kept.key)
        if changes:
            texts[file.path] = file.source.text
            edits.setdefault(file.path, []).extend(changes)
    for file_path in edits:
        if projects and not any(project.may_write(file_path) for project in projects):
            return ActionPlan(problems=(_unwritable(file_path),))
    return ActionPlan(
        edits=tuple(
            FileEdit(
                str(one),
                tuple(sorted(changes, key=lambda change: change.span)),
                removes=tuple(entry.key for entry in gone) if one == path else (),
            )
            for one, changes in edits.items()
            if changes
        ),
        texts=texts,
        label=f"Merge {', '.join(sorted(keys))} into {kept.key}",
    )


def _unwritable(path: Path) -> Problem:
    return Problem(
        "merge-unwritable",
        f"{path.name} cites one of the keys and is not writable.",
        "Open its folder in the editor, or make the file writable.",
        str(path),
    )


def _citations(document: Document, keys: set[str], kept: str) -> list[TextEdit]:
    """The edits that replace the other keys by the kept one, or remove them where the same braces
    contain it already."""
    edits: list[TextEdit] = []
    text = document.text
    for citation in document.citations:
        if keys.isdisjoint(use.key for use in citation.keys):
            continue
        seen = any(use.key == kept for use in citation.keys)
        for place, use in enumerate(citation.keys):
            if use.key not in keys:
                continue
            if not seen:
                seen = True
                edits.append(TextEdit(use.span, kept))
                continue
            span = _with_comma(text, citation.keys[place - 1].span if place else None, use.span)
            if span is None and place + 1 < len(citation.keys):
                span = _with_comma(text, use.span, citation.keys[place + 1].span, before=True)
            # What is not a plain list of keys keeps the key twice, which is no error.
            edits.append(TextEdit(span, "") if span is not None else TextEdit(use.span, kept))
    return edits


def _with_comma(text: str, left: Span | None, right: Span, *, before: bool = False) -> Span | None:
    """A key with the comma that parts it from the one at its left (or, `before`, the left one with
    the comma behind it); None when more than a comma and blanks lies between."""
    if left is None or text[left.end : right.start].strip() != ",":
        return None
    return Span(left.start, right.start) if before else Span(left.end, right.end)


def _taken_over(bib: BibFile, kept: BibEntry, gone: Sequence[BibEntry]) -> TextEdit | None:
    """The edit that adds the fields that only the others have, as written there; None when there
    are none."""
    if not kept.names:
        return None
    have = set(kept.names)
    have.update(() if have.isdisjoint(VENUE_FIELDS) else VENUE_FIELDS)
    have |= {"year", "date"} if have & {"year", "date"} else set()
    parts: list[str] = []
    last = kept.fields[-1]
    start, at = last.name_span.start, last.value_span.end
    line = max(bib.text.rfind("\n", 0, start), bib.text.rfind("\r", 0, start))
    lead = bib.text[line + 1 : start]
    newline = "\r\n" if "\r\n" in bib.text else "\n"
    gap = newline + lead if line >= kept.start and not lead.strip() else " "
    for entry in gone:
        for field in entry.fields:
            if field.name in _MERGED and field.name not in have and field.value.strip():
                have.add(field.name)
                source = bib.text[field.name_span.start : field.value_span.end]
                parts.append(f",{gap}{source}")
    return TextEdit(Span(at, at), "".join(parts)) if parts else None
