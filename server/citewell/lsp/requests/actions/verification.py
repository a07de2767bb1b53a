"""Actions on an entry that was looked up: take what its record has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.requests.actions.contract import ActionRequest, Chosen

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.documents.buffers import Buffers
    from citewell.lsp.state.checking import Checking
    from citewell.model.bib import BibEntry, BibFile
    from citewell.model.check import Check


class VerificationActions(Struct, frozen=True, eq=False):
    """Corrects references by the records that they were compared with."""

    name = "verification"
    kinds = ("quickfix", "refactor.rewrite")

    checking: Checking
    buffers: Buffers

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """What can be done about the entry at the place; nothing while it is not looked up."""
        found = await request.projects.bib(request.uri) if request.is_bib else None
        reading = self.buffers.reading(request.uri)
        if found is None or reading is None:
            return ()
        bib, offset = found[0], reading[1].index.offset(request.range.start)

        def offered() -> list[Action]:
            from citewell.features.actions.verification import actions_on

            entry = next((e for e in bib.entries if e.start <= offset <= e.end), None)
            check = self.checking.of(bib, entry) if entry is not None else None
            if entry is None or check is None:
                return []
            here = request.codes()
            actions = actions_on(bib, entry, check)
            # What mends the place that was asked about comes first.
            return sorted(actions, key=lambda one: here.isdisjoint(one.fixes))

        return await request.projects.read(offered)

    async def plan(self, chosen: Chosen) -> ActionPlan | None:
        """The edits for the entry as it is now."""
        found = await chosen.projects.bib(chosen.uri)
        if found is None:
            return None
        bib = found[0]
        entry, check = await chosen.projects.read(lambda: self._known(bib, chosen))
        if entry is None or check is None:
            return None
        return await chosen.projects.read(lambda: _plan(bib, entry, check, chosen))

    def _known(self, bib: BibFile, chosen: Chosen) -> tuple[BibEntry | None, Check | None]:
        from citewell.features.actions.verification import Wanted

        entry = Wanted(chosen.text("key"), chosen.number("start", 0)).find(bib)
        return entry, self.checking.of(bib, entry) if entry is not None else None


def _plan(bib: BibFile, entry: BibEntry, check: Check, chosen: Chosen) -> ActionPlan | None:
    from pathlib import Path

    from citewell.features.action import ActionPlan
    from citewell.features.actions.verification import edits_for
    from citewell.model.bib import FileEdit

    edits = edits_for(bib, entry, check, chosen.name, chosen.text("code"))
    if not edits:
        return None
    return ActionPlan(
        edits=(FileEdit(bib.path, edits),),
        texts={Path(bib.path): bib.text},
        label=f"Correct {entry.key}",
    )
