"""Actions in a .bib: complete an entry, merge duplicates, sort, remove unused entries."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from citewell.documents.bib.style import (
    BibStyle,
    delimited,
    detect_style,
    entry_content,
    field_start,
)
from citewell.documents.bib.work import same_work
from citewell.documents.keys.table import KeyTable, PlaceKind
from citewell.documents.project.paper_project import Project
from citewell.features.action import QUICK_FIX, REWRITE, SOURCE, Action, ActionPlan
from citewell.features.bib.sort import By, sort_entries, unused_entries, without
from citewell.features.checking.lint import lint_bib
from citewell.features.checking.lint_rule import LintPaper
from citewell.model import Problem, Work
from citewell.model.bib import BibEntry, BibField, BibFile, FileEdit, TextEdit, literal_value
from citewell.model.document import Document, Span
from citewell.model.fields import BIB_FIELDS, PRINTED, VENUE_FIELDS, with_trait
from citewell.model.names import family_key, split_authors
from citewell.model.tex import tex_to_unicode

# Merging of duplicates: one key is kept, and uses of the others are rewritten.

_MERGED = with_trait("merged")
"""Fields that the kept entry takes from the others if it lacks them."""


def twins_of(bib: BibFile, entry: BibEntry, paper: LintPaper) -> list[BibEntry]:
    """The other entries of the file for the same work, according to the lint."""
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
        entries, key=lambda entry: (table.count(entry.key), len(set(entry.names)), -entry.start)
    )


def plan_merge(
    bib: BibFile,
    kept: BibEntry,
    gone: Sequence[BibEntry],
    table: KeyTable,
    projects: Collection[Project],
) -> ActionPlan:
    """Keep one entry with the extra fields of the others, remove these, and cite the kept key."""
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
    """The edits that replace the other keys by the kept one, or remove them if the same braces
    already contain it."""
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
            # Anything but a plain list of keys keeps the key twice, which is no error.
            edits.append(TextEdit(span, "") if span is not None else TextEdit(use.span, kept))
    return edits


def _with_comma(text: str, left: Span | None, right: Span, *, before: bool = False) -> Span | None:
    """A key with the comma between it and the one at its left (or, `before`, the left one with the
    comma after it); None if there is more than a comma and blanks."""
    if left is None or text[left.end : right.start].strip() != ",":
        return None
    return Span(left.start, right.start) if before else Span(left.end, right.end)


def _taken_over(bib: BibFile, kept: BibEntry, gone: Sequence[BibEntry]) -> TextEdit | None:
    """The edit that adds the fields found only in the others, verbatim; None if there are none."""
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


def entry_actions(bib: BibFile, entry: BibEntry, paper: LintPaper, table: KeyTable) -> list[Action]:
    """The actions on the entry at the cursor, without the one that needs a look-up."""
    found: list[Action] = []
    where: dict[str, str | int | bool] = {"start": entry.start, "key": entry.key}
    twins = twins_of(bib, entry, paper)
    if twins:
        kept = best_of([entry, *twins], table)
        others = [e.key for e in (entry, *twins) if e.key != kept.key]
        found.append(
            Action(
                title=f"Merge {_listed(others)} into `{kept.key}` and update the citations",
                kind=QUICK_FIX,
                name="merge",
                arguments={**where, "kept": kept.key},
                fixes=("duplicate-work",),
                span=entry.span,
            )
        )
    if any(entry is one for one in unused_entries(bib, paper)):
        found.append(
            Action(
                title=f"Remove the unused entry `{entry.key}`",
                kind=QUICK_FIX,
                name="remove",
                arguments=where,
                fixes=("unused-entry",),
                span=entry.span,
            )
        )
    return found


def normalise_action(entry: BibEntry, source: str) -> Action:
    """The action offered when a record of the entry's work differs from the entry."""
    return Action(
        title=f"Complete and correct `{entry.key}` from its record ({source})",
        kind=REWRITE,
        name="normalise",
        arguments={"start": entry.start, "key": entry.key},
        fixes=("missing-field",),
        span=entry.span,
    )


