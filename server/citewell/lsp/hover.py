"""textDocument/hover: the cited entry, or the papers that a placeholder asks for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp import citing
from citewell.lsp.editor import Editor
from citewell.lsp.registry import Handlers, Request
from citewell.lsp.session import Session
from citewell.lsp.switches import Switches

if TYPE_CHECKING:
    from citewell.documents.key_table import KeyPlace
    from citewell.features.hover import HoverCard
    from citewell.lsp.snapshot import Scope, Snapshot
    from citewell.model.bib import BibEntry
    from citewell.model.document import KeyUse, Span

PAPERS = 3


def handlers(editor: Editor, session: Session, switches: Switches) -> Handlers:
    """Hovers."""
    cards = HoverCards(editor, session, switches)

    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        snapshot = await session.projects.snapshot(uri)
        if snapshot is not None:
            index, card = (
                snapshot.index,
                await cards.in_document(snapshot, params.position),
            )
        else:
            scope = await session.projects.scope(uri)
            if scope is None:
                return None
            index, card = (
                scope.index,
                await cards.in_bib(scope, params.position),
            )
        if card is None:
            return None
        markdown = editor.flags.markdown_hover
        return types.Hover(
            contents=types.MarkupContent(
                kind=types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText,
                value=card.markdown if markdown else plain(card.markdown),
            ),
            range=index.range(card.span),
        )

    return (
        Request(types.TEXT_DOCUMENT_HOVER, hover, switches=("hover_keys", "hover_placeholders")),
    )


class HoverCards:
    """The card at a place."""

    def __init__(self, editor: Editor, session: Session, switches: Switches) -> None:
        self._editor = editor
        self._session = session
        self._switches = switches

    async def in_document(self, snapshot: Snapshot, position: types.Position) -> HoverCard | None:
        from citewell.features.hover import hover_missing, hover_placeholder, hovered_placeholder
        from citewell.features.site import key_at

        offset = snapshot.index.offset(position)
        placeholder = hovered_placeholder(snapshot.document, offset)
        if placeholder is not None:
            if not self._switches.is_on("hover_placeholders", snapshot.uri):
                return None
            query = await citing.make_query(self._session, snapshot, placeholder)
            result = await self._session.engine.find_async(query, PAPERS, tier="full")
            self._session.tell(result.problems)
            return hover_placeholder(placeholder, result.hits)
        found = key_at(snapshot.document, offset)
        if found is None or not self._switches.is_on("hover_keys", snapshot.uri):
            return None
        _, use = found
        scope = await self._session.projects.scope(snapshot.uri)
        place = scope.keys.definition(use.key) if scope is not None else None
        if scope is None or place is None or place.entry is None:
            shelved = await self._shelved_card(snapshot, use)
            return shelved or hover_missing(use)
        return await self._entry_card(scope, use.span, place.path, place.entry)

    async def _shelved_card(self, snapshot: Snapshot, use: KeyUse) -> HoverCard | None:
        """The card of a key that no .bib of the paper has, but the author's Zotero."""
        from citewell.features.card import Known
        from citewell.features.hover import hover_shelved

        zotero, cards = self._session.zotero, self._session.cards
        zotero.wake(use.key)
        library, entry = zotero.zotero_library, zotero.entry(use.key)
        if library is None or entry is None:
            return None
        options = snapshot.options.hover
        folders = (snapshot.path.parent, *self._editor.roots)
        reference = await cards.reference(library.bib, entry, options.style, folders)
        return hover_shelved(use.span, entry, Known(reference=reference, abstract=options.abstract))

    async def in_bib(self, scope: Scope, position: types.Position) -> HoverCard | None:
        """Over an entry's head its own card; over a key in a field that of the entry it names."""
        from citewell.documents.key_table import BibKeys

        if not self._switches.is_on("hover_keys", scope.uri):
            return None
        offset = scope.index.offset(position)
        place = scope.keys.at(scope.path, offset)
        if place is not None:
            target = scope.keys.definition(place.key)
            if target is not None and target.entry is not None:
                return await self._entry_card(scope, place.span, target.path, target.entry)
        keys = scope.keys.files.get(scope.path)
        entry = keys.entry_at(offset) if isinstance(keys, BibKeys) else None
        if entry is None or offset > entry.key_span.end:
            return None
        return await self._entry_card(scope, entry.key_span, scope.path, entry)

    async def _entry_card(self, scope: Scope, span: Span, path: Path, entry: BibEntry) -> HoverCard:
        from citewell.documents.key_table import BibKeys, PlaceKind
        from citewell.features.card import MAX_PLACES, Known
        from citewell.features.hover import hover_entry

        options, table = scope.options.hover, scope.circle.all_keys
        keys = table.files.get(path)
        bib = keys.source if isinstance(keys, BibKeys) else scope.circle.bib
        # Asked at once: the library answers while the reference is rendered.
        record = asyncio.ensure_future(self._session.cards.record(self._session.engine, entry))
        reference, check = "", None
        if bib is not None:
            folders = self._folders(scope)
            reference = await self._session.cards.reference(bib, entry, options.style, folders)
            check = self._session.checks.answers.check_of(bib)(entry)
        uses = [place for place in table.uses(entry.key) if place.kind is not PlaceKind.LINK]
        known = Known(
            reference=reference,
            record=await record,
            check=check,
            cited=len(uses),
            uses=tuple(_shown(scope, place) for place in uses[:MAX_PLACES]),
            abstract=options.abstract,
        )
        return hover_entry(span, entry, str(path), str(scope.path), known)

    def _folders(self, scope: Scope) -> tuple[Path, ...]:
        """Where a file that the settings name for a document may lie."""
        own = (scope.path.parent, *(project.root.parent for project in scope.circle.projects))
        return tuple(dict.fromkeys((*own, *self._editor.roots)))


def _shown(scope: Scope, place: KeyPlace) -> str:
    """ "main.tex:12"."""
    from citewell.features.hover import shown_path

    text = scope.circle.all_keys.files[place.path].source.text
    line = text.count("\n", 0, place.span.start) + 1
    return f"{shown_path(str(place.path), str(scope.path))}:{line}"


def plain(markdown: str) -> str:
    """The same card for a client that shows text as it is."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1 (\2)", markdown)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", text)
