"""Code actions on what a review found: cite the work of a name, or silence the finding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.memory import ReviewedFiles
from citewell.model.document import Diagnostic, Document, Span

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.lsp.documents.projects import Projects
    from citewell.lsp.requests.action_contract import ActionRequest, ChosenAction
    from citewell.model.bib import BibFile


class ReviewActions(Struct, frozen=True, eq=False):
    """Offers the fixes of the findings at a place, after `citewell.review`."""

    name = "review"
    kinds = ("quickfix",)

    buffers: Buffers
    reviewed: ReviewedFiles
    citing: CitationService

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """For each finding: cite there, if it is a name, and silence it."""
        reading = self.buffers.reading(request.uri)
        if not self.reviewed.generation or reading is None:
            return ()
        index, levels = reading[1].index, reading[0].options.diagnostics.severity
        source = (await _source(request.projects, request.uri))[1]
        if source is None:
            return ()
        from citewell.features.checking.lint_rule import shown_diagnostics

        place = index.span(request.range)
        return [
            action
            for one in shown_diagnostics(self.reviewed.of(source), source, levels)
            if one.span.start <= place.end and place.start <= one.span.end
            for action in _actions(one, source.text)
        ]

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits at the finding, wherever it stands now."""
        from citewell.features.action import ActionPlan
        from citewell.features.checking.lint_rule import silencing_edit
        from citewell.model.bib import FileEdit

        projects = chosen.projects
        snapshot, source = await _source(projects, chosen.uri, fresh=True)
        if source is None:
            return None
        at, wanted = chosen.number("start", 0), (chosen.text("code"), chosen.text("message"))
        found = [o for o in self.reviewed.of(source) if (o.code, o.message) == wanted]
        one = min(found, key=lambda o: abs(o.span.start - at), default=None)
        if one is None:
            return None
        if chosen.name == "cite":
            return None if snapshot is None else await self._cite(projects, snapshot, one)
        edit = silencing_edit(one, source)
        if edit is None:
            return None
        return ActionPlan(
            edits=(FileEdit(source.path, (edit,)),),
            texts={Path(source.path): source.text},
            label=f"Silence {one.code}",
        )

    async def _cite(
        self, projects: Projects, snapshot: Snapshot, one: Diagnostic
    ) -> ActionPlan | None:
        """A citation behind the name, with the entry of its work if there is none yet."""
        from citewell.features.actions.placeholder import PaperToCite, plan_cite

        key = one.data.get("key", "")
        work = None if key else await self.citing.find_work(one.data["work"])
        if not key and work is None:
            return None
        end = Span(one.span.end, one.span.end)
        paper = [PaperToCite(work, key)]
        state, document, options = snapshot.state, snapshot.document, snapshot.options
        found = await projects.read(
            partial(plan_cite, state.project, document, end, options, paper)
        )
        return found.plan


async def _source(
    projects: Projects, uri: str, *, fresh: bool = False
) -> tuple[Snapshot | None, Document | BibFile | None]:
    """The current version of an open manuscript, and its text or that of an open .bib."""
    opened = await projects.bib(uri)
    if opened is not None:
        return None, opened[0]
    snapshot = await projects.snapshot(uri, fresh=fresh)
    return snapshot, None if snapshot is None else snapshot.document


def _actions(one: Diagnostic, text: str) -> list[Action]:
    from citewell.features.action import QUICK_FIX, Action

    name = text[one.span.start : one.span.end]
    titles = {"silence": f"Silence {one.code} here by a comment"}
    if one.data.get("work"):
        titles = {"cite": f"Cite {one.data.get('key') or f'the work of {name}'} here", **titles}
    return [
        Action(
            title=title,
            kind=QUICK_FIX,
            name=action,
            arguments={"code": one.code, "message": one.message, "start": one.span.start},
            fixes=(one.code,),
            span=one.span,
            is_preferred=action == "cite",
        )
        for action, title in titles.items()
    ]
