"""A question about a citation: does the paper support the sentence? Answered, never diagnosed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.requests.actions.contract import ActionRequest, ChosenAction

if TYPE_CHECKING:
    from citewell.engine.worker_client import WorkerEngine
    from citewell.features.action import Action, ActionPlan
    from citewell.model import Problem


class SupportActions(Struct, frozen=True, eq=False):
    """Asks the language model about the citation at the cursor, where one is named."""

    name = "support"
    kinds = ("citewell.ask",)

    engine: WorkerEngine

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The question about the key at the place, if its entry is known."""
        if request.is_bib:
            return ()
        snapshot = await request.projects.snapshot(request.uri)
        if snapshot is None or snapshot.options.llm.provider == "none":
            return ()
        from citewell.features.checking.support import support_action

        offset = snapshot.index.offset(request.range.start)
        action = support_action(snapshot.document, offset, snapshot.options)
        if action is None:
            return ()
        entry = snapshot.state.project.entry(str(action.arguments["key"]))
        return () if entry is None else (action,)

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """No edits: what the model says of the sentence as it is now."""
        from citewell.features.action import ActionPlan
        from citewell.features.checking.support import (
            cited_sentence,
            find_record,
            in_words,
            readable_work,
            use_near,
            without_abstract,
        )

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        key, document = chosen.text("key"), snapshot.document
        use = use_near(document, chosen.number("start", 0), key)
        project = snapshot.state.project
        found = project.entry(key)
        cited = await projects.read(lambda: cited_sentence(document, use)) if use else None
        if cited is None or found is None:
            return None
        path, entry = found
        chosen.report("looking up the paper")
        record = await asyncio.to_thread(find_record, self.engine, entry)
        work = readable_work(project.bibs[path], entry, record)
        if not work.abstract:
            return _only_problem(without_abstract(key))
        chosen.report("asking the language model")
        supported = await self.engine.verify_async(cited.sentence, work)
        if supported.problem is not None:
            return _only_problem(supported.problem)
        return ActionPlan(message=in_words(key, work, supported))


def _only_problem(problem: Problem) -> ActionPlan:
    from citewell.features.action import ActionPlan

    return ActionPlan(problems=(problem,))
