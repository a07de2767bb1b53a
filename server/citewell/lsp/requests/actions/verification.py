"""Actions on an entry that was looked up: take what its record has, or what was meant; mark it as
checked; remove it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.requests.actions.contract import ActionRequest, ChosenAction

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.engine.worker_client import WorkerEngine
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.documents.buffers import Buffers
    from citewell.lsp.state.checking import ReferenceChecks
    from citewell.model.bib import BibEntry, BibFile, TextEdit
    from citewell.model.check import Check


class VerificationActions(Struct, frozen=True, eq=False):
    """Corrects references by the records that they were compared with, or takes them away."""

    name = "verification"
    kinds = ("quickfix", "refactor.rewrite")

    checking: ReferenceChecks
    buffers: Buffers
    engine: WorkerEngine

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """What can be done about the entry at the place; nothing while it is not looked up."""
        found = await request.projects.bib(request.uri) if request.is_bib else None
        reading = self.buffers.reading(request.uri)
        if found is None or reading is None:
            return ()
        bib, offset = found[0], reading[1].index.offset(request.range.start)
        entry = next((e for e in bib.entries if e.start <= offset <= e.end), None)
        if entry is None:
            return ()
        check = await request.projects.read(lambda: self.checking.of(bib, entry))
        if check is None:
            return ()
        meant = [] if request.automatic else await self._meant(request, bib, entry, check)
        snapshot = await request.projects.workspace(request.uri)

        def offered() -> list[Action]:
            from citewell.features.actions.verification import actions_on
            from citewell.usecases.entry_changes import doubted_actions

            counts = snapshot.linked.all_keys.counts if snapshot is not None else {}
            here, cited = request.codes(), counts.get(entry.key, 0)
            actions = actions_on(bib, entry, check)
            actions += [*meant, *doubted_actions(entry, check, cited)]
            # What mends the place that was asked about comes first.
            return sorted(actions, key=lambda one: here.isdisjoint(one.fixes))

        return await request.projects.read(offered)

    async def _meant(
        self, request: ActionRequest, bib: BibFile, entry: BibEntry, check: Check
    ) -> list[Action]:
        """Papers of the library that an entry in doubt may mean."""
        from citewell.usecases import entry_changes

        if not entry_changes.is_doubted(check):
            return []
        queries = entry_changes.queries_for_meant(entry, check)
        results = await asyncio.gather(
            *(self.engine.find_async(query, entry_changes.MOST_MEANT) for query in queries)
        )
        lists = [result.hits for result in results]
        return await request.projects.read(lambda: entry_changes.meant_actions(entry, check, lists))

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits for the entry as it is now."""
        found = await chosen.projects.bib(chosen.uri)
        if found is None:
            return None
        bib = found[0]
        entry, check = await chosen.projects.read(lambda: self._known(bib, chosen))
        if entry is None or check is None:
            return None
        return await self._planned(bib, entry, check, chosen)

    async def _planned(
        self, bib: BibFile, entry: BibEntry, check: Check, chosen: ChosenAction
    ) -> ActionPlan | None:
        from citewell.usecases import entry_changes

        read = chosen.projects.read
        if chosen.name == entry_changes.MEANT:
            works = await asyncio.to_thread(self.engine.works, [chosen.text("work")])
            work = works[0] if works else None
            if work is None:
                return None
            return await read(
                lambda: _plan(bib, entry, entry_changes.meant_edits(bib, entry, check, work))
            )
        if chosen.name == entry_changes.REMOVE:
            # A file that was not read may cite what is to go.
            snapshot = await chosen.projects.workspace(chosen.uri, complete=True)
            if snapshot is None or snapshot.linked.bib is None:
                return None
            present, projects = snapshot.linked.bib, snapshot.linked.projects
            return await read(lambda: _removal(present, projects, entry))
        return await read(lambda: _plan(bib, entry, _edits(bib, entry, check, chosen)))

    def _known(self, bib: BibFile, chosen: ChosenAction) -> tuple[BibEntry | None, Check | None]:
        from citewell.features.actions.verification import EntryId

        entry = EntryId(chosen.text("key"), chosen.number("start", 0)).find(bib)
        return entry, self.checking.of(bib, entry) if entry is not None else None


def _removal(bib: BibFile, projects: Sequence[Project], entry: BibEntry) -> ActionPlan | None:
    from pathlib import Path

    from citewell.features.action import ActionPlan
    from citewell.features.actions.verification import EntryId
    from citewell.usecases.entry_changes import citing_documents, removal_edits

    found = EntryId(entry.key, entry.start).find(bib)
    if found is None:
        return None
    documents = citing_documents(projects, bib, entry.key)
    texts = {path: document.text for path, document in documents.items()}
    return ActionPlan(
        edits=tuple(removal_edits(bib, [found], documents.values()).values()),
        texts={Path(bib.path): bib.text, **texts},
        label=f"Remove {entry.key}",
    )


def _edits(
    bib: BibFile, entry: BibEntry, check: Check, chosen: ChosenAction
) -> tuple[TextEdit, ...]:
    from citewell.features.actions.verification import edits_for
    from citewell.usecases.entry_changes import MARK, mark_edits

    if chosen.name == MARK:
        return mark_edits(bib, entry, check)
    return edits_for(bib, entry, check, chosen.name, chosen.text("code"))


def _plan(bib: BibFile, entry: BibEntry, edits: tuple[TextEdit, ...]) -> ActionPlan | None:
    from pathlib import Path

    from citewell.features.action import ActionPlan
    from citewell.model.bib import FileEdit

    if not edits:
        return None
    return ActionPlan(
        edits=(FileEdit(bib.path, edits),),
        texts={Path(bib.path): bib.text},
        label=f"Change {entry.key}",
    )
