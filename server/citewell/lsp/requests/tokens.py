"""textDocument/semanticTokens: the state of each key, whole, as a difference, or for a part."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.features.display.tokens import NAMES
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.wire import Encoded
from citewell.lsp.registration.registry import Handlers, Request

if TYPE_CHECKING:
    from citewell.lsp.documents.snapshot import WorkspaceSnapshot

LEGEND = types.SemanticTokensLegend(token_types=list(NAMES), token_modifiers=[])
MAX_KNOWN = 32
"""Documents whose last answer is kept, so that the next one can be a difference."""


def handlers(buffers: Buffers, projects: Projects) -> Handlers:
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
