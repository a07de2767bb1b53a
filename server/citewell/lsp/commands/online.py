"""Online actions of the editor, and the question before the first of them.

The answer is stored in the user's settings file, not in the editor: that file is the same for every
editor and the command line, and not part of a workspace, which travels with other people's
manuscripts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers, is_bibliography
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.progress import Report, step_on_thread, with_progress
from citewell.lsp.registry import Command, Handlers
from citewell.lsp.state.checking import ReferenceChecks
from citewell.model import CitewellError, Problem
from citewell.model.check import Verdict
from citewell.sources.registry import (
    allowed,
    consent_question,
    may_download,
    source_titles,
    suggested,
)

if TYPE_CHECKING:
    from citewell.features.checking.check import EntryBytes
    from citewell.model.check import Check

logger = logging.getLogger(__name__)

ALLOW = "citewell.allowSources"
CHECK_ONLINE = "citewell.checkOnline"
YES, NOT_NOW, NEVER = "Allow", "Not now", "Never"
BATCH = 8
"""Number of references in one request to the worker: sources are slow."""


def handlers(
    editor: Editor,
    buffers: Buffers,
    projects: Projects,
    consent: Consent,
    *,
    engine: WorkerEngine,
    checks: ReferenceChecks,
) -> Handlers:
    """The commands that query scholarly sources."""
    online = OnlineCheck(editor, buffers, projects, engine, checks)

    async def allow() -> dict[str, Any]:
        names = await consent.ask()
        return {"allowed": list(names)}

    async def check_online(uri: Any) -> dict[str, Any]:
        if not isinstance(uri, str):
            problem = Problem("command-arguments", f"`{CHECK_ONLINE}` takes the URI of a document.")
            editor.show_problems([problem], again=True)
            return {"checked": 0}
        await editor.configured()
        if not await consent.given():
            return {"checked": 0}
        return await online.run(uri)

    return (Command(ALLOW, allow), Command(CHECK_ONLINE, check_online))


class Consent:
    """The author's permission to query sources."""

    def __init__(self, editor: Editor, buffers: Buffers, reconfigure: Callable[[], None]) -> None:
        self._editor = editor
        self._buffers = buffers
        self._reconfigure = reconfigure
        self._question_put = False
        """Whether the question was asked in this session: "Not now" holds until the editor
        restarts."""
        self._asking = asyncio.Lock()

    async def given(self) -> bool:
        """True when sources are allowed, possibly after asking the question now."""
        async with self._asking:
            if self._names():
                return True
            options = self._buffers.workspace_options().sources
            if not options.ask or self._question_put:
                from citewell.engine.online import OFF

                self._editor.show_problems([OFF], again=True)
                return False
            return bool(await self._ask())

    async def given_to(self, source: str) -> bool:
        """True when one source is allowed, be it by the answer to the question put now."""
        async with self._asking:
            if not may_download(self._buffers.workspace_options().sources.allow, source):
                title = await self._editor.ask(
                    types.MessageType.Info, consent_question((source,)), (YES, NOT_NOW)
                )
                if title == YES:
                    self._remember({"allow": [*self._names(), source]})
            return may_download(self._buffers.workspace_options().sources.allow, source)

    async def ask(self) -> tuple[str, ...]:
        """Ask the question, even if it was asked before; return the allowed sources."""
        await self._editor.configured()
        async with self._asking:
            return await self._ask()

    async def _ask(self) -> tuple[str, ...]:
        offered = self._names() or suggested()
        self._question_put = True
        title = await self._editor.ask(
            types.MessageType.Info, consent_question(offered), (YES, NOT_NOW, NEVER)
        )
        if title == YES:
            self._remember({"allow": list(offered)})
        elif title == NEVER:
            self._remember({"allow": [], "ask": False})
        return self._names()

    def decline_offers(self, paper: str) -> None:
        """Never again offer to fetch the literature around a paper; with "", around any."""
        from citewell.usecases.library_fetch import NO_PAPER

        declined = self._buffers.workspace_options().sources.no_offer
        names = list(dict.fromkeys((*declined, paper or NO_PAPER)))
        self._write({"no_offer": names})

    def _remember(self, values: Mapping[str, Any]) -> None:
        if (path := self._write(values)) is not None:
            say = "are allowed now" if values["allow"] else "are not allowed"
            self._editor.inform(f"Scholarly sources {say}. Saved in {path}.")

    def _write(self, values: Mapping[str, Any]) -> Path | None:
        """Set values in the user's settings file; its path, or None where that failed."""
        from citewell.options.merge import remember, user_file_in_use

        settings = self._editor.settings
        path = user_file_in_use(settings.user_file)
        try:
            remember(path, "sources", values)
        except CitewellError as error:
            self._editor.show_problems([error.problem], again=True)
            return None
        settings.forget_files()
        self._reconfigure()
        return path

    def _names(self) -> tuple[str, ...]:
        return allowed(self._buffers.workspace_options().sources.allow)[0]


