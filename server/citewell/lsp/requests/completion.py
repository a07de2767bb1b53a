"""textDocument/completion and completionItem/resolve: papers for placeholders, keys for citations.

The shape of the items is the one that the filters of all editors let through: `filterText` is the
typed text itself, the list is incomplete (so that it is asked for again at the next letter), the
order is in `sortText`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types

from citewell.features.text.entry_state import is_invented
from citewell.lsp.documents.buffers import is_bibliography
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.client import ClientFlags
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import Handlers, Request
from citewell.lsp.registration.switches import Switches
from citewell.lsp.requests import citing
from citewell.lsp.requests.bib_completion import Values, complete_in_bib, complete_path
from citewell.lsp.requests.completion_row import row_of
from citewell.lsp.state.session import Session
from citewell.lsp.state.shown import Shown

if TYPE_CHECKING:
    from citewell.features.citing.completion import Candidate, Completion
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.lsp.protocol.open_document import OpenDocument

TRIGGERS = ("<", ">", "{", "}", ",", "@", "[", "]", "?", " ")
WINDOW = 700
"""Characters before the cursor in which a citation or placeholder must have begun."""

_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n")


def handlers(editor: Editor, session: Session, switches: Switches) -> Handlers:
    """Completion, and the resolution of an item."""
    values = Values()

    async def completion(params: types.CompletionParams) -> wire.Encoded | None:
        document = editor.open_document(params.text_document.uri)
        if document is None:
            return None
        await editor.configured()
        is_on = functools.partial(switches.is_on, uri=document.uri)
        path = session.buffers.path_of(document.uri)
        if path is not None and is_bibliography(document, path):
            if not is_on("complete_bib"):
                return None
            return await complete_in_bib(editor, session, values, document.uri, params.position)
        if is_on("complete_paths"):
            named = await complete_path(editor, session, document, params.position)
            if named is not None:
                return named
        marks = session.buffers.marks(document.uri)
        if not may_complete(document, params.position, marks):
            return None
        return await _complete(editor, session, switches, document, params.position)

    async def resolve(item: types.CompletionItem) -> types.CompletionItem:
        return await _resolve(editor, session, item)

    return (
        Request(
            types.TEXT_DOCUMENT_COMPLETION,
            completion,
            types.CompletionOptions(trigger_characters=list(TRIGGERS), resolve_provider=True),
            switches=("complete_keys", "complete_papers", "complete_bib", "complete_paths"),
        ),
        Request(types.COMPLETION_ITEM_RESOLVE, resolve),
    )


def may_complete(
    document: OpenDocument, position: types.Position, marks: Sequence[str] = ()
) -> bool:
    """False, at the cost of a glance, where no citation or placeholder can stand.

    The space is a trigger character, so that this is asked at every word of prose.
    """
    head = document.before(position, WINDOW)
    breaks = list(_PARAGRAPH.finditer(head))
    paragraph = head[breaks[-1].end() :] if breaks else head
    return any(mark in paragraph for mark in ("\\", "@", "[", "(", *marks))


async def _complete(
    editor: Editor,
    session: Session,
    switches: Switches,
    document: OpenDocument,
    position: types.Position,
) -> wire.Encoded | None:
    snapshot = await session.projects.snapshot(document.uri)
    if snapshot is None:
        return None
    cursor = snapshot.index.offset(position)
    keys = switches.is_on("complete_keys", document.uri)
    papers = switches.is_on("complete_papers", document.uri)
    found = await citing.complete(session, snapshot, cursor, keys=keys, papers=papers)
    if found is None:
        return None
    session.tell(found.problems)
    number = session.lists.remember(snapshot, found)
    place = msgspec.Raw(msgspec.json.encode(snapshot.index.wire_range(found.span)))
    shown = Shown(snapshot, found)
    items = [
        _item(editor.flags, shown, rank, number, place) for rank in range(len(found.candidates))
    ]
    return wire.Encoded(wire.CompletionList(True, items))


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
        filter_text=found.typed,
        text_edit=wire.TextEdit(place, candidate.text),
        insert_text_format=types.InsertTextFormat.PlainText,
        commit_characters=(),
        command=_command(shown.snapshot, found, candidate, number),
        data=wire.ListPlace(number, rank),
    )


def _command(
    snapshot: Snapshot, found: Completion, candidate: Candidate, number: int
) -> wire.Command | None:
    """What must happen after the text is in: the entry, and a tail that the editor left behind."""
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
    return wire.Command("Add to bibliography", "citewell.insert", [arguments])


async def _resolve(
    editor: Editor, session: Session, item: types.CompletionItem
) -> types.CompletionItem:
    from citewell.features.text.card import Known, entry_card, work_card

    data = item.data if isinstance(item.data, dict) else {}
    found = session.lists.recall(data.get("list"))
    rank = data.get("rank")
    if (
        found is None
        or not isinstance(rank, int)
        or not 0 <= rank < len(found.completion.candidates)
    ):
        return item
    candidate = found.completion.candidates[rank]
    if candidate.work is not None:
        entry = await citing.entry_text(session, found, candidate)
        card = work_card(candidate.work, evidence=candidate.evidence, entry=entry)
    elif candidate.entry is not None:
        card = entry_card(candidate.entry, candidate.bib, Known(check=candidate.check))
    else:
        return item
    markdown = editor.flags.markdown_documentation
    item.documentation = types.MarkupContent(
        kind=types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText, value=card
    )
    return item