def file_actions(bib: BibFile, paper: LintPaper) -> list[Action]:
    """The actions on the whole file that would change something."""
    found: list[Action] = []
    names: tuple[tuple[By, str], ...] = (("key", "key"), ("author", "author and year"))
    for by, words in names:
        if len(bib.entries) > 1 and sort_entries(bib, by):
            found.append(
                Action(
                    title=f"Sort the entries by {words}",
                    kind=f"{SOURCE}.sortBib",
                    name="sort",
                    arguments={"by": by},
                )
            )
    unused = len(unused_entries(bib, paper))
    if unused:
        what = f"{unused} unused entries"
        if unused == 1:
            what = "the unused entry"
        found.append(
            Action(
                title=f"Remove {what}",
                kind=f"{SOURCE}.removeUnused",
                name="remove-unused",
                fixes=("unused-entry",),
            )
        )
    return found


def plan_sort(bib: BibFile, by: By) -> ActionPlan:
    """The sorted file."""
    edits = sort_entries(bib, by)
    if isinstance(edits, Problem):
        return ActionPlan(problems=(edits,))
    return in_file(bib, edits, f"Sort {Path(bib.path).name}")


def plan_removal(bib: BibFile, entries: Sequence[BibEntry]) -> ActionPlan:
    """The file without some of its entries."""
    words = f"Remove {entries[0].key}" if len(entries) == 1 else f"Remove {len(entries)} entries"
    gone = tuple(entry.key for entry in entries)
    return in_file(bib, without(bib, entries), words, removes=gone)


def in_file(
    bib: BibFile, edits: Sequence[TextEdit], label: str, *, removes: tuple[str, ...] = ()
) -> ActionPlan:
    """Edits of one bibliography as a plan; `removes` are the keys of removed entries."""
    path = Path(bib.path)
    return ActionPlan(
        edits=(FileEdit(bib.path, tuple(edits), removes=removes),) if edits else (),
        texts={path: bib.text},
        label=label,
    )


def entry_near(bib: BibFile, start: int, key: str) -> BibEntry | None:
    """The entry that was at `start`, or the nearest one with that key."""
    same = [entry for entry in bib.entries if entry.key == key]
    return min(same, key=lambda entry: abs(entry.start - start), default=None)


def _listed(keys: Sequence[str]) -> str:
    shown = [f"`{key}`" for key in keys[:3]]
    if len(keys) > 3:
        return f"{', '.join(shown)} and {len(keys) - 3} more"
    return " and ".join(shown)


# Normalisation of an entry to the record of its work; key and other fields stay.

_ADDED = tuple(dict.fromkeys(("author", *PRINTED)))
"""Fields added to an entry that lacks them."""
_DELIMITED = re.compile(r'^\s*([{"]).*([}"])\s*$', re.DOTALL)
_PAPERS = frozenset({"article", "inproceedings", "conference", "misc", "online", "unpublished"})


def record_of(entry: BibEntry, works: Sequence[Work]) -> Work | None:
    """The record of an entry's work among the results of a look-up, the fullest first.

    By the same rules as for adding an entry: DOI, arXiv identifier, or the same title with the same
    authors and year.
    """
    fitting = [work for work in works if same_work(entry, work)]
    return max(fitting, key=_fullness, default=None)


def _fullness(work: Work) -> tuple[bool, int]:
    published = bool(work.booktitle or work.journal or work.doi)
    return published, sum(bool(v) for v in (work.pages, work.doi, work.publisher, work.volume))