class OnlineCheck(Struct, frozen=True, eq=False):
    """The check of a document's references at scholarly sources. For the event loop."""

    editor: Editor
    buffers: Buffers
    projects: Projects
    engine: WorkerEngine
    checks: ReferenceChecks

    async def run(self, uri: str) -> dict[str, Any]:
        """Check the references; return their number and their verdicts."""
        from citewell.usecases.check import CheckTask

        questions = await self._questions(uri)
        if not questions:
            self.editor.inform("No references to check.")
            return {"checked": 0}
        answers: dict[bytes, Check] = {}

        async def job(report: Report) -> bool:
            claims = [one.claim for one in questions]
            task = CheckTask(self.engine, claims, online=True, size=BATCH)

            def progress(_stage: str, done: int, total: int) -> None:
                report(f"{done:,} of {total:,} references")

            try:
                async for checks in task.parts(step_on_thread, progress):
                    batch = questions[len(task.checks) - len(checks) :]
                    found = {one.digest: c for one, c in zip(batch, checks, strict=False)}
                    answers.update(found)
                    # A failed look-up leaves earlier results in place.
                    known = self.checks.answer
                    news = {d: c for d, c in found.items() if not _is_open(c) or known(d) is None}
                    if news and task.snapshot:
                        await self.checks.take(task.snapshot, news)
            except CitewellError as error:
                self.editor.show_problems([error.problem], again=True)
                return False
            self.editor.show_problems(
                tuple({one.code: one for one in task.problems}.values()), again=True
            )
            return True

        done = await with_progress(self.editor, "asking scholarly sources", job)
        if answers:
            self.editor.inform(_summary(list(answers.values()), complete=bool(done)))
        counts = Counter(check.verdict.value for check in answers.values())
        return {"checked": len(answers), "verdicts": dict(counts)}

    async def _questions(self, uri: str) -> list[EntryBytes]:
        """The references of a bibliography, or those that a paper cites; each once."""
        from citewell.documents.bib.reader import parse_bib
        from citewell.features.checking.check import question

        path = self.buffers.path_of(uri)
        document = self.editor.open_document(uri)
        if path is None or document is None:
            return []
        if is_bibliography(document, path):
            text = document.source
            bibs = [await self.projects.read(lambda: parse_bib(text, str(path)))]
            keys = None
        else:
            snapshot = await self.projects.snapshot(uri)
            if snapshot is None:
                return []
            bibs = list(snapshot.state.project.bibliographies)
            keys = set(snapshot.state.cited)

        def collect() -> list[EntryBytes]:
            found = (
                question(bib, entry)
                for bib in bibs
                for entry in bib.entries
                if keys is None or entry.key in keys
            )
            return list({one.digest: one for one in found if one is not None}.values())

        return await self.projects.read(collect)


def _is_open(check: Check) -> bool:
    return check.verdict is Verdict.UNCHECKED


def _summary(checks: Sequence[Check], *, complete: bool) -> str:
    from citewell.features.checking.check import tally
    from citewell.model.words import VERDICTS

    words = [
        f"{count} {VERDICTS[verdict].label}" for verdict, count in tally(checks).items() if count
    ]
    sources = source_titles(name for check in checks for name in check.sources)
    begin = "" if complete else "Stopped early. "
    origin = f" Answers came from {', '.join(sources)}." if sources else " No source answered."
    return f"{begin}{len(checks)} references: {', '.join(words)}.{origin}"
