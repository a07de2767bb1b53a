"""Actions in a .bib: complete an entry from its record, merge, sort, remove."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.requests.actions.contract import ActionRequest, ChosenAction
from citewell.sources.registry import titles_of_work

if TYPE_CHECKING:
    from citewell.engine.contract import Engine
    from citewell.features.action import Action, ActionPlan
    from citewell.features.bib.sort import By
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot
    from citewell.model import Work
    from citewell.model.bib import BibEntry, BibFile

LARGE = 5_000
"""Entries from which a lamp does not say what could be done with the whole file."""


class BibliographyActions(Struct, frozen=True, eq=False):
    """Keeps a .bib in order."""

    name = "bibliography"
    kinds = ("quickfix", "refactor.rewrite", "source.sortBib", "source.removeUnused")

    engine: Engine

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """What can be done with the entry at the cursor, and with the file."""
        from citewell.features.actions import bib as feature
        from citewell.features.checking.lint_rule import LintPaper

        if not request.is_bib:
            return ()
        projects = request.projects
        snapshot = await projects.workspace(request.uri)
        bib = snapshot.linked.bib if snapshot is not None else None
        if snapshot is None or bib is None:
            return ()
        offset = snapshot.index.offset(request.range.start)
        entry = next((e for e in bib.entries if e.start <= offset <= e.end), None)
        quick = request.automatic and len(bib.entries) > LARGE

        def look() -> list[Action]:
            paper = LintPaper(snapshot.linked.projects)
            found: list[Action] = []
            if entry is not None and entry.key and not quick:
                found = feature.entry_actions(bib, entry, paper, snapshot.linked.all_keys)
            return found if request.automatic else [*found, *feature.file_actions(bib, paper)]

        found = await projects.read(look)
        if entry is None or not entry.key:
            return found
        record = await _record(self.engine, entry)
        if record is not None and await projects.read(lambda: _changes(bib, entry, record)):
            origin = titles_of_work(record)[0] if record.provenance else record.id
            return [feature.normalise_action(entry, origin), *found]
        return found

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits of the chosen action."""
        # A file that was not read may cite what is to go.
        snapshot = await chosen.projects.workspace(chosen.uri, complete=True)
        bib = snapshot.linked.bib if snapshot is not None else None
        if snapshot is None or bib is None:
            return None
        if chosen.name in ("sort", "remove-unused"):
            return await chosen.projects.read(lambda: _whole_file(chosen, snapshot, bib))
        from citewell.features.actions.bib import entry_near

        entry = entry_near(bib, chosen.number("start", 0), chosen.text("key"))
        if entry is None:
            return None
        if chosen.name == "normalise":
            record = await _record(self.engine, entry)
            if record is None:
                return None
            return await chosen.projects.read(lambda: _normalised(bib, entry, record))
        return await chosen.projects.read(lambda: _of_entry(chosen, snapshot, bib, entry))


def _whole_file(chosen: ChosenAction, snapshot: WorkspaceSnapshot, bib: BibFile) -> ActionPlan:
    from citewell.features.actions import bib as feature
    from citewell.features.bib.sort import unused_entries
    from citewell.features.checking.lint_rule import LintPaper

    if chosen.name == "sort":
        by: By = "author" if chosen.text("by") == "author" else "key"
        return feature.plan_sort(bib, by)
    unused = unused_entries(bib, LintPaper(snapshot.linked.projects))
    return feature.plan_removal(bib, unused)


def _of_entry(
    chosen: ChosenAction, snapshot: WorkspaceSnapshot, bib: BibFile, entry: BibEntry
) -> ActionPlan | None:
    from citewell.features.actions import bib as feature
    from citewell.features.bib.merge import plan_merge, twins_of
    from citewell.features.checking.lint_rule import LintPaper

    if chosen.name == "remove":
        return feature.plan_removal(bib, [entry])
    paper = LintPaper(snapshot.linked.projects)
    group = [entry, *twins_of(bib, entry, paper)]
    kept = next((one for one in group if one.key == chosen.text("kept")), None)
    if kept is None or len(group) < 2:
        return None
    gone = [one for one in group if one is not kept]
    return plan_merge(bib, kept, gone, snapshot.linked.all_keys, snapshot.linked.projects)


async def _record(engine: Engine, entry: BibEntry) -> Work | None:
    """The library's record of an entry's work, by DOI, arXiv identifier or title."""
    from citewell.features.bib.normalise import record_of

    body, title = entry.body, entry.get("title")

    def look_up() -> list[Work]:
        found: list[Work] = []
        if body.doi or body.arxiv:
            found += engine.lookup(doi=body.doi, arxiv=body.arxiv)
        if title:
            found += engine.lookup(title=title)
        return found

    return record_of(entry, await asyncio.to_thread(look_up))


def _changes(bib: BibFile, entry: BibEntry, record: Work) -> bool:
    from citewell.features.bib.normalise import normalise

    return bool(normalise(bib, entry, record))


def _normalised(bib: BibFile, entry: BibEntry, record: Work) -> ActionPlan:
    from citewell.features.actions.bib import in_file
    from citewell.features.bib.normalise import normalise

    return in_file(bib, normalise(bib, entry, record), f"Complete {entry.key} from its record")
