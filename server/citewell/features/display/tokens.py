"""The state of each key as semantic tokens: defined, undefined, not cited, still wanted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum

import msgspec

from citewell.features.display.inlay import entries_within
from citewell.model.bib import BibFile
from citewell.model.document import Document, Span

MAX_TOKENS = 50_000


class TokenKind(IntEnum):
    """Indices into `NAMES`."""

    DEFINED = 0
    UNDEFINED = 1
    PLACEHOLDER = 2
    UNUSED = 3


NAMES = ("citationDefined", "citationUndefined", "citationPlaceholder", "citationUnused")
"""The names under which a colour scheme finds the kinds."""


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
    # The keys of a file are in order, and do not overlap.
    return found[:MAX_TOKENS]


def _lines(text: str, span: Span, kind: TokenKind) -> Iterator[Token]:
    """A token may not span lines: one for each line that a range has words on."""
    start = span.start
    for line in text[span.start : span.end].splitlines(keepends=True):
        bare = line.strip()
        at = start + (line.index(bare) if bare else 0)
        if bare:
            yield Token(Span(at, at + len(bare)), kind)
        start += len(line)


def _in_order(tokens: list[Token]) -> list[Token]:
    """Sorted, the overlapping ones left out, and not too many."""
    tokens.sort(key=lambda token: token.span)
    kept: list[Token] = []
    for token in tokens[:MAX_TOKENS]:
        if not kept or token.span.start >= kept[-1].span.end:
            kept.append(token)
    return kept


def encode(tokens: Sequence[Token], places: Iterable[tuple[int, int, int, int]]) -> list[int]:
    """The protocol's five numbers for each token; `places` are line and column of their ends."""
    data: list[int] = []
    line = column = 0
    for token, (at, start, _, end) in zip(tokens, places, strict=True):
        shift = start - column if at == line else start
        data += (at - line, shift, end - start, int(token.kind), 0)
        line, column = at, start
    return data


def difference(old: Sequence[int], new: Sequence[int]) -> tuple[int, int, Sequence[int]] | None:
    """What turns the numbers of one answer into those of the next: where, how many to take out,
    what to put in. None when nothing changed."""
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
