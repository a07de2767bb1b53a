"""The action at a bibliography that is not there: name the file that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.requests.actions.contract import ActionRequest, ChosenAction

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.features.actions.bib_path import MissingBib
    from citewell.lsp.documents.projects import Projects
    from citewell.lsp.documents.snapshot import Snapshot


class BibPathActions(Struct, frozen=True, eq=False):
    """Corrects the path of a bibliography."""

    name = "bib-path"
    kinds = ("quickfix",)

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The path of the only file of that name."""
        from citewell.features.actions.bib_path import bib_path_action

        snapshot = await request.snapshot()
        if snapshot is None:
            return ()
        start = snapshot.index.offset(request.range.start)
        end = snapshot.index.offset(request.range.end)
        found = await _missing(request.projects, snapshot)
        return [
            bib_path_action(one) for one in found if one.span.start <= end and start <= one.span.end
        ]

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edit in the declaration."""
        from citewell.features.actions.bib_path import plan_bib_path

        snapshot = await chosen.projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        start, target = chosen.number("start"), chosen.text("target")
        found = [one for one in await _missing(chosen.projects, snapshot) if one.target == target]
        one = min(found, key=lambda missing: abs(missing.span.start - start), default=None)
        return None if one is None else plan_bib_path(snapshot.document, one)


async def _missing(projects: Projects, snapshot: Snapshot) -> list[MissingBib]:
    from citewell.features.actions.bib_path import missing_bibs

    def look() -> list[MissingBib]:
        return list(missing_bibs(snapshot.state.project, snapshot.document))

    return await projects.read(look)
