"""Corrections of checked .bib files: planned together, checked again, then written or shown.

A fix is safe when it changes only fields that a finding is about, and the check passes the entry
afterwards. All that is not safe (the published version of a preprint, notes) is made on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.guard import wrong_edit
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.style import detect_style
from citewell.documents.textfile import apply_edits, read_text
from citewell.features.actions.verification import FIELDS, PUBLISHED, REPLACE, EntryId, edits_for
from citewell.features.checking.check import counts
from citewell.features.text.diff import unified_diff
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.check import Check, Claim, Verdict
from citewell.verification.claims import claim_of_entry

Recheck = Callable[[Sequence[Claim]], Sequence[Check]]
"""Checks claims again and returns the results in their order."""


class FixedEntry(msgspec.Struct, frozen=True):
    """One entry and what was done about it."""

    path: str
    line: int
    key: str
    codes: tuple[str, ...]
    """Codes of the findings that the fix addresses."""
    safe: bool = True


class FixPlan(msgspec.Struct, frozen=True):
    """The corrections of some files; nothing is written yet."""

    fixed: tuple[FixedEntry, ...] = ()
    left: tuple[FixedEntry, ...] = ()
    """Entries with findings that no fix resolves, or only a fix that was not asked for."""
    edits: tuple[FileEdit, ...] = ()
    diffs: tuple[str, ...] = ()
    """A unified diff of each edit, in the same order."""
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text to which the edits of that file refer."""
    again: Callable[[], FixPlan] | None = None
    """Makes the plan for the files as they are then."""


class _Try(msgspec.Struct):
    entry: BibEntry
    codes: tuple[str, ...]
    edits: tuple[TextEdit, ...]
    safe: bool


def plan_fixes(
    checks: Sequence[Check], recheck: Recheck, *, unsafe: bool = False, root: Path | None = None
) -> FixPlan:
    """Plan the fixes of all checked entries that are in .bib files.

    With `unsafe`, include fixes that replace more than the fields in question. Paths in diffs are
    relative to `root` where they are below it. Raises `FileError` for a file that cannot be read.
    """
    plan = FixPlan()
    by_file: dict[str, list[Check]] = {}
    for check in checks:
        if check.claim.path.lower().endswith((".bib", ".bibtex")) and _asks(check, unsafe):
            by_file.setdefault(check.claim.path, []).append(check)
    for path, found in by_file.items():
        plan = _joined(plan, _of_file(path, found, recheck, unsafe, root))
    return plan


def _asks(check: Check, unsafe: bool) -> bool:
    if check.verdict in (Verdict.NOT_FOUND, Verdict.UNCHECKED):
        return False
    return check.verdict is not Verdict.VERIFIED or (unsafe and bool(check.findings))


def _of_file(
    path: str, checks: Sequence[Check], recheck: Recheck, unsafe: bool, root: Path | None
) -> FixPlan:
    bib = parse_bib(read_text(Path(path)).text, path)
    return _of_bib(bib, checks, recheck, unsafe, root)


def plan_text_fixes(
    text: str, name: str, checks: Sequence[Check], recheck: Recheck, *, unsafe: bool = False
) -> FixPlan:
    """Plan the fixes of the checked entries of a .bib that is given as text; its `name` is its path
    in claims and diffs. Nothing is read."""
    wanted = [check for check in checks if _asks(check, unsafe)]
    return _of_bib(parse_bib(text, name), wanted, recheck, unsafe, None)


def _of_bib(
    bib: BibFile, checks: Sequence[Check], recheck: Recheck, unsafe: bool, root: Path | None
) -> FixPlan:
    style = detect_style(bib)
    tries: list[_Try] = []
    left: list[FixedEntry] = []
    for check in checks:
        start = check.claim.span.start if check.claim.span is not None else 0
        entry = EntryId(check.claim.key, start).find(bib)
        if entry is None:
            continue
        codes = tuple(one.code for one in check.findings if counts(one))
        done = None
        for name in _ways(check, unsafe):
            edits = edits_for(bib, entry, check, name, style=style)
            if edits and _passes(bib, edits, entry, recheck):
                done = _Try(entry, codes or ("preprint-published",), edits, name == FIELDS)
                break
        if done is not None:
            tries.append(done)
        elif codes:
            left.append(_named(bib, entry, codes))
    return _planned(bib, tries, left, root)


def _ways(check: Check, unsafe: bool) -> list[str]:
    """The fixes to try, the one that changes least first. No fix of an invented entry is safe."""
    if check.work is None:
        return []
    ways = [FIELDS] if check.verdict is Verdict.WRONG_DETAIL else []
    if unsafe and any(one.code == "preprint-published" for one in check.findings):
        ways.append(PUBLISHED)
    if unsafe and check.verdict is not Verdict.VERIFIED:
        ways.append(REPLACE)
    return ways


def _passes(bib: BibFile, edits: Sequence[TextEdit], entry: BibEntry, recheck: Recheck) -> bool:
    """True when the entry alone changes and the check then passes it without an accusation."""
    if wrong_edit(bib, FileEdit(bib.path, tuple(edits))) is not None:
        return False
    after = parse_bib(apply_edits(bib.text, edits), bib.path)
    changed = EntryId(entry.key, entry.start).find(after)
    if changed is None:
        return False
    (check,) = recheck([claim_of_entry(after, changed)])
    return check.verdict is Verdict.VERIFIED and not any(map(counts, check.findings))


def _planned(
    bib: BibFile, tries: Sequence[_Try], left: Sequence[FixedEntry], root: Path | None
) -> FixPlan:
    fixed = tuple(
        msgspec.structs.replace(_named(bib, one.entry, one.codes), safe=one.safe) for one in tries
    )
    if not tries:
        return FixPlan(left=tuple(left))
    every = sorted((edit for one in tries for edit in one.edits), key=lambda edit: edit.span)
    shown = Path(bib.path)
    if root is not None and shown.resolve().is_relative_to(root.resolve()):
        shown = shown.resolve().relative_to(root.resolve())
    diff = unified_diff(bib.text, apply_edits(bib.text, every), shown.as_posix())
    edit = FileEdit(bib.path, tuple(every))
    return FixPlan(fixed, tuple(left), (edit,), (diff,), {bib.path: bib.text})


def _named(bib: BibFile, entry: BibEntry, codes: tuple[str, ...]) -> FixedEntry:
    return FixedEntry(bib.path, bib.text.count("\n", 0, entry.start) + 1, entry.key, codes)


def _joined(one: FixPlan, other: FixPlan) -> FixPlan:
    return FixPlan(
        (*one.fixed, *other.fixed),
        (*one.left, *other.left),
        (*one.edits, *other.edits),
        (*one.diffs, *other.diffs),
        {**one.texts, **other.texts},
    )
