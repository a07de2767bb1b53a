"""The interface of providers of code actions, and their requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from lsprotocol import types
from msgspec import Struct

from citewell.lsp.state.memory import adds_entry, taken
from citewell.model.document import Span
from citewell.model.feedback import passed_over

if TYPE_CHECKING:
    from citewell.engine.contract import Engine
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.lsp.documents.projects import Projects
    from citewell.model import Query, Work

Report = Callable[[str], None]
"""Reports the steps of a long plan to the author."""


class ActionRequest(Struct, frozen=True, eq=False):
    """One request for actions."""

    projects: Projects
    uri: str
    path: Path
    is_bib: bool
    range: types.Range
    diagnostics: Sequence[types.Diagnostic]
    """The editor's diagnostics there; Citewell's have the source "citewell"."""
    automatic: bool
    """Whether the editor only decides whether to show a lamp: be quick."""
    on_character: bool = False
    """Whether an empty range is on a character, as in Neovim, not between two."""
    wants_source: bool = False
    """Whether the editor requests only source actions."""

    async def snapshot(self) -> Snapshot | None:
        """The current manuscript; None for a .bib."""
        return None if self.is_bib else await self.projects.snapshot(self.uri)

    def codes(self) -> frozenset[str]:
        """The codes of Citewell's diagnostics there."""
        return frozenset(str(d.code) for d in self.diagnostics if d.source == "citewell")


class ChosenAction(Struct, frozen=True, eq=False):
    """One chosen action, on the current texts."""

    projects: Projects
    uri: str
    name: str
    arguments: Mapping[str, Any]
    """From the editor, to be validated."""
    report: Report

    def text(self, key: str) -> str:
        """A text among the arguments; "" if it is missing or of another type."""
        value = self.arguments.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str, default: int = -1) -> int:
        """An integer among the arguments."""
        value = self.arguments.get(key)
        return value if isinstance(value, int) else default

    def span(self) -> Span:
        """The arguments `start` and `end`."""
        return Span(self.number("start", 0), self.number("end", 0))


class ActionProvider(Protocol):
    """Offers the actions of one subject and plans chosen ones. Stateless."""

    @property
    def name(self) -> str:
        """A stable name, which travels through the editor with each action."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its actions; it is skipped when the editor requests others."""
        ...

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The actions at a place, best first, without their edits."""
        ...

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits of an action for the current texts; None when its place is gone."""
        ...


# The plan of a code action with the feedback of the choice.


async def with_choice(
    plan: ActionPlan,
    chosen: ChosenAction,
    snapshot: Snapshot,
    work: Work | None,
    query: Query,
    *,
    engine: Engine,
    variant: str = "",
) -> ActionPlan:
    """The plan of a code action, with the feedback of choosing it if it adds the work's entry. The
    argument `above` holds the ids of the choices above this one."""
    if work is None or not adds_entry(plan):
        return plan
    ids = [name for name in chosen.text("above").split("\n") if name]
    above = await asyncio.to_thread(engine.works, ids) if ids else []
    dismissed = passed_over([*above, work], work.id)
    feedback = taken(snapshot, work, query, dismissed=dismissed, variant=variant, through="action")
    return msgspec.structs.replace(plan, feedback=(feedback,))
