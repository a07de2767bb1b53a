"""The interface of a provider of code actions, and the requests that it answers."""

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
"""Shows the author what a long plan is doing."""


class ActionRequest(Struct, frozen=True, eq=False):
    """One request for actions."""

    projects: Projects
    uri: str
    path: Path
    is_bib: bool
    range: types.Range
    diagnostics: Sequence[types.Diagnostic]
    """Those that the editor shows there; ours carry the source "citewell"."""
    automatic: bool
    """True when the editor only wants to know whether to show a lamp: be quick."""
    on_character: bool = False
    """An empty range is on a character, as in Neovim, not between two."""
    wants_source: bool = False
    """True when the editor asks for nothing but actions on the source as a whole."""

    async def snapshot(self) -> Snapshot | None:
        """The manuscript as it is now; None for a .bib."""
        return None if self.is_bib else await self.projects.snapshot(self.uri)

    def codes(self) -> frozenset[str]:
        """The codes of our diagnostics there."""
        return frozenset(str(d.code) for d in self.diagnostics if d.source == "citewell")


class ChosenAction(Struct, frozen=True, eq=False):
    """One action that the author wants done, on the present texts."""

    projects: Projects
    uri: str
    name: str
    arguments: Mapping[str, Any]
    """As the editor sent it back: to be checked before use."""
    report: Report

    def text(self, key: str) -> str:
        """A text among the arguments; empty when it is missing or no text."""
        value = self.arguments.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str, default: int = -1) -> int:
        """A whole number among the arguments."""
        value = self.arguments.get(key)
        return value if isinstance(value, int) else default

    def span(self) -> Span:
        """The arguments `start` and `end`."""
        return Span(self.number("start", 0), self.number("end", 0))


class ActionProvider(Protocol):
    """Offers the actions of one subject and plans those that are chosen. Keeps no state."""

    @property
    def name(self) -> str:
        """Stable: travels through the editor with each action."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its actions, so that it is not asked when the editor wants others."""
        ...

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The actions at a place, best first, without their edits."""
        ...

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits of an action for the texts as they are now; None when its place is gone."""
        ...


# The plan of a code action with the feedback that choosing it gives.


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
