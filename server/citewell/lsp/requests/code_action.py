"""textDocument/codeAction and codeAction/resolve: all providers in parallel, edits on choice.

An action is shown before its edits are known. They are planned for the texts at the time of the
choice: at resolution, if the editor supports it, else by the command `citewell.act`, which writes
through the editor. A slow plan runs in the command, with progress.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers, is_bibliography
from citewell.lsp.documents.edit_applier import (
    EditApplier,
    FileVersions,
    StaleEditError,
    file_versions_of,
)
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor, arguments_of
from citewell.lsp.protocol.progress import Obstacles, with_progress
from citewell.lsp.registry import Command, Handlers, Request
from citewell.lsp.requests.action_contract import ActionProvider, ActionRequest, ChosenAction
from citewell.lsp.requests.bibliography_actions import (
    BibliographyActions,
    BibPathActions,
    VerificationActions,
)
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.requests.placeholder_actions import (
    PlaceholderActions,
    ShowProblems,
    SupportActions,
    UncitedActions,
)
from citewell.lsp.requests.review_actions import ReviewActions
from citewell.lsp.requests.undefined_actions import MissingEntriesActions, UndefinedKeyActions
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.memory import RETRIES, EditQueue, ReviewedFiles
from citewell.lsp.state.zotero import Zotero
from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.protocol.open_document import LineIndex

# The providers of code actions.

KINDS = ("quickfix", "refactor.rewrite", "source", "citewell.ask")
"""The kinds of actions announced by the server."""


def providers(
    buffers: Buffers,
    checks: ReferenceChecks,
    reviewed: ReviewedFiles,
    *,
    engine: WorkerEngine,
    zotero: Zotero,
    citing: CitationService,
    show_problems: ShowProblems,
) -> tuple[ActionProvider, ...]:
    """All providers, in the order in which their actions are shown."""
    return (
        UndefinedKeyActions(engine, zotero, citing),
        MissingEntriesActions(engine, zotero),
        BibPathActions(),
        PlaceholderActions(engine, checks, citing, show_problems),
        UncitedActions(engine, citing),
        VerificationActions(checks, buffers, engine),
        BibliographyActions(engine),
        SupportActions(engine),
        ReviewActions(buffers, reviewed, citing),
    )


# Filters of actions by kind, and the diagnostics that an action fixes.


def within(kind: str, wanted: Sequence[str]) -> bool:
    """True when an editor that requests these kinds accepts this one: "source" includes
    "source.sort"."""
    return any(kind == one or kind.startswith(f"{one}.") for one in wanted)


def may_hold(kind: str, wanted: Sequence[str]) -> bool:
    """True when a provider of a kind may have actions of the requested ones: "source" for
    "source.sort"."""
    return within(kind, wanted) or any(one.startswith(f"{kind}.") for one in wanted)


def fixes(action: Action, diagnostic: types.Diagnostic, index: LineIndex) -> bool:
    """True when an action fixes a diagnostic of Citewell."""
    if diagnostic.source != "citewell" or str(diagnostic.code) not in action.fixes:
        return False
    if action.span is None:
        return True
    shown = index.span(diagnostic.range)
    return shown.start <= action.span.end and action.span.start <= shown.end


logger = logging.getLogger(__name__)

ACT = "citewell.act"
ACTED = "citewell.acted"
WHOLE = {
    "citewell.fillPlaceholders": ("placeholder", "fill", "Fill placeholders"),
    "citewell.addMissingEntries": ("missing-entries", "add-all", "Add all missing entries"),
}
"""Commands on an open document: provider and name of the action, and its title."""
MAX_PLANS = 16
"""Number of resolved edits in memory until the editor confirms them."""


class ActArguments(msgspec.Struct, frozen=True):
    """The arguments of an action on its way through the editor."""

    uri: str
    provider: str
    name: str
    title: str = ""
    arguments: dict[str, str | int | bool] = msgspec.field(default_factory=dict)
    slow: bool = False
    asks: bool = False
    report: bool = False
    """Whether the answer has the result, without a message."""


def handlers(editor: Editor, buffers: Buffers, actions: CodeActions) -> Handlers:
    """The actions, and the commands that they run."""

    async def code_action(
        params: types.CodeActionParams,
    ) -> list[types.CodeAction | types.Command] | None:
        return await actions.offer(params)

    async def resolve(action: types.CodeAction) -> types.CodeAction:
        return await actions.resolve(action)

    async def act(arguments: Any) -> dict[str, Any]:
        wanted = arguments_of(editor, ACT, arguments, ActArguments)
        if wanted is None:
            return {"applied": False}
        return await actions.act(wanted)

    async def acted(number: Any) -> None:
        await actions.acted(number)

    return (
        Request(
            types.TEXT_DOCUMENT_CODE_ACTION,
            code_action,
            types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True),
            switches=("code-actions",),
        ),
        Request(types.CODE_ACTION_RESOLVE, resolve),
        Command(ACT, act),
        *(Command(name, _whole(editor, buffers, actions, name)) for name in WHOLE),
        Command(ACTED, acted),
    )


def _whole(
    editor: Editor, buffers: Buffers, actions: CodeActions, name: str
) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The handler of a command on an open document."""
    provider, action, title = WHOLE[name]

    async def whole(uri: Any = None) -> dict[str, Any]:
        path = buffers.path_of(uri) if isinstance(uri, str) else None
        document = editor.open_document(uri) if path is not None else None
        if path is None or document is None or is_bibliography(document, path):
            message = f"`{name}` needs the URI of an open LaTeX or Markdown document."
            editor.show_problems([Problem("command-arguments", message)], again=True)
            return {"applied": False}
        wanted = ActArguments(uri=uri, provider=provider, name=action, title=title, slow=True)
        return await actions.act(wanted)

    return whole


