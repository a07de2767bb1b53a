"""textDocument/inlayHint, codeLens and semanticTokens: what is shown in a document and a .bib."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from citewell.features.display.tokens import NAMES
from citewell.lsp.documents.buffers import Buffers, Locator
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import Encoded
from citewell.lsp.registry import Command, Handlers, Request
from citewell.lsp.state.checking import ReferenceChecks

if TYPE_CHECKING:
    from citewell.features.display.inlay import Hint
    from citewell.features.display.lens import Lens
    from citewell.lsp.documents.buffers import WorkspaceSnapshot
    from citewell.model.bib import BibEntry


def inlay_handlers(buffers: Buffers, projects: Projects, checks: ReferenceChecks) -> Handlers:
    """Hints for the part of a document that an editor shows."""

    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        found = await projects.read(lambda: _hints(checks, snapshot, params.range))
        buffers.refuse_outdated(snapshot)
        return found

    return (Request(types.TEXT_DOCUMENT_INLAY_HINT, inlay_hint),)


def _hints(
    checks: ReferenceChecks, snapshot: WorkspaceSnapshot, shown: types.Range
) -> list[types.InlayHint]:
    from citewell.features.display.inlay import citation_hints, entry_hints

    options, span = snapshot.options.inlay, snapshot.index.span(shown)
    found: list[Hint] = []
    if snapshot.linked.bib is not None:
        if options.verification:
            check_of = checks.answers.check_of(snapshot.linked.bib)
            found = entry_hints(snapshot.linked.bib, check_of, span)
    elif snapshot.linked.document is not None and options.citations:
        found = citation_hints(snapshot.linked.document, lambda key: _entry(snapshot, key), span)
    return [
        types.InlayHint(
            position=snapshot.index.position(hint.offset),
            label=hint.text,
            tooltip=hint.tooltip or None,
            padding_left=True,
        )
        for hint in found
    ]


def _entry(snapshot: WorkspaceSnapshot, key: str) -> BibEntry | None:
    place = snapshot.keys.definition(key)
    return place.entry if place is not None else None


# textDocument/codeLens: how often each entry of a .bib is cited, and where its record is from.

SHOW_USES = "citewell.showUses"


def lens_handlers(
    editor: Editor, buffers: Buffers, projects: Projects, checks: ReferenceChecks
) -> Handlers:
    """The lenses of a .bib, and the command that leads to the places that cite an entry."""
    visited: dict[str, int] = {}

    async def code_lens(params: types.CodeLensParams) -> wire.Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None or snapshot.linked.bib is None:
            return None
        found = await projects.read(lambda: _lenses(checks, snapshot))
        buffers.refuse_outdated(snapshot)
        return found

    async def show_uses(uri: Any, key: Any) -> wire.Encoded | None:
        """The places that cite a key; an editor that can is shown the next one at each call."""
        snapshot = await projects.workspace(str(uri))
        if snapshot is None:
            return None
        locator = Locator(snapshot)
        places = [
            locator.location(place.path, place.span)
            for place in snapshot.linked.all_keys.uses(str(key))
        ]
        if places and editor.flags.show_document:
            visited[str(key)] = number = visited.get(str(key), -1) + 1
            place = places[number % len(places)]
            start, end = place.range.start, place.range.end
            selection = types.Range(
                types.Position(start.line, start.character),
                types.Position(end.line, end.character),
            )
            await editor.show_document(place.uri, selection)
        return wire.Encoded(places)

    return (
        Request(
            types.TEXT_DOCUMENT_CODE_LENS, code_lens, types.CodeLensOptions(resolve_provider=False)
        ),
        Command(SHOW_USES, show_uses),
    )


def _lenses(checks: ReferenceChecks, snapshot: WorkspaceSnapshot) -> wire.Encoded:
    from citewell.features.display.lens import entry_lenses

    options, bib = snapshot.options.lens, snapshot.linked.bib
    assert bib is not None
    table = snapshot.linked.all_keys
    found = entry_lenses(
        bib,
        table.count,
        checks.answers.source_of(bib) if options.source else None,
        citations=options.citations,
    )
    places = snapshot.index.wire_ranges([lens.span for lens in found])
    return wire.Encoded(
        [
            wire.CodeLens(place, _command(lens, snapshot.uri))
            for lens, place in zip(found, places, strict=True)
        ]
    )


def _command(lens: Lens, uri: str) -> wire.LspCommand:
    if not lens.key:
        return wire.LspCommand(lens.title, "")
    return wire.LspCommand(lens.title, SHOW_USES, (uri, lens.key))


# textDocument/semanticTokens: the state of each key, whole, as a difference, or for a part.

LEGEND = types.SemanticTokensLegend(token_types=list(NAMES), token_modifiers=[])
MAX_KNOWN = 32
"""Documents whose last answer is kept, so that the next one can be a difference."""


def token_handlers(buffers: Buffers, projects: Projects) -> Handlers:
    """The tokens of a document: whole, as a difference, or for a part."""
    numbers = itertools.count(1)
    known: OrderedDict[str, tuple[str, list[int]]] = OrderedDict()

    def remember(uri: str, data: list[int]) -> str:
        number = str(next(numbers))
        known[uri] = (number, data)
        known.move_to_end(uri)
        while len(known) > MAX_KNOWN:
            known.popitem(last=False)
        return number

    async def compute(uri: str, shown: types.Range | None = None) -> list[int] | None:
        snapshot = await projects.workspace(uri)
        if snapshot is None:
            return None
        data = await projects.read(lambda: _data(snapshot, shown))
        buffers.refuse_outdated(snapshot)
        return data

    async def full(params: types.SemanticTokensParams) -> Encoded | None:
        data = await compute(params.text_document.uri)
        if data is None:
            return None
        return _whole(data, remember(params.text_document.uri, data))

    async def delta(
        params: types.SemanticTokensDeltaParams,
    ) -> Encoded | types.SemanticTokensDelta | None:
        from citewell.features.display.tokens import difference

        uri = params.text_document.uri
        data = await compute(uri)
        if data is None:
            return None
        before = known.get(uri)
        number = remember(uri, data)
        if before is None or before[0] != params.previous_result_id:
            return _whole(data, number)
        change = difference(before[1], data)
        edits = []
        if change is not None:
            start, gone, new = change
            edits = [types.SemanticTokensEdit(start=start, delete_count=gone, data=list(new))]
        return types.SemanticTokensDelta(edits=edits, result_id=number)

    async def part(params: types.SemanticTokensRangeParams) -> types.SemanticTokens | None:
        data = await compute(params.text_document.uri, params.range)
        return None if data is None else types.SemanticTokens(data=data)

    return (
        Request(
            types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, full, LEGEND, switches=("semantic-tokens",)
        ),
        Request(
            types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA,
            delta,
            LEGEND,
            switches=("semantic-tokens",),
            is_part=True,
        ),
        Request(
            types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE,
            part,
            LEGEND,
            switches=("semantic-tokens",),
            is_part=True,
        ),
    )


def _whole(data: list[int], number: str) -> Encoded:
    """A hundred thousand numbers, which the library would convert one by one."""
    return Encoded({"data": data, "resultId": number})


def _data(snapshot: WorkspaceSnapshot, shown: types.Range | None) -> list[int]:
    from citewell.features.display.tokens import bib_tokens, document_tokens, encode

    span = snapshot.index.span(shown) if shown is not None else None
    if snapshot.linked.bib is not None:
        table = snapshot.linked.all_keys
        every = table.nocite_all
        tokens = bib_tokens(snapshot.linked.bib, lambda key: every or table.count(key) > 0, span)
    elif snapshot.linked.document is not None:
        tokens = document_tokens(snapshot.linked.document, snapshot.keys.is_defined, span)
    else:
        tokens = []

    return encode(tokens, snapshot.index.places([token.span for token in tokens]))
