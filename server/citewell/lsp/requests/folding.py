"""textDocument/foldingRange of a .bib."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.line_index import LineIndex
from citewell.lsp.registration.registry import BIB_ONLY, Handlers, Request

if TYPE_CHECKING:
    from citewell.model.bib import BibFile


def handlers(editor: Editor, projects: Projects) -> Handlers:
    """The folds of a .bib."""

    async def folding_range(params: types.FoldingRangeParams) -> wire.Encoded | None:
        found = await projects.bib(params.text_document.uri)
        if found is None:
            return None
        bib, _ = found
        limit = editor.flags.folding_limit
        return await projects.read(lambda: _folds(bib, limit))

    return (
        Request(
            types.TEXT_DOCUMENT_FOLDING_RANGE,
            folding_range,
            switches=("folding",),
            formats=BIB_ONLY,
        ),
    )


def _folds(bib: BibFile, limit: int) -> wire.Encoded:
    """Folds of whole lines, the last line with them; entries first where there is a limit."""
    from citewell.features.navigation.folding import folds

    found = list(folds(bib))
    places = LineIndex(bib.text, "utf-32").places([fold.span for fold in found])
    lines = (
        (first, last, fold.is_comment)
        for fold, (first, _, last, _) in zip(found, places, strict=True)
        if last > first
    )
    return wire.Encoded(
        [
            wire.FoldingRange(first, last, "comment" if is_comment else None)
            for first, last, is_comment in sorted(islice(lines, limit or None))
        ]
    )
