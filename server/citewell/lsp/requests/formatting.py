"""textDocument/formatting and rangeFormatting of a .bib.

They are registered for .bib files only, where the client supports dynamic registration: as a
formatter of LaTeX or Markdown, Citewell would get in the way of real ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lsprotocol import types

from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registry import Request, Switches

logger = logging.getLogger(__name__)

_SELECTOR: list[types.TextDocumentFilterLanguage | types.TextDocumentFilterPattern] = [
    types.TextDocumentFilterLanguage(language="bibtex"),
    types.TextDocumentFilterLanguage(language="bib"),
    types.TextDocumentFilterPattern(pattern="**/*.bib"),
]


def handlers(editor: Editor, projects: Projects) -> tuple[Request, Request]:
    """Formatting of a whole file and of a range."""

    async def whole(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(editor, projects, params.text_document.uri, None)

    async def part(params: types.DocumentRangeFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(editor, projects, params.text_document.uri, params.range)

    return (
        Request(types.TEXT_DOCUMENT_FORMATTING, whole, switches=("formatting",), is_part=True),
        Request(types.TEXT_DOCUMENT_RANGE_FORMATTING, part, switches=("formatting",), is_part=True),
    )


class Formatter:
    """Registers formatting with a client that supports it dynamically. For the event loop."""

    def __init__(
        self,
        editor: Editor,
        switches: Switches,
        requests: Sequence[Request],
        add: Callable[[Request], None],
    ) -> None:
        """`add` is called with each request before the client may send it."""
        self._editor = editor
        self._switches = switches
        self._requests = requests
        self._add = add
        self._has_handlers = False
        self._is_registered = False

    def announce(self) -> None:
        """Offer to format whole files to a client without dynamic registration."""
        if not self._editor.flags.register_formatting:
            self._add(self._requests[0])

    async def update(self) -> None:
        """Register or unregister formatting, as the settings require. The handlers stay."""
        if not self._editor.flags.register_formatting:
            return
        if not self._has_handlers:
            for request in self._requests:
                self._add(request)
            self._has_handlers = True
        wanted = self._switches.is_on("formatting", "")
        if wanted is self._is_registered:
            return
        self._is_registered = wanted
        try:
            if wanted:
                await self._editor.register(_registrations())
            else:
                await self._editor.unregister(
                    [types.Unregistration(one.id, one.method) for one in _registrations()]
                )
        except Exception as error:
            logger.warning("The editor does not take the offer to format: %s", error)


def _registrations() -> list[types.Registration]:
    options = types.DocumentFormattingRegistrationOptions(document_selector=[*_SELECTOR])
    ranges = types.DocumentRangeFormattingRegistrationOptions(document_selector=[*_SELECTOR])
    return [
        types.Registration("citewell-formatting", types.TEXT_DOCUMENT_FORMATTING, options),
        types.Registration("citewell-range", types.TEXT_DOCUMENT_RANGE_FORMATTING, ranges),
    ]


async def _edits(
    editor: Editor, projects: Projects, uri: str, range_: types.Range | None
) -> list[types.TextEdit] | None:
    """The edits of an open .bib; None for any other file."""
    from citewell.features.bib.format import format_bib

    found = await projects.bib(uri)
    document = editor.open_document(uri)
    if found is None or document is None or document.version != found[1]:
        return None
    (bib, version), index = found, document.index
    within = None if range_ is None else index.span(range_)
    edits = await projects.read(lambda: format_bib(bib, within))
    if document.version != version:  # edits of a text that is gone
        return None
    return [types.TextEdit(index.range(edit.span), edit.text) for edit in edits]
