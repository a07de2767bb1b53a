"""Action on all cited keys of a paper that no .bib defines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.requests.actions.contract import ActionRequest, Chosen
from citewell.lsp.requests.actions.undefined import meaning_of, similar_to
from citewell.lsp.state import picker_history
from citewell.lsp.state.zotero import Zotero

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.features.actions.missing_entries import Missing, Settled
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.model.feedback import Feedback


class MissingEntriesActions(Struct, frozen=True, eq=False):
    """Gives every undefined key of a paper its entry, where it is certain what it means."""

    name = "missing-entries"
    kinds = ("quickfix", "source.addMissingEntries")

    engine: WorkerEngine
    zotero: Zotero

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """One action, where there are several such keys or the source as a whole is asked about."""
        from citewell.features.actions.missing_entries import missing_action, missing_keys
        from citewell.features.citing.site import key_at

        projects, snapshot = request.projects, await request.snapshot()
        if snapshot is None:
            return ()
        project = snapshot.state.project
        missing = await projects.read(lambda: missing_keys(project))
        if request.wants_source:
            return (missing_action(len(missing)),) if missing else ()
        found = key_at(snapshot.document, snapshot.index.offset(request.range.start))
        if found is None or len(missing) < 2 or found[1].key not in {one.key for one in missing}:
            return ()
        return (missing_action(len(missing), found[1]),)

    async def plan(self, chosen: Chosen) -> ActionPlan | None:
        """The entries, in one step."""
        from citewell.features.action import ActionPlan
        from citewell.features.actions.missing_entries import missing_keys, plan_missing

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        project = snapshot.state.project
        missing = await projects.read(lambda: missing_keys(project))
        if not missing:
            name = snapshot.path.name
            return ActionPlan(message=f"Every key that {name} and its paper cite has an entry.")
        found: list[Settled] = []
        feedback: dict[str, Feedback] = {}
        for number, one in enumerate(missing, 1):
            chosen.report(f"key {number} of {len(missing)}")
            settled, learned = await self._settle(chosen, snapshot, one)
            found.append(settled)
            if learned is not None:
                feedback[one.key] = learned
        plan = await projects.read(partial(plan_missing, project, found, snapshot.options))
        if not picker_history.adds_entry(plan):
            return plan
        return msgspec.structs.replace(plan, feedback=tuple(feedback.values()))

    async def _settle(
        self, chosen: Chosen, snapshot: Snapshot, one: Missing
    ) -> tuple[Settled, Feedback | None]:
        from citewell.features.actions.missing_entries import Settled
        from citewell.features.citing.key_meaning import read_key

        self.zotero.wake(one.key)
        if self.zotero.entry(one.key) is not None:
            bib = await self.zotero.fresh_entry(one.key)
            if bib is not None and bib.by_key.get(one.key) is not None:
                return Settled(one, copy_of=bib), None
        meaning = read_key(one.key)
        similar = await similar_to(chosen.projects, snapshot, meaning)
        if any(other.certain for other in similar):
            return Settled(one), None
        document = snapshot.state.project.documents[Path(one.document.path)]
        meant, query = await meaning_of(
            chosen.projects, self.engine, document, one.use, meaning=meaning, paper=snapshot.state
        )
        if meant.work is None or not meant.is_sure:
            return Settled(one), None
        feedback = picker_history.taken(snapshot, meant.work, query, through="action")
        return Settled(one, work=meant.work), feedback
