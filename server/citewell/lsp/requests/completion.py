"""textDocument/completion and completionItem/resolve: papers for placeholders, keys for citations.

The items suit the filters of all editors: `filterText` begins with the typed text, the list is
incomplete (so that it is requested again at the next letter), and `sortText` gives the order.
Editors filter the displayed list by each letter until the new list arrives, and some close it
without a match: therefore key, authors and title follow the typed text.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.features.citing.completion import doubt, is_invented, where, who_and_when
from citewell.lsp.documents.buffers import Buffers, is_bibliography
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import ClientFlags, Editor
from citewell.lsp.registry import Handlers, Request, Switches
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.memory import Shown, ShownLists
from citewell.model import Query
from citewell.model.cancel import Cancel
from citewell.model.display_text import shorten
from citewell.model.document import Span
from citewell.model.fields import VENUE_FIELDS
from citewell.model.titles import fold, plain_title

if TYPE_CHECKING:
    from citewell.features.bib.complete import BibItem
    from citewell.features.citing.completion import Candidate, Completion
    from citewell.lsp.documents.buffers import Snapshot, WorkspaceSnapshot
    from citewell.lsp.documents.project_state import ProjectCache
    from citewell.lsp.protocol.open_document import OpenDocument
    from citewell.model.bib import BibFile

# Completion inside a .bib, and of the names of bibliographies inside a document.

LIBRARY_SECONDS = 0.3
MIN_LETTERS = 4
"""Minimum number of letters for a search of venues."""
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
    """The values of fields in bibliographies, counted once per version of a file."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[BibFile, Counter[str]]] = OrderedDict()

    def of(self, bib: BibFile, field: str) -> Counter[str]:
        """The number of occurrences of each value of a field."""
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
        """The list at a place in a .bib; None if nothing can be completed, or outside a .bib."""
        snapshot = await self._projects.workspace(uri)
        if snapshot is None or snapshot.linked.bib is None:
            return None
        # Imported here: earlier, the reader thread may be importing the packages that these need.
        from citewell.features.bib.complete import SiteKind, complete_bib, site_at

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
        """The bibliographies to complete at the place; None elsewhere."""
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
        """Every .bib of the workspace, and those beside a document outside it."""
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
        """Names of venues in the library with all the words."""
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


# One row of a completion list: authors and year, by which authors know a paper, then its title.
#
# An editor truncates what is too long. The text is therefore fitted to the narrowest default
# width of an editor with three columns (VS Code: 430 pixels).

WIDTH = 46
"""Maximum characters of all columns together, including the spaces between them."""
LEAST = 8
"""Minimum characters of authors, year and title that are shown."""


class CompletionColumns(msgspec.Struct, frozen=True):
    """The columns of a row."""

    label: str
    beside: str = ""
    """Text directly after the label, dimmed."""
    at: str = ""
    """Text at the right edge."""
    detail: str = ""
    """The whole title; in an editor without these columns, all text in one line."""


def row_of(candidate: Candidate, *, columns: bool) -> CompletionColumns:
    """The row of a candidate; `columns`: the editor shows more than a label.

    The author's own entry, in a .bib or in Zotero, is labelled by its key, which is never
    truncated. Any other paper is labelled by authors, year and title: its key does not exist yet,
    and is shown in the card beside the list.
    """
    from citewell.features.citing.insert import key_of

    # A list does not mark an entry that is merely missing from the library.
    invented = doubt(candidate.check) if is_invented(candidate.check) else ""
    at = invented or where(candidate)
    title = plain_title(candidate.title)
    line = " · ".join(part for part in (who_and_when(candidate), title) if part)
    if not columns:
        parts = (f"{invented}: {line}",) if invented else (line, at)
        return CompletionColumns(candidate.key, detail=" · ".join(part for part in parts if part))
    detail = f"{invented}: {title}" if invented else title
    if candidate.work is not None and not key_of(candidate.work.id) and line:
        return CompletionColumns(
            shorten(line, WIDTH - len(at) - 2, inside_words=True), at=at, detail=detail
        )
    room = WIDTH - len(candidate.key) - 1
    if room - len(at) - 2 >= LEAST:
        room -= len(at) + 2
    elif not invented:
        at = ""
    return CompletionColumns(
        candidate.key, shorten(line, room, inside_words=True) if room >= LEAST else "", at, detail
    )


