"""The report of a file, as the connection asks for it: read on the reader thread, found on one that
gives way.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.lsp.checking import Checking
    from citewell.lsp.diagnostics_builder import DiagnosticsBuilder, Report, Subject, Wanted
    from citewell.lsp.papers import Papers, Reading
    from citewell.lsp.server import Server
    from citewell.lsp.text import LineIndex
    from citewell.options import Options


class DiagnosticsPass:
    """Makes reports of files that are open, and of those that are not. For the event loop."""

    def __init__(self, server: Server, checking: Checking) -> None:
        self._server = server
        self._checking = checking
        self._reports: DiagnosticsBuilder | None = None

    async def of_open(self, uri: str) -> tuple[Report, int | None] | None:
        """The report of the present version of an open document, and that version."""
        session = self._server.session
        found = session.buffers.reading(uri)
        if found is None:
            return None
        reading, document = found
        wanted = self.wanted(reading.options)
        index, version = document.index, document.version
        await session.read_ahead(reading)
        subject = await session.read(lambda: _subject_of(session.papers(), reading, index))
        return await self._find(subject, wanted), version

    async def of_closed(
        self, reading: Reading, wanted: Wanted, paths: list[Path]
    ) -> list[Report | None]:
        """The reports of files that the editor does not show; None for one that is gone."""
        session = self._server.session
        subjects = await session.read(lambda: _closed_subjects(session.papers(), reading, paths))
        return [
            None if subject is None else await self._find(subject, wanted) for subject in subjects
        ]

    async def files(self, reading: Reading) -> list[Path]:
        """Every manuscript and every bibliography of the workspace."""
        session = self._server.session
        return await session.read(lambda: _files_of(session.papers(), reading))

    def wanted(self, options: Options) -> Wanted:
        """What a report is made for now, with these settings."""
        from citewell.lsp.diagnostics_builder import Wanted

        flags = self._server.flags
        return Wanted(
            options=options.diagnostics,
            features=options.features,
            encoding=self._server.session.encoding,
            generation=self._checking.generation,
            check_of=self._checking.telling if self._checking.knows_any else None,
            tags=flags.diagnostic_tags,
            related=flags.related_information,
        )

    async def _find(self, subject: Subject, wanted: Wanted) -> Report:
        """On the thread that gives way: a hover needs the reader."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._server.session.background, lambda: self._finder().of(subject, wanted)
        )

    def _finder(self) -> DiagnosticsBuilder:
        """For the thread that finds."""
        from citewell.lsp.diagnostics_builder import DiagnosticsBuilder

        if self._reports is None:
            self._reports = DiagnosticsBuilder()
        return self._reports


def _subject_of(papers: Papers, reading: Reading, index: LineIndex) -> Subject:
    from citewell.lsp.diagnostics_builder import subject_of

    return subject_of(papers, reading, index)


def _closed_subjects(papers: Papers, reading: Reading, paths: list[Path]) -> list[Subject | None]:
    from citewell.lsp.diagnostics_builder import closed_subjects

    return closed_subjects(papers, reading, paths)


def _files_of(papers: Papers, reading: Reading) -> list[Path]:
    from citewell.lsp.diagnostics_builder import files_of

    return files_of(papers, reading)
