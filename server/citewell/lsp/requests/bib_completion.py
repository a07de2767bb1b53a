"""Completion inside a .bib, and of the names of bibliographies inside a document."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.model import Query
from citewell.model.cancel import Cancel

if TYPE_CHECKING:
    from citewell.features.bib.complete import BibItem
    from citewell.lsp.documents.project_state import ProjectCache
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot
    from citewell.lsp.protocol.open_document import OpenDocument
    from citewell.model.bib import BibFile
    from citewell.model.document import Span

LIBRARY_SECONDS = 0.3
MIN_LETTERS = 4
"""Letters that must be typed before venues are searched."""
MAX_COUNTS = 64
_PLACE = re.compile(r"(?:bibliography|addbibresource|addglobalbib|addsectionbib)\b[^\n]*$|^\s*-\s")
_KINDS = {
    "type": types.CompletionItemKind.Class,
    "field": types.CompletionItemKind.Field,
    "value": types.CompletionItemKind.Value,
    "macro": types.CompletionItemKind.Constant,
    "key": types.CompletionItemKind.Reference,
    "file": types.CompletionItemKind.File,
}


class Values:
    """What the fields of bibliographies hold, counted once per version of a file."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[BibFile, Counter[str]]] = OrderedDict()

    def of(self, bib: BibFile, field: str) -> Counter[str]:
        """How often each value of a field occurs."""
        from citewell.features.bib.complete import count_values

        known = self._known.get((bib.path, field))
        if known is None or known[0] is not bib:
            known = (bib, count_values(bib, field))
        self._known[bib.path, field] = known
        self._known.move_to_end((bib.path, field))
        while len(self._known) > MAX_COUNTS:
            self._known.popitem(last=False)
        return known[1]


class BibCompletion:
    """Lists in a .bib, and of the .bib files that a document may name. For the event loop."""

    def __init__(
        self, editor: Editor, buffers: Buffers, projects: Projects, engine: WorkerEngine
    ) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects
        self._engine = engine
        self._values = Values()

    async def complete(self, uri: str, position: types.Position) -> wire.Encoded | None:
        """The list at a place in a .bib; None where nothing can be completed, or in no .bib."""
        snapshot = await self._projects.workspace(uri)
        if snapshot is None or snapshot.linked.bib is None:
            return None
        # Only now: before, the reader thread may be importing the packages that these need.
        from citewell.features.bib.complete import SiteKind, complete_bib, site_at
        from citewell.model.fields import VENUE_FIELDS

        bib = snapshot.linked.bib
        site = site_at(bib, snapshot.index.offset(position))
        if site is None:
            return None
        more: list[str] = []
        if site.kind is SiteKind.TEXT and site.field in VENUE_FIELDS:
            more = await self._venues(site.typed, site.field)
        bibs = [
            bib,
            *(keys.source for keys in snapshot.linked.all_keys.bibs if keys.path != snapshot.path),
        ]
        found = await self._projects.read(
            lambda: complete_bib(site, bibs, self._values.of, bib.text, more)
        )
        return _list(self._editor, snapshot, site.span, site.typed, found)

    async def complete_path(
        self, document: OpenDocument, position: types.Position
    ) -> wire.Encoded | None:
        """The bibliographies that can be named at the place; None at any other place."""
        line = document.before(position, 400).rpartition("\n")[2]
        if _PLACE.search(line) is None:
            return None
        snapshot = await self._projects.workspace(document.uri)
        if snapshot is None or snapshot.linked.document is None:
            return None
        from citewell.features.bib.complete import complete_paths, path_at

        manuscript = snapshot.linked.document
        cursor = snapshot.index.offset(position)
        found = path_at(manuscript, cursor)
        if found is None:
            return None
        place, with_suffix = found
        root = snapshot.linked.projects[0].root if snapshot.linked.projects else snapshot.path
        bibs = await self._bib_paths(snapshot)
        items = complete_paths(manuscript, place, with_suffix, root, bibs)
        return _list(self._editor, snapshot, place, manuscript.text[place.start : cursor], items)

    async def _bib_paths(self, snapshot: WorkspaceSnapshot) -> list[Path]:
        """Every .bib of the workspace, and those beside a document that is in none."""
        found = self._buffers.reading(snapshot.uri)
        if found is None:
            return []
        wanted, _ = found
        roots = [project.root.parent for project in snapshot.linked.projects]

        def look(cache: ProjectCache) -> list[Path]:
            known = [Path(bib.path) for bib in cache.workspace(wanted).bibs(wanted.texts)]
            beside = [path for folder in roots for path in sorted(folder.glob("*.bib"))]
            return list(dict.fromkeys((*beside, *known)))

        return await self._projects.look_up(look)

    async def _venues(self, typed: str, field: str) -> list[str]:
        """Names of venues in the library that hold all the words."""
        from citewell.model.titles import fold

        words = fold(typed).split()
        if sum(map(len, words)) < MIN_LETTERS:
            return []
        query = Query(text=typed, unfinished=True)
        result = await self._engine.find_async(query, 50, cancel=Cancel(LIBRARY_SECONDS))
        names: Counter[str] = Counter()
        for hit in result.hits:
            work = hit.work
            name = work.booktitle if field == "booktitle" else work.journal
            if name and all(word in fold(name) for word in words):
                names[name] += 1
        return [name for name, _ in names.most_common(20)]


def _list(
    editor: Editor, snapshot: WorkspaceSnapshot, span: Span, typed: str, found: Sequence[BibItem]
) -> wire.Encoded:
    place = msgspec.Raw(msgspec.json.encode(snapshot.index.wire_range(span)))
    snippets = editor.flags.snippets
    formats = types.InsertTextFormat
    items = [
        wire.CompletionItem(
            label=item.label,
            kind=_KINDS[item.kind.value],
            detail=item.detail or None,
            sort_text=f"{rank:05d}",
            filter_text=f"{typed} {item.label}" if typed else None,
            text_edit=wire.LspTextEdit(
                place, item.snippet if snippets and item.snippet else item.text
            ),
            insert_text_format=formats.Snippet if snippets and item.snippet else formats.PlainText,
        )
        for rank, item in enumerate(found)
    ]
    return wire.Encoded(wire.CompletionList(True, items))