def normalise(bib: BibFile, entry: BibEntry, work: Work) -> tuple[TextEdit, ...]:
    """The edits that align an entry with a record; none if they agree.

    Fields that the record lacks stay, and so do the key, the order of the fields, @string values,
    unknown fields, and differences of form: the author's braces in a title, a name written in
    another order, the dash of a range.
    """
    if not entry.body.closed or entry.body.faults:
        return ()
    style = detect_style(bib)
    kind, wanted = entry_content(work, style)
    edits: list[TextEdit] = []
    if _other_kind(entry.type, kind):
        start = entry.start + 1 + _blank(entry.body.text[1:])
        edits.append(TextEdit(Span(start, start + len(entry.type)), style.type_name(kind)))
    fields: dict[str, BibField] = {}
    for field in entry.fields:
        fields.setdefault(field.name, field)
    missing: list[str] = []
    for name in _ADDED:
        value = wanted.get(name, "")
        if not value:
            continue
        known = fields.get(name) or fields.get(BIB_FIELDS[name].biblatex)
        if known is None and name in VENUE_FIELDS:
            known = next((fields[n] for n in VENUE_FIELDS if n in fields), None)
            if known is not None and known.name != name and _other_kind(entry.type, kind):
                edits.append(TextEdit(known.name_span, style.field_name(name)))
        if known is None:
            if not (name == "url" and ("doi" in fields or "doi" in wanted)):
                missing.append(name)
        elif not _says(known, name, value):
            new = _in_place(known, value)
            if new is not None:
                edits.append(TextEdit(known.value_span, new))
    if missing:
        edits.append(_added(bib, entry, [(n, wanted[n]) for n in missing], style))
    return tuple(sorted(edits, key=lambda edit: edit.span))


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())


def _other_kind(old: str, new: str) -> bool:
    """True when the type may change: between kinds of papers only, never of a book or thesis."""
    same = {"conference": "inproceedings", "online": "misc", "unpublished": "misc"}
    return old in _PAPERS and new in _PAPERS and same.get(old, old) != new and new != "misc"


def _says(field: BibField, name: str, value: str) -> bool:
    """True when a field agrees with the record, in any spelling."""
    if name == "author":
        return _same_people(field, value)
    if name == "url":
        return True
    form = BIB_FIELDS[name].form
    return form(field.value.strip()) == form(tex_to_unicode(value).strip())


def _same_people(field: BibField, value: str) -> bool:
    """True for the same surnames in the same order, given names as full as the record's."""
    ours = split_authors(literal_value(field.raw, field.strings))
    theirs = split_authors(value)
    if [family_key(a) for a in ours] != [family_key(a) for a in theirs]:
        return False
    return all(
        len(mine.given.replace(".", "")) >= min(2, len(known.given.replace(".", "")))
        for mine, known in zip(ours, theirs, strict=True)
    )


def _in_place(field: BibField, value: str) -> str | None:
    """The value in the field's own delimiters; None for an @string, which stays."""
    raw = field.raw.strip()
    if raw.isdigit():
        return value if value.isdigit() else f"{{{value}}}"
    if not _DELIMITED.match(raw) or "#" in raw:
        return None
    if raw[0] == '"':
        return '"' + value.replace('"', '{"}') + '"'
    return f"{{{value}}}"


def _added(
    bib: BibFile, entry: BibEntry, fields: Sequence[tuple[str, str]], style: BibStyle
) -> TextEdit:
    """Fields after the last one, on separate lines if the others are."""
    known = entry.fields
    at = known[-1].value_span.end if known else entry.key_span.end
    lines = "\n" in entry.body.text or "\r" in entry.body.text
    gap = style.newline if lines else " "
    equals = "="
    if known:
        equals = bib.text[known[-1].name_span.end : known[-1].value_span.start]
    parts = []
    for name, value in fields:
        left = field_start(name, style) if lines else f"{style.field_name(name)}{equals}"
        parts.append(f"{left}{delimited(name, value, style)}")
    # A comma after the last value then becomes that of the last new field.
    return TextEdit(Span(at, at), "," + gap + ("," + gap).join(parts))