TRIGGERS = ("<", ">", "{", "}", ",", "@", "[", "]", "?", " ")
FILTERED = 300
"""Maximum characters of a `filterText`: some editors match longer texts by a worse rule."""
WINDOW = 700
"""Characters before the cursor within which a citation or placeholder must have begun."""

_BEGUN = re.compile(r"(?<!\\)\\[A-Za-z]*[cC]it[A-Za-z]*\*?([<{]?)$")
"""A cite command that is being typed, from its third letter up to its brace."""
_LONGEST_COMMAND = 40
_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n")


def handlers(
    editor: Editor,
    buffers: Buffers,
    projects: Projects,
    *,
    engine: WorkerEngine,
    citing: CitationService,
    lists: ShownLists,
    switches: Switches,
) -> Handlers:
    """Completion, and the resolution of an item."""
    in_bib = BibCompletion(editor, buffers, projects, engine)
    in_documents = _Completion(editor, projects, citing, lists)

    preparing: set[asyncio.Task[None]] = set()

    def changed(uri: str) -> None:
        """Prepare the list of a place when its cite command is typed; forget it once the author
        types something else."""
        document = editor.open_document(uri)
        end = document.typed_to if document is not None else 0
        head = document.source[max(0, end - _LONGEST_COMMAND) : end] if document is not None else ""
        begun = _BEGUN.search(head)
        if begun is None or not switches.is_on("complete-papers", uri=uri):
            citing.prepared.stop()
            for task in preparing:
                task.cancel()
        elif not begun[1]:
            command = Span(end - len(begun[0]), end)
            task = asyncio.ensure_future(citing.prepare(uri, command))
            preparing.add(task)
            task.add_done_callback(preparing.discard)

    buffers.watchers.append(changed)

    async def completion(params: types.CompletionParams) -> wire.Encoded | None:
        document = editor.open_document(params.text_document.uri)
        if document is None:
            return None
        await editor.configured()
        is_on = functools.partial(switches.is_on, uri=document.uri)
        path = buffers.path_of(document.uri)
        if path is not None and is_bibliography(document, path):
            if not is_on("complete-bib"):
                return None
            return await in_bib.complete(document.uri, params.position)
        if is_on("complete-paths"):
            named = await in_bib.complete_path(document, params.position)
            if named is not None:
                return named
        marks = buffers.marks(document.uri)
        if not may_complete(document, params.position, marks):
            return None
        return await in_documents.complete(
            document.uri,
            params.position,
            keys=is_on("complete-keys"),
            papers=is_on("complete-papers"),
        )

    async def resolve(item: types.CompletionItem) -> types.CompletionItem:
        return await in_documents.resolve(item)

    return (
        Request(
            types.TEXT_DOCUMENT_COMPLETION,
            completion,
            types.CompletionOptions(trigger_characters=list(TRIGGERS), resolve_provider=True),
            switches=("complete-keys", "complete-papers", "complete-bib", "complete-paths"),
        ),
        Request(types.COMPLETION_ITEM_RESOLVE, resolve),
    )


def may_complete(
    document: OpenDocument, position: types.Position, marks: Sequence[str] = ()
) -> bool:
    """False, after a fast check, if there can be no citation or placeholder. The space is a trigger
    character, so that every word of prose causes a request."""
    head = document.before(position, WINDOW)
    breaks = list(_PARAGRAPH.finditer(head))
    paragraph = head[breaks[-1].end() :] if breaks else head
    return any(mark in paragraph for mark in ("\\", "@", "[", "(", *marks))


