"""Actions on a sentence that relies on other work without a citation: cite a likely paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.requests.actions.contract import ActionRequest, ChosenAction, with_choice
from citewell.lsp.requests.citing import CitationService

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan

LEAST = 0.15
"""Probability below which no paper is offered."""


class UncitedActions(Struct, frozen=True, eq=False):
    """Offers a citation for the sentence at the cursor, and for no other."""

    name = "uncited"
    kinds = ("refactor.rewrite",)

    engine: WorkerEngine
    citing: CitationService

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The best papers for the sentence at the cursor, if it wants a citation."""
        from citewell.features.actions import placeholder as feature
        from citewell.features.checking.uncited import uncited_at
        from citewell.features.citing.confidence import confidence_of

        projects, snapshot = request.projects, await request.snapshot()
        if snapshot is None or (request.automatic and not self.engine.begun):
            return ()
        offset = snapshot.index.offset(request.range.start)
        found = await projects.read(lambda: uncited_at(snapshot.document, offset))
        if found is None:
            return ()
        query = await self.citing.make_query(snapshot, found.placeholder)
        result = await self.engine.find_async(query, feature.SHOWN)
        if confidence_of(query, result.hits) < LEAST:
            return ()
        find_work = snapshot.state.find_work
        choices = await projects.read(
            lambda: feature.choices_at(found.placeholder, (), result.hits, find_work)
        )
        return feature.sentence_actions(found.at, found.sentence, choices, result.variant)

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The citation before the full stop, with the entry of its paper."""
        from citewell.features.actions import placeholder as feature
        from citewell.features.checking.uncited import uncited_at

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        at = chosen.number("at", 0)
        found = await projects.read(lambda: uncited_at(snapshot.document, at))
        if found is None or found.sentence[:200] != chosen.text("sentence"):
            return None
        work, key = None, chosen.text("key")
        if not key:
            work = await self.citing.find_work(chosen.text("work"))
            if work is None:
                return None
        query = await self.citing.make_query(snapshot, found.placeholder)
        plan = await projects.read(
            partial(
                feature.plan_citation,
                snapshot.state.project,
                snapshot.document,
                found.placeholder,
                snapshot.options,
                work=work,
                key=key,
            )
        )
        return await with_choice(
            plan, chosen, snapshot, work, query, engine=self.engine, variant=chosen.text("variant")
        )
