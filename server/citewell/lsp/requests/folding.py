"""textDocument/foldingRange of a .bib."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.documents.positions import BodyPlaces, Positions, placed
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import BIB_ONLY, Handlers, Request

if TYPE_CHECKING:
    from citewell.features.navigation.folding import Fold
    from citewell.model.bib import BibFile
    from citewell.model.bib_body import BibBody


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


_Rows = tuple[tuple[int, int], ...]
"""First and last line of the folds in an entry, its own first, in lines from its beginning."""


def _folds(bib: BibFile, limit: int) -> wire.Encoded:
    """Folds of whole lines, the last line with them; entries first where there is a limit."""
    from citewell.features.navigation.folding import block_folds, comment_folds

    entries: list[_Lines] = []
    fields: list[_Lines] = []
    for entry, line, _ in placed(bib, "utf-32"):
        notes = entry.body.notes
        rows: _Rows | None = notes.get("folds")
        if rows is None:
            rows = notes["folds"] = _rows(entry.body)
        if rows:
            entries.append((line + rows[0][0], line + rows[0][1], False))
            fields += [(line + first, line + last, False) for first, last in rows[1:]]
    blocks = _lines(bib, block_folds(bib))
    comments = _lines(bib, comment_folds(bib))
    found = [*entries, *blocks, *fields, *comments][: limit or None]
    found = sorted(fold for fold in found if fold[1] > fold[0])
    return wire.Encoded(
        [
            wire.FoldingRange(first, last, "comment" if is_comment else None)
            for first, last, is_comment in found
        ]
    )


_Lines = tuple[int, int, bool]
"""First line, last line, whether it is a comment."""


def _lines(bib: BibFile, folds: Iterator[Fold]) -> list[_Lines]:
    places = Positions(bib.text, "utf-32")
    numbers = ((places.numbers(fold.span), fold.is_comment) for fold in folds)
    return [(first, last, is_comment) for (first, _, last, _), is_comment in numbers]


def _rows(body: BibBody) -> _Rows:
    from citewell.features.navigation.folding import body_folds

    places = BodyPlaces(body, "utf-32")
    inside = [places.inside(span.start, span.end) for span in body_folds(body)]
    return tuple((place.row, place.last_row) for place in inside)
