"""textDocument/hover: the card of the cited entry, or the papers for a placeholder."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registry import Handlers, Request, Switches
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.memory import Cards
from citewell.lsp.state.zotero import Zotero

if TYPE_CHECKING:
    from citewell.documents.keys.table import KeyPlace
    from citewell.features.citing.hover import HoverCard
    from citewell.lsp.documents.buffers import Snapshot, WorkspaceSnapshot
    from citewell.model.bib import BibEntry
    from citewell.model.document import KeyUse, Span

PAPERS = 3


def handlers(editor: Editor, projects: Projects, cards: HoverCards) -> Handlers:
    """The card at a place."""

    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        snapshot = await projects.snapshot(uri)
        if snapshot is not None:
            index, card = (snapshot.index, await cards.in_document(snapshot, params.position))
        else:
            workspace = await projects.workspace(uri)
            if workspace is None:
                return None
            index, card = (workspace.index, await cards.in_bib(workspace, params.position))
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
        Request(types.TEXT_DOCUMENT_HOVER, hover, switches=("hover-keys", "hover-placeholders")),
    )


class HoverCards(Struct, frozen=True, eq=False):
    """The card at a place."""

    editor: Editor
    projects: Projects
    checks: ReferenceChecks
    engine: WorkerEngine
    cards: Cards
    citing: CitationService
    zotero: Zotero
    switches: Switches

    async def in_document(self, snapshot: Snapshot, position: types.Position) -> HoverCard | None:
        from citewell.features.citing.citation import key_at
        from citewell.features.citing.hover import (
            hover_item,
            hover_missing,
            hover_placeholder,
            hovered_placeholder,
        )

        offset = snapshot.index.offset(position)
        placeholder = hovered_placeholder(snapshot.document, offset)
        if placeholder is not None:
            if not self.switches.is_on("hover-placeholders", snapshot.uri):
                return None
            query = await self.citing.make_query(snapshot, placeholder)
            result = await self.engine.find_async(query, PAPERS, tier="full")
            self.editor.show_problems(result.problems)
            return hover_placeholder(placeholder, result.hits)
        found = key_at(snapshot.document, offset)
        if found is None or not self.switches.is_on("hover-keys", snapshot.uri):
            return None
        _, use = found
        workspace = await self.projects.workspace(snapshot.uri)
        place = workspace.keys.definition(use.key) if workspace is not None else None
        if workspace is None or place is None or place.entry is None:
            if workspace is not None and place is not None:
                return hover_item(use, _shown(workspace, place))
            shelved = await self._shelved_card(snapshot, use)
            return shelved or hover_missing(use)
        return await self._entry_card(workspace, use.span, place.path, place.entry)

    async def _shelved_card(self, snapshot: Snapshot, use: KeyUse) -> HoverCard | None:
        """The card of a key in the author's Zotero, but in no .bib of the paper."""
        from citewell.features.citing.hover import EntryFacts, hover_shelved

        zotero = self.zotero
        zotero.wake(use.key)
        library, entry = zotero.zotero_library, zotero.entry(use.key)
        if library is None or entry is None:
            return None
        options = snapshot.options.hover
        folders = (snapshot.path.parent, *self.editor.roots)
        reference = await self.cards.reference(library.bib, entry, options.style, folders)
        return hover_shelved(
            use.span, entry, EntryFacts(reference=reference, abstract=options.abstract)
        )

    async def in_bib(
        self, workspace: WorkspaceSnapshot, position: types.Position
    ) -> HoverCard | None:
        """The card of an entry for its head; for a key in a field, that of the named entry."""
        from citewell.documents.keys.table import BibKeys

        if not self.switches.is_on("hover-keys", workspace.uri):
            return None
        offset = workspace.index.offset(position)
        place = workspace.keys.at(workspace.path, offset)
        if place is not None:
            target = workspace.keys.definition(place.key)
            if target is not None and target.entry is not None:
                return await self._entry_card(workspace, place.span, target.path, target.entry)
        keys = workspace.keys.files.get(workspace.path)
        entry = keys.entry_at(offset) if isinstance(keys, BibKeys) else None
        if entry is None or offset > entry.key_span.end:
            return None
        return await self._entry_card(workspace, entry.key_span, workspace.path, entry)

    async def _entry_card(
        self, workspace: WorkspaceSnapshot, span: Span, path: Path, entry: BibEntry
    ) -> HoverCard:
        from citewell.documents.keys.table import BibKeys, PlaceKind
        from citewell.features.citing.hover import MAX_PLACES, EntryFacts, hover_entry

        options, table = workspace.options.hover, workspace.linked.all_keys
        keys = table.files.get(path)
        bib = keys.source if isinstance(keys, BibKeys) else workspace.linked.bib
        # Concurrent: the library answers while the reference is rendered.
        record = asyncio.ensure_future(self.cards.record(self.engine, entry))
        reference, check = "", None
        if bib is not None:
            folders = self._folders(workspace)
            reference = await self.cards.reference(bib, entry, options.style, folders)
            check = self.checks.answers.check_of(bib)(entry)
        uses = [
            place
            for key in table.spellings(entry.key)
            for place in table.uses(key)
            if place.kind is not PlaceKind.LINK
        ]
        known = EntryFacts(
            reference=reference,
            record=await record,
            check=check,
            cited=len(uses),
            uses=tuple(_shown(workspace, place) for place in uses[:MAX_PLACES]),
            abstract=options.abstract,
        )
        return hover_entry(span, entry, str(path), str(workspace.path), known)

    def _folders(self, workspace: WorkspaceSnapshot) -> tuple[Path, ...]:
        """The folders to look up a document's files from the settings."""
        own = (
            workspace.path.parent,
            *(project.root.parent for project in workspace.linked.projects),
        )
        return tuple(dict.fromkeys((*own, *self.editor.roots)))


def _shown(workspace: WorkspaceSnapshot, place: KeyPlace) -> str:
    """A place as text: "main.tex:12"."""
    from citewell.features.citing.hover import shown_path

    text = workspace.linked.all_keys.files[place.path].source.text
    line = text.count("\n", 0, place.span.start) + 1
    return f"{shown_path(str(place.path), str(workspace.path))}:{line}"


def plain(markdown: str) -> str:
    """The card as plain text, for a client without Markdown."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1 (\2)", markdown)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", text)
