"""textDocument/inlayHint, codeLens and semanticTokens: annotations in a document and a .bib."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types

from citewell.features.citing.completion import CheckOf, family_names, times
from citewell.lsp.documents.buffers import Buffers, Locator
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol import wire
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import Encoded
from citewell.lsp.registry import Command, Handlers, Request
from citewell.lsp.state.checking import ReferenceChecks
from citewell.model.bib import BibEntry, BibFile
from citewell.model.check import Verdict
from citewell.model.display_text import shorten
from citewell.model.document import Document, Span
from citewell.model.words import words_of

if TYPE_CHECKING:
    from citewell.lsp.documents.buffers import WorkspaceSnapshot

# Inlay hints: author and year beside a cited key, the check beside an entry.

MAX_HINTS = 2_000
"""Maximum number in one answer: a window shows a hundred lines."""
MAX_TEXT = 40


class Hint(msgspec.Struct, frozen=True):
    """A few words beside a place in a text, with a tooltip."""

    offset: int
    text: str
    tooltip: str = ""


def citation_hints(
    document: Document, find: Callable[[str], BibEntry | None], span: Span
) -> list[Hint]:
    """Hints with author and year after each cited key in a part of a document. Keys without an
    entry get none: a diagnostic reports them."""
    citations = document.citations
    first = bisect_left(citations, span.start, key=lambda citation: citation.span.end)
    found: list[Hint] = []
    for citation in citations[first:]:
        if citation.span.start > span.end or len(found) >= MAX_HINTS:
            break
        if citation.command.startswith("nocite"):
            continue
        for use in citation.keys:
            entry = find(use.key) if span.start <= use.span.end <= span.end else None
            if entry is not None and (text := author_year(entry)):
                found.append(Hint(use.span.end, text, entry.get("title")))
    return found


def author_year(entry: BibEntry) -> str:
    """ "Vaswani et al. 2017": from the entry alone, which takes a few microseconds."""
    names = tuple(author.family or author.given for author in entry.body.authors)
    who = family_names(names, " and ") or entry.get("editor").split(",")[0]
    who = shorten(who, MAX_TEXT, inside_words=True)
    return " ".join(part for part in (who, str(entry.body.year or "")) if part)


def entry_hints(bib: BibFile, check_of: CheckOf, span: Span) -> list[Hint]:
    """The known check of each entry in a part of a .bib, after its key, without waiting."""
    found: list[Hint] = []
    for entry in entries_within(bib, span):
        check = check_of(entry)
        if check is None or (check.verdict is Verdict.UNCHECKED and check.mark is None):
            continue
        shown = words_of(check)
        words = shown.label
        findings = [finding.message for finding in check.findings]
        if check.verdict is Verdict.WRONG_DETAIL and findings and check.mark is None:
            fields = dict.fromkeys(finding.field for finding in check.findings if finding.field)
            words = ", ".join(fields) or words
        end = entry.key_span.end
        comma = bib.text[end : end + 1] == ","
        found.append(
            Hint(end + comma, f"{shown.sign} {words}", "\n".join(findings or check.evidence))
        )
        if len(found) >= MAX_HINTS:
            break
    return found


def entries_within(bib: BibFile, span: Span) -> Iterator[BibEntry]:
    """The entries that overlap a part of the file, found by bisection."""
    entries = bib.entries
    first = max(0, bisect_right(entries, span.start, key=lambda entry: entry.start) - 1)
    for index in range(first, len(entries)):
        entry = entries[index]
        if entry.start > span.end:
            return
        if entry.end >= span.start:
            yield entry


# The state of each key as semantic tokens: defined, undefined, uncited, placeholder.

MAX_TOKENS = 50_000


class TokenKind(IntEnum):
    """Indices into `NAMES`."""

    DEFINED = 0
    UNDEFINED = 1
    PLACEHOLDER = 2
    UNUSED = 3


NAMES = ("citationDefined", "citationUndefined", "citationPlaceholder", "citationUnused")
"""The names of the kinds in a colour scheme."""


class Token(msgspec.Struct, frozen=True, array_like=True):
    """One key or placeholder, within one line."""

    span: Span
    kind: TokenKind


def document_tokens(
    document: Document, is_defined: Callable[[str], bool], span: Span | None = None
) -> list[Token]:
    """The keys and placeholders of a document, or of a part of it, in order."""
    part = span or Span(0, len(document.text))
    found: list[Token] = []
    citations = document.citations
    first = bisect_left(citations, part.start, key=lambda citation: citation.span.end)
    for citation in citations[first:]:
        if citation.span.start > part.end:
            break
        for use in citation.keys:
            known = use.key == "*" or is_defined(use.key)
            kind = TokenKind.DEFINED if known else TokenKind.UNDEFINED
            if use.span.start < part.end and use.span.end > part.start:
                found += _lines(document.text, use.span, kind)
    for placeholder in document.placeholders:
        if placeholder.span.start < part.end and placeholder.span.end > part.start:
            words = placeholder.query_span
            shown = words if words.start < words.end else placeholder.span
            found += _lines(document.text, shown, TokenKind.PLACEHOLDER)
    return _in_order(found)


def bib_tokens(
    bib: BibFile, is_cited: Callable[[str], bool], span: Span | None = None
) -> list[Token]:
    """The keys of a .bib, or of a part of it: cited by a document of the workspace, or not."""
    entries = bib.entries if span is None else entries_within(bib, span)
    found = [
        Token(entry.key_span, TokenKind.DEFINED if is_cited(entry.key) else TokenKind.UNUSED)
        for entry in entries
        if entry.key
    ]
    # The keys of a file are in order, without overlap.
    return found[:MAX_TOKENS]


def _lines(text: str, span: Span, kind: TokenKind) -> Iterator[Token]:
    """The tokens of a range, one for each line with words, since a token may not span lines."""
    start = span.start
    for line in text[span.start : span.end].splitlines(keepends=True):
        bare = line.strip()
        at = start + (line.index(bare) if bare else 0)
        if bare:
            yield Token(Span(at, at + len(bare)), kind)
        start += len(line)


def _in_order(tokens: list[Token]) -> list[Token]:
    """The tokens sorted, without overlap, and limited in number."""
    tokens.sort(key=lambda token: token.span)
    kept: list[Token] = []
    for token in tokens[:MAX_TOKENS]:
        if not kept or token.span.start >= kept[-1].span.end:
            kept.append(token)
    return kept


def encode(tokens: Sequence[Token], places: Iterable[tuple[int, int, int, int]]) -> list[int]:
    """The protocol's five numbers for each token; `places` are line and column of both ends."""
    data: list[int] = []
    line = column = 0
    for token, (at, start, _, end) in zip(tokens, places, strict=True):
        shift = start - column if at == line else start
        data += (at - line, shift, end - start, int(token.kind), 0)
        line, column = at, start
    return data


