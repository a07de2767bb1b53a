"""Diagnostics, requested by the client (LSP 3.17) or sent to one that does not request them.

A client that requests them is asked to do so again when a change in one file, or an answer about a
reference, altered the diagnostics that it last received for another file.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor, Refresher
from citewell.lsp.protocol.wire import Encoded
from citewell.lsp.registry import Command, Handlers, Request
from citewell.lsp.state.checking import Entries, ReferenceChecks
from citewell.lsp.state.memory import ReviewedFiles
from citewell.lsp.state.report_wire import answer, as_json, gone, item, unchanged

if TYPE_CHECKING:
    from citewell.lsp.documents.project_state import DocumentInput
    from citewell.lsp.state.report_wire import Report
    from citewell.lsp.state.reports import DiagnosticsBuilder, ReportRequest, Subject
    from citewell.model.bib import BibFile
    from citewell.options import Options

# Diagnostics for a client that does not request them: only changes are sent.


class Publisher:
    """Sends diagnostics that differ from the last ones. For the event loop."""

    def __init__(self, editor: Editor, buffers: Buffers, reporter: DiagnosticsPass) -> None:
        self._editor = editor
        self._buffers = buffers
        self._reporter = reporter
        self._pushed: dict[str, str] = {}
        """Result id of the diagnostics sent last, by URI."""

    async def push(self, reports: Mapping[str, tuple[Report, int | None]]) -> None:
        """Send new diagnostics of open documents, and of the bibliographies that they cite from."""
        sent: set[str] = set()
        for uri, (report, version) in reports.items():
            document = self._editor.open_document(uri)
            if document is not None and document.version == version:
                self._publish(uri, report, version)
            sent.add(uri)
        opened = {self._buffers.path_of(uri) for uri in reports}
        closed = {
            path: None
            for report, _ in reports.values()
            for project in report.projects
            for path in project.bibs
            if path not in opened
        }
        if closed:
            reading = self._buffers.workspace_reading()
            wanted = self._reporter.wanted(reading.options)
            found = await self._reporter.of_closed(reading, wanted, list(closed))
            for path, one in zip(closed, found, strict=True):
                uri = from_fs_path(str(path)) or ""
                if one is not None and (uri in self._pushed or not one.is_empty):
                    self._publish(uri, one, None)
                    sent.add(uri)
        shown = {self._buffers.path_of(uri) for uri in sent}
        for uri in [uri for uri in self._pushed if uri not in sent]:
            del self._pushed[uri]
            # An editor may spell the URI of a file that it opens in another way.
            if self._buffers.path_of(uri) not in shown:
                self._send(uri, b"[]", None)

    def _publish(self, uri: str, report: Report, version: int | None) -> None:
        if self._pushed.get(uri) != report.result_id:
            self._pushed[uri] = report.result_id
            self._send(uri, report.items, version)

    def _send(self, uri: str, items: bytes, version: int | None) -> None:
        numbered = b"" if version is None else b'"version":%d,' % version
        self._editor.protocol.notify_encoded(
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
            b'{"uri":%s,%s"diagnostics":' % (as_json(uri), numbered),
            items,
            b"}",
        )


# Reports of files for the connection: read on the reader thread, computed on one that gives way.


class DiagnosticsPass:
    """Makes reports of open and closed files. For the event loop."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        projects: Projects,
        *,
        checks: ReferenceChecks,
        reviewed: ReviewedFiles,
        background: Executor,
    ) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects
        self._checks = checks
        self._reviewed = reviewed
        self._background = background
        self._reports: DiagnosticsBuilder | None = None

    async def of_open(self, uri: str) -> tuple[Report, int | None] | None:
        """The report of the current version of an open document, and that version."""
        from citewell.lsp.state.reports import subject_of

        found = self._buffers.reading(uri)
        if found is None:
            return None
        reading, document = found
        wanted = self.wanted(reading.options)
        index, version = document.index, document.version
        await self._projects.read_ahead(reading)
        subject = await self._projects.look_up(lambda cache: subject_of(cache, reading, index))
        document.share(subject.source.text)
        return await self._find(subject, wanted), version

    async def of_closed(
        self, reading: DocumentInput, wanted: ReportRequest, paths: list[Path]
    ) -> list[Report | None]:
        """The reports of files that the editor does not show; None for a missing one."""
        from citewell.lsp.state.reports import closed_subjects

        subjects = await self._projects.look_up(
            lambda cache: closed_subjects(cache, reading, paths)
        )
        return [
            None if subject is None else await self._find(subject, wanted) for subject in subjects
        ]

    async def files(self, reading: DocumentInput) -> list[Path]:
        """Every manuscript and every bibliography of the workspace."""
        from citewell.lsp.state.reports import files_of

        return await self._projects.look_up(lambda cache: files_of(cache, reading))

    def wanted(self, options: Options) -> ReportRequest:
        """The conditions of a report with these settings."""
        from citewell.lsp.state.reports import ReportRequest

        flags = self._editor.flags
        return ReportRequest(
            options=options.diagnostics,
            features=options.features,
            encoding=self._editor.encoding,
            generation=self._checks.generation + self._reviewed.generation,
            reviewed=self._reviewed,
            check_of=self._checks.telling if self._checks.knows_any else None,
            tags=flags.diagnostic_tags,
            related=flags.related_information,
        )

    async def _find(self, subject: Subject, wanted: ReportRequest) -> Report:
        """Compute a report on the thread that gives way: a hover needs the reader."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._background, lambda: self._finder().of(subject, wanted)
        )

    def _finder(self) -> DiagnosticsBuilder:
        """The builder, for the background thread."""
        from citewell.lsp.state.reports import DiagnosticsBuilder

        if self._reports is None:
            self._reports = DiagnosticsBuilder()
        return self._reports


logger = logging.getLogger(__name__)

CHECK = "citewell.check"
LONGEST_WAIT = 10
"""Maximum wait of a request while the author keeps typing, as a multiple of the delay."""
FILES = 250
"""Closed files per job of the reader thread, for which a hover may be waiting."""
REST = 4
"""Pause after a round, as a multiple of its duration, if there are only new checks: for a large
bibliography they keep arriving for a minute."""


def handlers(diagnostics: Diagnostics) -> Handlers:
    """The command that checks all references again."""

    async def check(uri: Any = None) -> dict[str, Any]:
        diagnostics.check_again()
        if isinstance(uri, str):
            await diagnostics.check_now(uri)
        return {"started": True}

    return (Command(CHECK, check),)


def pull_handlers(diagnostics: Diagnostics) -> tuple[Request, ...]:
    """The requests of a client that pulls diagnostics."""
    options = types.DiagnosticOptions(
        identifier="citewell", inter_file_dependencies=True, workspace_diagnostics=True
    )

    async def document(params: types.DocumentDiagnosticParams) -> Any:
        return await diagnostics.pull(params.text_document.uri, params.previous_result_id)

    async def workspace(params: types.WorkspaceDiagnosticParams) -> Any:
        known = {one.uri: one.value for one in params.previous_result_ids}
        return await diagnostics.pull_workspace(known)

    return (
        Request(types.TEXT_DOCUMENT_DIAGNOSTIC, document, options),
        Request(types.WORKSPACE_DIAGNOSTIC, workspace),
    )


class Diagnostics:
    """Tracks the client's diagnostics of each file, and updates them."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        projects: Projects,
        *,
        checks: ReferenceChecks,
        reviewed: ReviewedFiles,
        refresher: Refresher,
        background: Executor,
    ) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects
        self._checks = checks
        self._refresher = refresher
        self._given: dict[str, tuple[str, int | None]] = {}
        """Result id and version of the diagnostics that the client received last, by URI."""
        self._announced: dict[str, str] = {}
        """Result id of the newer diagnostics for which the client was asked to request again, by
        URI, until it does."""
        self._changed: dict[str, float] = {}
        self._last_change = 0.0
        self._delay_of = ""
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._rest_until = 0.0
        self._resting: asyncio.TimerHandle | None = None
        self._closing = False
        self._changes = 0
        self._workspace: tuple[object, dict[str, str]] = (None, {})
        """The state at the last request for the workspace, and the result ids returned, by URI."""
        self._levels: Mapping[str, str] = {}
        """The levels of the settings whose codes were last validated."""
        self._checks.on_news = self._news
        reviewed.on_news = lambda: self.touch("")
        buffers.watchers.append(self.touch)
        self._reporter = DiagnosticsPass(
            editor, buffers, projects, checks=checks, reviewed=reviewed, background=background
        )
        self._publisher = Publisher(editor, buffers, self._reporter)

    # -- life cycle -----------------------------------------------------------------------------

    def close(self) -> None:
        """Stop at the end of the connection."""
        self._closing = True
        self._checks.close()
        if self._task is not None:
            self._task.cancel()
        if self._resting is not None:
            self._resting.cancel()

    def touch(self, uri: str) -> None:
        """Handle a change of a document or, with "", of anything else."""
        if self._closing:
            return
        self._changes += 1
        self._last_change = asyncio.get_running_loop().time()
        if uri:
            self._changed[uri] = self._last_change
            self._delay_of = uri
            if self._editor.open_document(uri) is None:
                self._changed.pop(uri)
                self._given.pop(uri, None)
                self._announced.pop(uri, None)
        self._start()

    def _news(self) -> None:
        """Handle new checks. No text changed, so the typing delay does not apply."""
        if self._closing or self._resting is not None:
            return
        loop = asyncio.get_running_loop()
        wait = self._rest_until - loop.time()
        if wait > 0:
            self._resting = loop.call_later(wait, self._rested)
        else:
            self._rested()

    def _rested(self) -> None:
        self._resting = None
        if not self._closing:
            self._start()
            self._refresher.soon()

    def _start(self) -> None:
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._settle())

    async def _settle(self) -> None:
        loop = asyncio.get_running_loop()
        await self._editor.configured()
        while self._again:
            await self._quiet("")
            self._again = False
            begin = loop.time()
            try:
                await self._round()
            except Exception:
                logger.exception("The diagnostics could not be found")
            end = loop.time()
            self._rest_until = end + REST * (end - begin)

    async def _quiet(self, uri: str) -> None:
        """Wait until nothing has been typed (in this document) for the delay of the settings."""
        loop = asyncio.get_running_loop()
        delay = self._delay(uri or self._delay_of)
        limit = loop.time() + LONGEST_WAIT * delay
        while True:
            changed = self._changed.get(uri, 0.0) if uri else self._last_change
            wait = min(changed + delay, limit) - loop.time()
            if wait <= 0:
                return
            await asyncio.sleep(wait)

    def _delay(self, uri: str) -> float:
        return self._buffers.options_of(uri).diagnostics.delay_ms / 1000

    # -- checks -------------------------------------------------------------------------------

    def check_again(self) -> None:
        """Forget cancelled and failed look-ups, and repeat them."""
        self._checks.again()
        self.touch("")

    async def check_now(self, uri: str) -> None:
        """Check the references cited by a paper, or every entry of a .bib. Returns when all are
        known and, for a client that does not pull diagnostics, have been sent."""
        await self._editor.configured()
        found = await self._reporter.of_open(uri)
        if found is not None:
            await self._checks.consider(_subjects({uri: found}, True))
            await self._checks.settled()
        if not self._editor.flags.pull_diagnostics:
            await self._round()

    # -- pulled ---------------------------------------------------------------------------------

    async def pull(self, uri: str, previous: str | None) -> Encoded:
        """The answer to `textDocument/diagnostic`."""
        await self._editor.configured()
        await self._quiet(uri)
        found = await self._reporter.of_open(uri)
        if found is None:
            return Encoded(msgspec.Raw(b'{"kind":"full","items":[]}'))
        report, version = found
        self._gave(uri, report, version)
        return Encoded(msgspec.Raw(answer(report, previous)))

    def _gave(self, uri: str, report: Report, version: int | None) -> None:
        self._given[uri] = (report.result_id, version)
        self._announced.pop(uri, None)

    async def pull_workspace(self, previous: Mapping[str, str]) -> Encoded:
        """The answer to `workspace/diagnostic`; without hints for files that are not open."""
        await self._editor.configured()
        await self._quiet("")
        state = (self._changes, self._checks.generation)
        # A client asks every other second. If it reports changes on disk, files need no check.
        if self._editor.flags.watch_files and self._workspace == (state, dict(previous)):
            items = [unchanged(uri, value) for uri, value in previous.items()]
            return Encoded(msgspec.Raw(b'{"items":[%s]}' % b",".join(items)))
        given: dict[str, str] = {}
        before = {_path(uri): (uri, value) for uri, value in previous.items()}
        items = []
        reported: set[Path] = set()
        for uri in list(self._editor.documents.opened):
            path = self._buffers.path_of(uri)
            found = await self._reporter.of_open(uri)
            if found is not None and path is not None:
                reported.add(path)
                report, version = found
                self._gave(uri, report, version)
                given[uri] = report.result_id
                items.append(item(report, uri, version, before.get(path, ("", ""))[1]))
        reading = self._buffers.workspace_reading()
        wanted = self._reporter.wanted(reading.options)
        await self._projects.read_ahead(reading)
        files = await self._reporter.files(reading)
        files = [path for path in files if path not in reported]
        for start in range(0, len(files), FILES):
            part = files[start : start + FILES]
            for path, one in zip(
                part, await self._reporter.of_closed(reading, wanted, part), strict=True
            ):
                uri, known = before.get(path, (from_fs_path(str(path)) or "", ""))
                if one is not None and (known or not one.is_empty):
                    reported.add(path)
                    given[uri] = one.result_id
                    items.append(item(one, uri, None, known))
        for path, (uri, _) in before.items():
            if path not in reported and path not in files:
                items.append(gone(uri))
        self._workspace = (state, given)
        return Encoded(msgspec.Raw(b'{"items":[%s]}' % b",".join(items)))

    # -- pushed ---------------------------------------------------------------------------------

    async def _round(self) -> None:
        """Update the client, and start checks of unknown references."""
        reports: dict[str, tuple[Report, int | None]] = {}
        for uri in list(self._editor.documents.opened):
            try:
                found = await self._reporter.of_open(uri)
            except Exception:
                # A failure in one file must not affect the others.
                logger.exception("The diagnostics of %s could not be found", uri)
                continue
            if found is not None:
                reports[uri] = found
        if self._editor.flags.pull_diagnostics:
            await self._ask_to_ask(reports)
        else:
            await self._publisher.push(reports)
        options = self._buffers.workspace_options().diagnostics
        if options.severity != self._levels:
            from citewell.lsp.state.reports import wrong_codes

            self._levels = options.severity
            self._editor.show_problems(wrong_codes(options))
        if options.enabled and options.verification != "off":
            await self._checks.consider(_subjects(reports, options.verification == "all"))

    async def _ask_to_ask(self, reports: Mapping[str, tuple[Report, int | None]]) -> None:
        """Ask the client to pull again if its diagnostics of a current version are outdated."""
        stale = {
            uri: report.result_id
            for uri, (report, version) in reports.items()
            if (given := self._given.get(uri)) is not None
            and given[1] == version
            and given[0] != report.result_id
        }
        # One request is enough, however long the client takes to answer.
        if all(self._announced.get(uri) == result for uri, result in stale.items()):
            return
        self._announced |= stale
        await self._editor.refresh_diagnostics()


def _subjects(reports: Mapping[str, tuple[Report, int | None]], open_bibs: bool) -> list[Entries]:
    """The entries to check: those cited in open manuscripts, then the rest of open .bib files."""
    from citewell.model.bib import BibFile

    cited: dict[Path, tuple[BibFile, set[str]]] = {}
    whole: list[Entries] = []
    for report, _ in reports.values():
        source = report.source
        if isinstance(source, BibFile):
            if open_bibs:
                whole.append(Entries(source))
            continue
        keys = {use.key for citation in source.citations for use in citation.keys}
        for project in report.projects:
            for path, bib in project.bibs.items():
                cited.setdefault(path, (bib, set()))[1].update(keys & bib.by_key.keys())
    parts = [Entries(bib, frozenset(keys)) for bib, keys in cited.values() if keys]
    return [*parts, *whole]


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or uri)
