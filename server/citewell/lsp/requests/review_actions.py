"""Code actions on the findings of a review: cite a name, make a .bib consistent, silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.memory import ReviewedFiles
from citewell.model.document import Diagnostic, Document, Span

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.lsp.documents.projects import Projects
    from citewell.lsp.requests.action_contract import ActionRequest, ChosenAction
    from citewell.model.bib import BibFile, FileEdit


NAME = "review"
"""The name of the provider."""


class ReviewActions(Struct, frozen=True, eq=False):
    """Offers the fixes of the findings at a place, after `citewell.review`."""

    name = NAME
    kinds = ("quickfix",)

    buffers: Buffers
    reviewed: ReviewedFiles
    citing: CitationService

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The actions that `titles_of` names, for each finding at the place."""
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
            if one.span.end and one.span.start <= place.end and place.start <= one.span.end
            for action in _actions(one, source)
        ]

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits at the finding, wherever it stands now."""
        from citewell.features.action import ActionPlan
        from citewell.features.checking.lint_rule import silencing_edit
        from citewell.model.bib import FileEdit

        snapshot, source = await _source(chosen.projects, chosen.uri, fresh=True)
        if source is None:
            return None
        at, wanted = chosen.number("start", 0), (chosen.text("code"), chosen.text("message"))
        found = [o for o in self.reviewed.of(source) if (o.code, _message(o)) == wanted]
        one = min(found, key=lambda o: abs(o.span.start - at), default=None)
        if one is None:
            return None
        if chosen.name == "cite":
            return None if snapshot is None else await self._cite(chosen.projects, snapshot, one)
        if chosen.name == "consistent":
            edits = await _consistent(chosen, one.code)
        else:
            edit = silencing_edit(one, source)
            edits = [] if edit is None else [FileEdit(source.path, (edit,))]
        if not edits:
            return None
        return ActionPlan(
            edits=tuple(edits),
            texts={Path(source.path): source.text},
            label=titles_of(one, source)[chosen.name],
        )

    async def _cite(
        self, projects: Projects, snapshot: Snapshot, one: Diagnostic
    ) -> ActionPlan | None:
        """A citation behind the name, with the entry of its work if there is none yet."""
        from citewell.features.actions.placeholder import PaperToCite, plan_cite
        from citewell.lsp.requests.undefined_actions import query_at
        from citewell.lsp.state.memory import adds_entry, taken

        key = one.data.get("key", "")
        work = None if key else await self.citing.find_work(one.data["work"])
        if not key and work is None:
            return None
        end = Span(one.span.end, one.span.end)
        paper = [PaperToCite(work, key)]
        state, document, options = snapshot.state, snapshot.document, snapshot.options
        plan = (
            await projects.read(partial(plan_cite, state.project, document, end, options, paper))
        ).plan
        if work is None or not adds_entry(plan):
            return plan
        query = await projects.read(partial(query_at, state, document, one.span.start))
        return replace(plan, feedback=(taken(snapshot, work, query, through="action"),))


async def _source(
    projects: Projects, uri: str, *, fresh: bool = False
) -> tuple[Snapshot | None, Document | BibFile | None]:
    """The current version of an open manuscript, and its text or that of an open .bib."""
    opened = await projects.bib(uri)
    if opened is not None:
        return None, opened[0]
    snapshot = await projects.snapshot(uri, fresh=fresh)
    return snapshot, None if snapshot is None else snapshot.document


async def _consistent(chosen: ChosenAction, code: str) -> list[FileEdit]:
    """The edits that write one thing in one way in the whole .bib."""
    from citewell.usecases.review import consistent_edits

    workspace = await chosen.projects.workspace(chosen.uri)
    if workspace is None or (bib := workspace.linked.bib) is None:
        return []
    papers = workspace.linked.projects
    return await chosen.projects.read(lambda: consistent_edits(bib, papers, code.__eq__))


def titles_of(one: Diagnostic, source: Document | BibFile) -> Mapping[str, str]:
    """The titles of the actions on a finding by name, the best first."""
    from citewell.features.checking.lint_rule import silencing_edit

    found = {}
    if one.code == "name-uncited":
        name = source.text[one.span.start : one.span.end]
        found["cite"] = f"Cite {one.data.get('key') or f'the work of {name}'} here"
    if one.data.get("fix"):
        found["consistent"] = f"Fix {one.code} in the whole file"
    if silencing_edit(one, source) is not None:
        where = "here" if one.span.end else "in this file"
        found["silence"] = f"Silence {one.code} {where} by a comment"
    return found


def arguments_of(one: Diagnostic) -> Mapping[str, Any]:
    """The arguments of the actions on a finding, by which it is found again."""
    return {"code": one.code, "message": _message(one), "start": one.span.start}


def _message(one: Diagnostic) -> str:
    return " ".join(one.message.split())


def _actions(one: Diagnostic, source: Document | BibFile) -> list[Action]:
    from citewell.features.action import QUICK_FIX, Action

    return [
        Action(
            title=title,
            kind=QUICK_FIX,
            name=name,
            arguments=arguments_of(one),
            fixes=(one.code,),
            span=one.span,
            is_preferred=name == "cite",
        )
        for name, title in titles_of(one, source).items()
    ]
