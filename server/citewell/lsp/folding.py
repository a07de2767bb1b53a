"""textDocument/foldingRange of a .bib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp import wire
from citewell.lsp.places import Places

if TYPE_CHECKING:
    from citewell.lsp.server import Server
    from citewell.model.bib import BibFile


def register(server: Server) -> None:
    """Offer folds."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folding_range(params: types.FoldingRangeParams) -> wire.Encoded | None:
        found = await session.bib(params.text_document.uri)
        if found is None:
            return None
        bib, _ = found
        limit = server.flags.folding_limit
        return await session.read(lambda: _folds(bib, limit))


def _folds(bib: BibFile, limit: int) -> wire.Encoded:
    """Folds of whole lines, the last line with them; entries first where there is a limit."""
    from citewell.features.folding import bib_folds

    found = list(bib_folds(bib))[: limit or None]
    found.sort(key=lambda fold: fold.span)
    starts, ends = Places(bib.text, "utf-32"), Places(bib.text, "utf-32")
    folds = []
    for fold in found:
        first = starts.position(fold.span.start).line
        last = ends.position(fold.span.end).line
        if last > first:
            folds.append(wire.FoldingRange(first, last, "comment" if fold.is_comment else None))
    return wire.Encoded(folds)
