"""Fetching works of a source for the library: measured, confirmed, cancellable; and the offer to
fetch the literature around a paper of which the library holds little.

`citewell.fetchSuggestions` says what a document cites and the library lacks, as such requests.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec import Struct

from citewell.lsp.commands.online import NEVER, NOT_NOW, Consent
from citewell.lsp.documents.buffers import Buffers, is_bibliography
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor, arguments_of
from citewell.lsp.protocol.progress import Report, on_thread, step_on_thread, with_progress
from citewell.lsp.registry import Command, Handlers
from citewell.lsp.state.checking import ReferenceChecks
from citewell.model import CitewellError
from citewell.model.check import Verdict

if TYPE_CHECKING:
    from citewell.model import Problem
    from citewell.usecases.library_fetch import Fetched, FetchRequest, FetchSize

FETCH = "citewell.fetch"
SUGGESTIONS = "citewell.fetchSuggestions"
DECLINE = "citewell.declineFetch"
FETCH_NOW, CANCEL = "Fetch", "Cancel"
FETCH_LITERATURE, NOT_FOR_THIS = "Fetch the Literature", "Not for This Paper"
_MAX_BUTTONS = 3
"""Suggestions among which an author without a picker chooses."""


class FetchArguments(Struct, frozen=True):
    """Arguments of `citewell.fetch`."""

    words: str = ""
    """The request as on the command line; empty: the server asks."""
    uri: str = ""
    """The document whose missing works are suggested."""
    paper: bool = False
    """Fetch the literature around the document of `uri`."""


def fetch_handlers(
    editor: Editor,
    buffers: Buffers,
    projects: Projects,
    consent: Consent,
    *,
    checks: ReferenceChecks,
    forget_records: Callable[[], None],
) -> Handlers:
    """The commands that fetch works; `forget_records` is called once the library has new ones."""

    async def fetch(arguments: Any = None) -> dict[str, Any]:
        from citewell.usecases.library_fetch import PLANNED_SOURCE

        wanted = arguments_of(editor, FETCH, arguments or {}, FetchArguments)
        await editor.configured()
        if wanted is None:
            return {"fetched": 0}
        given = consent.given_to(PLANNED_SOURCE) if wanted.paper else consent.given()
        if not await given:
            return {"fetched": 0}
        try:
            return await _fetch(editor, buffers, wanted, forget_records)
        except CitewellError as error:
            editor.show_problems([error.problem], again=True)
            return {"fetched": 0}

    async def suggestions(uri: Any) -> list[str]:
        await editor.configured()
        path = buffers.path_of(uri) if isinstance(uri, str) else None
        return [] if path is None else await _suggestions(editor, buffers, path)

    async def decline(uri: Any = "") -> None:
        path = await offer.paper_of(uri) if isinstance(uri, str) and uri else None
        consent.decline_offers("" if path is None else str(path))

    async def accept(uri: str) -> None:
        await fetch({"uri": uri, "paper": True})

    offer = LiteratureOffer(editor, buffers, projects, consent, checks=checks, accept=accept)
    return (Command(FETCH, fetch), Command(SUGGESTIONS, suggestions), Command(DECLINE, decline))


class LiteratureOffer:
    """Offers once for each paper to fetch the literature around it, when its references are checked
    and the library holds few of them. For the event loop."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        projects: Projects,
        consent: Consent,
        *,
        checks: ReferenceChecks,
        accept: Callable[[str], Awaitable[None]],
    ) -> None:
        self._editor, self._buffers, self._projects = editor, buffers, projects
        self._consent, self._checks, self._accept = consent, checks, accept
        self._offered: set[Path] = set()
        self._task: asyncio.Task[None] | None = None
        self._again = False
        """References were checked meanwhile."""
        checks.on_settled = self._settled

    async def paper_of(self, uri: str) -> Path | None:
        """The main file of the paper that a document is part of."""
        snapshot = await self._projects.snapshot(uri)
        return None if snapshot is None else snapshot.state.project.root

    def _settled(self) -> None:
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while self._again:
            self._again = False
            await self._consider()

    async def _consider(self) -> None:
        for path, opened in self._buffers.opened().items():
            document = self._editor.open_document(opened.uri)
            if document is None or is_bibliography(document, path):
                continue
            paper = await self.paper_of(opened.uri)
            if paper is not None and paper not in self._offered:
                problem = await self._offer_of(opened.uri, paper)
                if problem is not None:
                    self._offered.add(paper)
                    await self._put(opened.uri, paper, problem)

    async def _offer_of(self, uri: str, paper: Path) -> Problem | None:
        """The offer for a paper with references that are all checked."""
        from citewell.features.checking.check import question_digest
        from citewell.usecases.library_fetch import offer_of

        snapshot = await self._projects.snapshot(uri)
        if snapshot is None:
            return None
        cited = set(snapshot.state.cited)
        checks = [
            self._checks.of(bib, entry)
            for bib in snapshot.state.project.bibliographies
            for entry in bib.entries
            if entry.key in cited and question_digest(bib, entry) is not None
        ]
        known = [check for check in checks if check is not None]
        if len(known) < len(checks):
            return None
        held = sum(check.verdict is not Verdict.NOT_FOUND for check in known)
        return offer_of(paper, held, len(known), self._buffers.workspace_options())

    async def _put(self, uri: str, paper: Path, problem: Problem) -> None:
        if not self._editor.flags.takes_problems:
            self._editor.warn(problem)
            return
        buttons = (FETCH_LITERATURE, NOT_NOW, NOT_FOR_THIS, NEVER)
        title = await self._editor.ask(types.MessageType.Info, problem.message, buttons)
        if title == FETCH_LITERATURE:
            await self._accept(uri)
        elif title in (NOT_FOR_THIS, NEVER):
            self._consent.decline_offers(str(paper) if title == NOT_FOR_THIS else "")