class _Completion(Struct, frozen=True, eq=False):
    """The list at a citation or placeholder, and the cards of its items."""

    editor: Editor
    projects: Projects
    citing: CitationService
    lists: ShownLists

    async def complete(
        self, uri: str, position: types.Position, *, keys: bool, papers: bool
    ) -> wire.Encoded | None:
        """The list at a place; None if nothing is to be cited there."""
        snapshot = await self.projects.snapshot(uri)
        if snapshot is None:
            return None
        cursor = snapshot.index.offset(position)
        found = await self.citing.complete(snapshot, cursor, keys=keys, papers=papers)
        if found is None:
            return None
        self.editor.show_problems(found.problems)
        number = self.lists.remember(snapshot, found)
        place = msgspec.Raw(msgspec.json.encode(snapshot.index.wire_range(found.span)))
        shown, flags = Shown(snapshot, found), self.editor.flags
        items = [_item(flags, shown, rank, number, place) for rank in range(len(found.candidates))]
        return wire.Encoded(wire.CompletionList(True, items))

    async def resolve(self, item: types.CompletionItem) -> types.CompletionItem:
        """The item with its card."""
        from citewell.features.citing.hover import EntryFacts, entry_card, work_card

        data = item.data if isinstance(item.data, dict) else {}
        found = self.lists.recall(data.get("list"))
        rank = data.get("rank")
        if (
            found is None
            or not isinstance(rank, int)
            or not 0 <= rank < len(found.completion.candidates)
        ):
            return item
        candidate = found.completion.candidates[rank]
        if candidate.work is not None:
            entry = await self.citing.entry_text(found, candidate)
            ids = [candidate.work.id]
            (cited,) = await asyncio.to_thread(self.citing.engine.citations, ids)
            card = work_card(
                candidate.work,
                evidence=candidate.evidence,
                typed=found.completion.typed,
                cited=cited,
                certainty=candidate.certainty,
                entry=entry,
            )
        elif candidate.entry is not None:
            card = entry_card(candidate.entry, candidate.bib, EntryFacts(check=candidate.check))
        else:
            return item
        markdown = self.editor.flags.markdown_documentation
        item.documentation = types.MarkupContent(
            kind=types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText, value=card
        )
        return item


def _item(
    flags: ClientFlags, shown: Shown, rank: int, number: int, place: msgspec.Raw
) -> wire.CompletionItem:
    found = shown.completion
    candidate = found.candidates[rank]
    row = row_of(candidate, columns=flags.label_details)
    details = None
    if flags.label_details:
        beside = f" {row.beside}" if row.beside else None
        details = wire.LabelDetails(beside, row.at or None)
    struck = is_invented(candidate.check) and flags.item_tags
    return wire.CompletionItem(
        label=row.label,
        label_details=details,
        kind=types.CompletionItemKind.Reference,
        detail=row.detail,
        tags=(types.CompletionItemTag.Deprecated,) if struck else None,
        sort_text=f"{rank:05d}",
        filter_text=_filter_text(found.typed, candidate),
        text_edit=wire.LspTextEdit(place, candidate.text),
        insert_text_format=types.InsertTextFormat.PlainText,
        commit_characters=(),
        command=_command(shown.snapshot, found, candidate, number),
        data=wire.ListPlace(number, rank),
    )


def _filter_text(typed: str, candidate: Candidate) -> str:
    names = f"{candidate.key} {fold(candidate.authors)} {fold(plain_title(candidate.title))}"
    return (f"{typed} {names}" if typed else names)[: max(len(typed), FILTERED)]


def _command(
    snapshot: Snapshot, found: Completion, candidate: Candidate, number: int
) -> wire.LspCommand | None:
    """The command to run after the insertion: it adds the entry, and removes a leftover tail."""
    if candidate.work is None and not found.tail:
        return None
    start = snapshot.index.position(found.span.start)
    end = snapshot.index.line_end(start.line)
    arguments: dict[str, object] = {
        "uri": snapshot.uri,
        "work": candidate.work.id if candidate.work is not None else "",
        "key": candidate.key,
        "line": start.line,
        "text": candidate.text,
        "typed": found.typed,
        "tail": found.tail,
        "rest": end - found.span.end,
        "list": number,
    }
    return wire.LspCommand("Add to bibliography", "citewell.insert", [arguments])
