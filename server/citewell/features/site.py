"""What stands at a place in a document: a placeholder, or a key of a citation."""

from __future__ import annotations

import msgspec

from citewell.features.citation import extent, until
from citewell.model.document import (
    Citation,
    Document,
    KeyUse,
    Placeholder,
    PlaceholderKind,
    Span,
)


def placeholder_at(document: Document, cursor: int) -> Placeholder | None:
    """The placeholder in which, or at whose end, the cursor stands, as far as it is typed."""
    found: Placeholder | None = None
    for placeholder in document.placeholders:
        if placeholder.span.start >= cursor:
            break
        if cursor <= extent(placeholder):
            found = placeholder  # the words of one that is open may reach over the next one
    return None if found is None else _at_cursor(document, until(document, found, cursor), cursor)


def _at_cursor(document: Document, placeholder: Placeholder, cursor: int) -> Placeholder:
    """With the blanks between its words and the cursor.

    In `{a, |}` the key belongs where the cursor is; in `[@word embeddings |]` it replaces the last
    blank, too.
    """
    words = placeholder.query_span
    gap = document.text[words.end : cursor]
    if not gap or gap.strip(" \t") or not cursor <= placeholder.span.end:
        return placeholder
    start = cursor if words.start == words.end else words.start
    return msgspec.structs.replace(placeholder, query_span=Span(start, cursor))


def key_at(document: Document, cursor: int) -> tuple[Citation, KeyUse] | None:
    """The key that the cursor touches, with its citation."""
    for citation in document.citations:
        if citation.span.start <= cursor <= citation.span.end:
            for use in citation.keys:
                if use.span.start <= cursor <= use.span.end:
                    return citation, use
    return None


def wanted_at(document: Document, cursor: int) -> Placeholder | None:
    """What the author wants to cite at the cursor: a placeholder, or a key being typed.

    A key is given as the placeholder that it would be if it were free text, with what stands
    before the cursor as its words.
    """
    placeholder = placeholder_at(document, cursor)
    found = key_at(document, cursor)
    if placeholder is not None and (found is None or cursor in placeholder.query_span):
        return placeholder
    if found is None:
        return None
    citation, use = found
    return Placeholder(
        kind=PlaceholderKind.FREE_TEXT,
        span=citation.span,
        query=document.text[use.span.start : cursor],
        query_span=use.span,
        command=citation.command,
        other_keys=tuple(other.key for other in citation.keys if other != use),
    )


def is_key_like(placeholder: Placeholder) -> bool:
    """True when the words may be the beginning of a key: one word, in braces or behind an @."""
    return (
        placeholder.kind is not PlaceholderKind.MARKER
        and placeholder.kind is not PlaceholderKind.QUERY
        and " " not in placeholder.query
    )