async def _suggestions(editor: Editor, buffers: Buffers, path: Path) -> list[str]:
    from citewell.usecases.library_fetch import suggestions

    options = buffers.workspace_options()
    try:
        return await asyncio.to_thread(suggestions, options, path)
    except CitewellError as error:
        if error.problem.code != "library-missing":  # a first library is what a fetch may make
            editor.show_problems([error.problem], again=True)
        return []


async def _fetch(
    editor: Editor, buffers: Buffers, wanted: FetchArguments, forget_records: Callable[[], None]
) -> dict[str, Any]:
    from citewell.usecases.library_fetch import EXAMPLE, fetch, measure, request_of

    words = wanted.words.strip()
    path = buffers.path_of(wanted.uri) if wanted.uri else None
    if wanted.paper and path is not None:
        words = f"--for {shlex.quote(str(path))}"
    if not words:
        found = [] if path is None else await _suggestions(editor, buffers, path)
        if not found:
            editor.inform(f"Nothing to suggest. Say what to fetch, for example: {EXAMPLE}")
            return {"fetched": 0}
        question = "Which works shall be fetched for the library?"
        words = await editor.ask(types.MessageType.Info, question, found[:_MAX_BUTTONS]) or ""
        if not words:
            return {"fetched": 0}
    request = request_of(words)
    options = buffers.workspace_options()

    async def look(_: Report) -> FetchSize:
        return await step_on_thread(lambda cancel: measure(options, request, cancel))

    size = await with_progress(editor, f"measuring what {request.source} has", look)
    if size is None:
        return {"fetched": 0}
    question = f"{size.words}. Fetch them into the library {options.library.name}?"
    if await editor.ask(types.MessageType.Info, question, (FETCH_NOW, CANCEL)) != FETCH_NOW:
        return {"fetched": 0}

    async def job(report: Report) -> Fetched:
        return await on_thread(lambda show, stop: fetch(options, request, show, stop), report)

    done = await with_progress(editor, f"fetching from {request.source}", job)
    return _answer(editor, request, done, forget_records)


def _answer(
    editor: Editor, request: FetchRequest, done: Fetched | None, forget_records: Callable[[], None]
) -> dict[str, Any]:
    if done is None:
        editor.inform(
            "The fetch was cancelled. What was fetched is kept: fetch the same again to go on."
        )
        return {"fetched": 0, "cancelled": True}
    if done.problem is not None:
        editor.show_problems([done.problem], again=True)
    forget_records()
    editor.inform(
        f"{done.new:,} works fetched from {request.source}. The library has {done.works:,} papers."
    )
    return {"fetched": done.new, "works": done.works}