class CodeActions:
    """The providers, and the plans sent for resolution."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        projects: Projects,
        *,
        applier: EditApplier,
        edits: EditQueue,
        obstacles: Obstacles,
        offering: Sequence[ActionProvider],
    ) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects
        self._applier = applier
        self._edits = edits
        self._obstacles = obstacles
        self._providers = {provider.name: provider for provider in offering}
        self._plans: OrderedDict[int, tuple[ActionPlan, FileVersions]] = OrderedDict()
        self._sent = 0

    # -- the list -----------------------------------------------------------------------------

    async def offer(
        self, params: types.CodeActionParams
    ) -> list[types.CodeAction | types.Command] | None:
        """The actions at a range; None where there are none."""
        await self._editor.configured()
        uri = params.text_document.uri
        path = self._buffers.path_of(uri)
        document = self._editor.open_document(uri)
        if path is None or document is None:
            return None
        context = params.context
        only = [str(getattr(kind, "value", kind)) for kind in context.only or ()]
        request = ActionRequest(
            projects=self._projects,
            uri=uri,
            path=path,
            is_bib=is_bibliography(document, path),
            range=params.range,
            diagnostics=context.diagnostics,
            automatic=context.trigger_kind is types.CodeActionTriggerKind.Automatic,
            on_character=self._editor.flags.cursor_on_character,
            wants_source=bool(only) and all(within(kind, ["source"]) for kind in only),
        )
        wanted = [
            provider
            for provider in self._providers.values()
            if not only or any(may_hold(kind, only) for kind in provider.kinds)
        ]
        lists = await asyncio.gather(*(self._ask(provider, request) for provider in wanted))
        found = [
            self._shown(provider, action, request, document.index)
            for provider, offered in zip(wanted, lists, strict=True)
            for action in offered
            if not only or within(action.kind, only)
        ]
        return found or None

    @staticmethod
    async def _ask(provider: ActionProvider, request: ActionRequest) -> Sequence[Action]:
        """Request one provider, whose failure must not affect the actions of the others."""
        try:
            return await provider.offer(request)
        except Exception:
            logger.exception("The actions of %s failed", provider.name)
            return ()

    def _shown(
        self, provider: ActionProvider, action: Action, request: ActionRequest, index: LineIndex
    ) -> types.CodeAction | types.Command:
        flags = self._editor.flags
        wanted = ActArguments(
            uri=request.uri,
            provider=provider.name,
            name=action.name,
            title=action.title,
            arguments=dict(action.arguments),
            slow=action.slow,
            asks=action.asks,
        )
        data = msgspec.to_builtins(wanted)
        command = types.Command(title=action.title, command=ACT, arguments=[data])
        if not flags.action_literals:
            return command
        lazy = flags.resolve_edits and not action.slow
        return types.CodeAction(
            title=action.title,
            kind=action.kind,
            diagnostics=[d for d in request.diagnostics if fixes(action, d, index)] or None,
            is_preferred=action.is_preferred or None,
            command=None if lazy else command,
            data=data,
        )

    # -- chosen actions -----------------------------------------------------------------------

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """The action with its edits; unchanged if it runs as a command."""
        if action.command is not None or action.edit is not None:
            return action
        try:
            wanted = msgspec.convert(action.data, ActArguments)
        except msgspec.ValidationError:
            return action
        try:
            plan = await self._plan(wanted, lambda message: None)
            if plan is None or not plan.edits:
                return action
            await self._applier.check_meaning(plan.edits, plan.texts)
        except CitewellError as error:
            self._editor.show_problems([error.problem], again=True)
            return action
        creates = any(edit.create for edit in plan.edits) and not self._editor.flags.create_files
        if creates or self._applier.written(plan.edits):
            # Only a command can create or write the file first.
            action.command = types.Command(
                title=action.title, command=ACT, arguments=[msgspec.to_builtins(wanted)]
            )
            return action
        action.edit = self._applier.edit_of(plan.edits, plan.texts, plan.label)
        self._sent += 1
        self._plans[self._sent] = plan, file_versions_of(plan.edits)
        while len(self._plans) > MAX_PLANS:
            self._plans.popitem(last=False)
        action.command = types.Command(title=action.title, command=ACTED, arguments=[self._sent])
        return action

    async def acted(self, number: object) -> None:
        """Handle the confirmation that the editor made the edits of a resolved action."""
        found = self._plans.pop(number, None) if isinstance(number, int) else None
        if found is not None:
            plan, before = found
            self._applier.assume(plan.edits, plan.texts, before)
            await self._edits.learn(plan.feedback)

    async def act(self, wanted: ActArguments) -> dict[str, Any]:
        """Plan an action and apply its edits through the editor; `applied` in the result on
        success."""
        plan, applied = await self._act(wanted)
        if plan is not None and applied:
            await asyncio.shield(self._edits.learn(plan.feedback))
        return {"applied": applied, **(plan.report if plan is not None and wanted.report else {})}

    async def _act(self, wanted: ActArguments) -> tuple[ActionPlan | None, bool]:
        """The plan, and whether its edits were made."""
        if wanted.asks:
            try:
                return await self._planned(wanted), False
            except StaleEditError as error:
                self._editor.show_problems([error.problem], again=True)
                return None, False
        # Two actions must never be planned on the same texts.
        async with self._edits.lock:
            for tries_left in reversed(range(RETRIES)):
                try:
                    plan = await self._planned(wanted)
                    if plan is None or not plan.edits:
                        return plan, False
                    # A cancelled command must not leave a citation without its entry.
                    applying = self._applier.apply(plan.edits, plan.texts, plan.label)
                    return plan, await asyncio.shield(applying)
                except StaleEditError as error:
                    if not tries_left:
                        self._editor.show_problems([error.problem], again=True)
        return None, False

    async def _planned(self, wanted: ActArguments) -> ActionPlan | None:
        """The plan, with progress if it is slow."""
        if not wanted.slow:
            return await self._plan(wanted, lambda message: None)
        title = wanted.title or wanted.name
        return await with_progress(self._editor, title, lambda report: self._plan(wanted, report))

    async def _plan(self, wanted: ActArguments, report: Callable[[str], None]) -> ActionPlan | None:
        """The plan; None, with a message, if there is none. Raises `StaleEditError` if the author
        typed, or a file was replaced, meanwhile."""
        provider = self._providers.get(wanted.provider)
        if provider is None:
            return None
        chosen = ChosenAction(self._projects, wanted.uri, wanted.name, wanted.arguments, report)
        try:
            plan = await provider.plan(chosen)
        except CitewellError as error:
            self._editor.show_problems([error.problem], again=True)
            return None
        except Exception as error:
            logger.exception("The action %s failed", wanted.name)
            message = f"“{wanted.title or wanted.name}” failed: {error}."
            self._editor.show_problems(
                [Problem("action-failed", message, "Nothing was changed.")], again=True
            )
            return None
        if plan is None:
            message = f"“{wanted.title or wanted.name}” no longer applies here."
            problem = Problem("action-outdated", message, "Request the actions again.")
            self._editor.show_problems([problem], again=True)
            return None
        if stale := await self._projects.outdated(plan.texts):
            message = f"{stale[0].name} changed in the meantime; nothing was done."
            raise StaleEditError(Problem("action-outdated", message, "Request the actions again."))
        reported = "placeholders-left-open" if wanted.report else ""
        problems = [problem for problem in plan.problems if problem.code != reported]
        self._obstacles.show(problems, lambda: self.act(wanted))
        if plan.message:
            self._editor.inform(plan.message)
        return plan
