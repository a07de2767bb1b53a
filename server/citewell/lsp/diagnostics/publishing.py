"""Diagnostics for a client that does not ask for them: what is new is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.diagnostics.wire import as_json
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.protocol.editor import Editor

if TYPE_CHECKING:
    from citewell.lsp.diagnostics.report_pass import DiagnosticsPass
    from citewell.lsp.diagnostics.wire import Report


class Publisher:
    """What was sent, and sends what differs. For the event loop."""

    def __init__(self, editor: Editor, buffers: Buffers, reporter: DiagnosticsPass) -> None:
        self._editor = editor
        self._buffers = buffers
        self._reporter = reporter
        self._pushed: dict[str, str] = {}
        """Result id of what the client was last sent, by URI."""

    async def push(self, reports: Mapping[str, tuple[Report, int | None]]) -> None:
        """Send what is new: of open documents, and of the bibliographies that they cite from."""
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
            # An editor may write the address of a file that it opens in another way than we did.
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
