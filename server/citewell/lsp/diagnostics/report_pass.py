"""The report of a file, as the connection asks for it: read on the reader thread, found on one that
gives way.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.state.checking import Checking

if TYPE_CHECKING:
    from citewell.lsp.diagnostics.builder import DiagnosticsBuilder, Subject, Wanted
    from citewell.lsp.diagnostics.wire import Report
    from citewell.lsp.documents.project_cache import ProjectCache
    from citewell.lsp.documents.project_state import Reading
    from citewell.lsp.protocol.line_index import LineIndex
    from citewell.options import Options


class DiagnosticsPass:
    """Makes reports of files that are open, and of those that are not. For the event loop."""

    def __init__(
        self,
        editor: Editor,
        buffers: Buffers,
        projects: Projects,
        checks: Checking,
        background: Executor,
    ) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects
        self._checks = checks
        self._background = background
        self._reports: DiagnosticsBuilder | None = None

    async def of_open(self, uri: str) -> tuple[Report, int | None] | None:
        """The report of the present version of an open document, and that version."""
        found = self._buffers.reading(uri)
        if found is None:
            return None
        reading, document = found
        wanted = self.wanted(reading.options)
        index, version = document.index, document.version
        await self._projects.read_ahead(reading)
        subject = await self._projects.look_up(lambda cache: _subject_of(cache, reading, index))
        document.share(subject.source.text)
        return await self._find(subject, wanted), version

    async def of_closed(
        self, reading: Reading, wanted: Wanted, paths: list[Path]
    ) -> list[Report | None]:
        """The reports of files that the editor does not show; None for one that is gone."""
        subjects = await self._projects.look_up(
            lambda cache: _closed_subjects(cache, reading, paths)
        )
        return [
            None if subject is None else await self._find(subject, wanted) for subject in subjects
        ]

    async def files(self, reading: Reading) -> list[Path]:
        """Every manuscript and every bibliography of the workspace."""
        return await self._projects.look_up(lambda cache: _files_of(cache, reading))

    def wanted(self, options: Options) -> Wanted:
        """What a report is made for now, with these settings."""
        from citewell.lsp.diagnostics.builder import Wanted

        flags = self._editor.flags
        return Wanted(
            options=options.diagnostics,
            features=options.features,
            encoding=self._editor.encoding,
            generation=self._checks.generation,
            check_of=self._checks.telling if self._checks.knows_any else None,
            tags=flags.diagnostic_tags,
            related=flags.related_information,
        )

    async def _find(self, subject: Subject, wanted: Wanted) -> Report:
        """On the thread that gives way: a hover needs the reader."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._background, lambda: self._finder().of(subject, wanted)
        )

    def _finder(self) -> DiagnosticsBuilder:
        """For the thread that finds."""
        from citewell.lsp.diagnostics.builder import DiagnosticsBuilder

        if self._reports is None:
            self._reports = DiagnosticsBuilder()
        return self._reports


def _subject_of(cache: ProjectCache, reading: Reading, index: LineIndex) -> Subject:
    from citewell.lsp.diagnostics.builder import subject_of

    return subject_of(cache, reading, index)


def _closed_subjects(
    cache: ProjectCache, reading: Reading, paths: list[Path]
) -> list[Subject | None]:
    from citewell.lsp.diagnostics.builder import closed_subjects

    return closed_subjects(cache, reading, paths)


def _files_of(cache: ProjectCache, reading: Reading) -> list[Path]:
    from citewell.lsp.diagnostics.builder import files_of

    return files_of(cache, reading)
