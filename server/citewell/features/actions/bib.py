"""What can be done in a .bib: complete an entry, merge duplicates, sort, remove what is unused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell.documents.keys.table import KeyTable
from citewell.features.action import QUICK_FIX, REWRITE, SOURCE, Action, ActionPlan
from citewell.features.bib.merge import best_of, twins_of
from citewell.features.bib.sort import By, sort_entries, unused_entries, without
from citewell.features.checking.lint_rule import LintPaper
from citewell.model import Problem
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit

KINDS = (QUICK_FIX, REWRITE, SOURCE)


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
    """Shown when a record of the entry's work says something else than the entry."""
    return Action(
        title=f"Complete and correct `{entry.key}` from its record ({source})",
        kind=REWRITE,
        name="normalise",
        arguments={"start": entry.start, "key": entry.key},
        fixes=("missing-field",),
        span=entry.span,
    )


def file_actions(bib: BibFile, paper: LintPaper) -> list[Action]:
    """The actions on the whole file; what would change nothing is not offered."""
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
    """Edits of one bibliography as a plan; `removes` are the keys of entries that go."""
    path = Path(bib.path)
    return ActionPlan(
        edits=(FileEdit(bib.path, tuple(edits), removes=removes),) if edits else (),
        texts={path: bib.text},
        label=label,
    )


def entry_near(bib: BibFile, start: int, key: str) -> BibEntry | None:
    """The entry that stood at `start`: still there, or the nearest of that key."""
    same = [entry for entry in bib.entries if entry.key == key]
    return min(same, key=lambda entry: abs(entry.start - start), default=None)


def _listed(keys: Sequence[str]) -> str:
    shown = [f"`{key}`" for key in keys[:3]]
    if len(keys) > 3:
        return f"{', '.join(shown)} and {len(keys) - 3} more"
    return " and ".join(shown)
