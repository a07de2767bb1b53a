"""The plan of a code action with the feedback that choosing it gives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from citewell.lsp.requests.actions.contract import Chosen
from citewell.lsp.state.picker_history import adds_entry, taken
from citewell.model.feedback import passed_over

if TYPE_CHECKING:
    from citewell.engine.contract import Engine
    from citewell.features.action import ActionPlan
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.model import Query, Work


async def with_choice(
    plan: ActionPlan,
    chosen: Chosen,
    snapshot: Snapshot,
    work: Work | None,
    query: Query,
    *,
    engine: Engine,
    variant: str = "",
) -> ActionPlan:
    """The plan of a code action, with the feedback of choosing it if it adds the work's entry.

    The argument `above` holds the ids of the choices that were listed above this one.
    """
    if work is None or not adds_entry(plan):
        return plan
    ids = [name for name in chosen.text("above").split("\n") if name]
    above = await asyncio.to_thread(engine.works, ids) if ids else []
    dismissed = passed_over([*above, work], work.id)
    feedback = taken(snapshot, work, query, dismissed=dismissed, variant=variant, through="action")
    return msgspec.structs.replace(plan, feedback=(feedback,))
