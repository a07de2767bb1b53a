"""`citewell.fetch`: many works of a source for the library, measured, confirmed, and cancellable.

`citewell.fetchSuggestions` says what a document cites and the library lacks, as such requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec import Struct

from citewell.lsp.commands.online import Consent
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.protocol.editor import Editor, arguments_of
from citewell.lsp.protocol.progress import Report, on_thread, step_on_thread, with_progress
from citewell.lsp.registration.registry import Command, Handlers
from citewell.model import CitewellError

if TYPE_CHECKING:
    from citewell.usecases.library_fetch import Fetched, FetchRequest, FetchSize

FETCH = "citewell.fetch"
SUGGESTIONS = "citewell.fetchSuggestions"
YES, NO = "Fetch", "Cancel"
_MAX_BUTTONS = 3
"""Suggestions among which an author without a picker chooses."""


class FetchArguments(Struct, frozen=True):
    """What an editor wants fetched."""

    words: str = ""
    """The request as on the command line; empty: the server asks."""
    uri: str = ""
    """Of the document whose missing works are suggested."""


def handlers(
    editor: Editor, buffers: Buffers, consent: Consent, *, forget_records: Callable[[], None]
) -> Handlers:
    """The commands that fetch works; `forget_records` is called once the library has new ones."""

    async def fetch(arguments: Any = None) -> dict[str, Any]:
        wanted = arguments_of(editor, FETCH, arguments or {}, FetchArguments)
        await editor.configured()
        if wanted is None or not await consent.given():
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

    return (Command(FETCH, fetch), Command(SUGGESTIONS, suggestions))


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
    if not words:
        path = buffers.path_of(wanted.uri) if wanted.uri else None
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
    if await editor.ask(types.MessageType.Info, question, (YES, NO)) != YES:
        return {"fetched": 0}

    async def job(report: Report) -> Fetched:
        return await on_thread(lambda show, stop: fetch(options, request, show, stop), report)

    done = await with_progress(editor, f"fetching from {request.source}", job)
    return _answer(editor, request, done, forget_records)


def _answer(
    editor: Editor,
    request: FetchRequest,
    done: Fetched | None,
    forget_records: Callable[[], None],
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
