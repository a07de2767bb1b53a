"""The switches of `features`: what is offered in which document."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.protocol.editor import Editor
from citewell.model.document import Format
from citewell.model.flavours import LANGUAGES, format_of


class Switches:
    """What the author left on. For the event loop."""

    def __init__(self, editor: Editor, buffers: Buffers) -> None:
        self._editor = editor
        self._buffers = buffers

    def is_on(self, switch: str, uri: str) -> bool:
        """Whether something is offered in a document; "" stands for the workspace's .bib files."""
        from citewell.features.display.coexist import is_offered

        options = self._buffers.options_of(uri).features
        return is_offered(options, switch, self._kind(uri))

    def formats(self, switches: Iterable[str], among: Iterable[Format]) -> frozenset[Format]:
        """The kinds of files in which one of the switches is on, by the workspace's settings."""
        from citewell.features.display.coexist import is_offered

        options = self._buffers.workspace_options().features
        return frozenset(
            kind for kind in among if any(is_offered(options, one, kind) for one in switches)
        )

    def _kind(self, uri: str) -> Format:
        if not uri:
            return Format.BIBTEX
        path = self._buffers.path_of(uri)
        kind = format_of(path) if path is not None else None
        if kind is not None:
            return kind
        document = self._editor.open_document(uri)
        language = document.language_id if document is not None else None
        named = (kind for kind, names in LANGUAGES.items() if language in names)
        return next(named, Format.LATEX)