def difference(old: Sequence[int], new: Sequence[int]) -> tuple[int, int, Sequence[int]] | None:
    """The edit between the numbers of two answers: the index, the number to remove, the numbers to
    insert. None without a change."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    if head == len(old) == len(new):
        return None
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, len(old) - head - tail, new[head : len(new) - tail]


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


# textDocument/codeLens: the number of citations of each .bib entry, and the source of its record.

SHOW_USES = "citewell.showUses"


def lens_handlers(
    editor: Editor, buffers: Buffers, projects: Projects, checks: ReferenceChecks
) -> Handlers:
    """The lenses of a .bib, and the command that shows the citations of an entry."""
    visited: dict[str, int] = {}

    async def code_lens(params: types.CodeLensParams) -> wire.Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None or snapshot.linked.bib is None:
            return None
        found = await projects.read(lambda: _lenses(checks, snapshot))
        buffers.refuse_outdated(snapshot)
        return found

    async def show_uses(uri: Any, key: Any) -> wire.Encoded | None:
        """The places that cite a key; a capable editor jumps to the next one at each call."""
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
                types.Position(start.line, start.character), types.Position(end.line, end.character)
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


# textDocument/semanticTokens: the state of each key, in full, as a difference, or for a part.

LEGEND = types.SemanticTokensLegend(token_types=list(NAMES), token_modifiers=[])
MAX_KNOWN = 32
"""Number of documents with the last answer in memory, so that the next one can be a difference."""


def token_handlers(buffers: Buffers, projects: Projects) -> Handlers:
    """The tokens of a document: in full, as a difference, or for a part."""
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
    """Encode a hundred thousand numbers, which the library would convert one by one."""
    return Encoded({"data": data, "resultId": number})


def _data(snapshot: WorkspaceSnapshot, shown: types.Range | None) -> list[int]:
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


# The line above an entry of a .bib: its number of citations, and the record that agrees with it.

FEW_ENTRIES = 1_000
"""Number of entries above which uncited ones are not marked: most of them are."""


class Lens(msgspec.Struct, frozen=True):
    """One line above an entry."""

    span: Span
    """The entry's key."""
    title: str
    key: str = ""
    """The key whose uses a click shows; empty without any."""


def entry_lenses(
    bib: BibFile,
    count: Callable[[str], int],
    source_of: Callable[[BibEntry], str] | None = None,
    *,
    citations: bool = True,
) -> list[Lens]:
    """The lenses of a .bib in order. `count` returns the number of citations of a key, `source_of`
    the `source_line` of an entry."""
    few = len(bib.entries) <= FEW_ENTRIES
    found: list[Lens] = []
    for entry in bib.entries:
        if not entry.key or entry.type == "xdata":
            continue
        cited = count(entry.key) if citations else 0
        if cited:
            found.append(Lens(entry.key_span, f"cited {times(cited)}", entry.key))
        elif citations and few:
            found.append(Lens(entry.key_span, "not cited"))
        source = source_of(entry) if source_of is not None else ""
        if source:
            found.append(Lens(entry.key_span, source))
    return found
