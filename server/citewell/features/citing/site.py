"""The placeholder, or the key of a citation, at a place in a document."""

from __future__ import annotations

import re

import msgspec

from citewell.documents.latex.commands import CITE_COMMANDS, looks_like_cite
from citewell.features.citing.citation import extent, until
from citewell.model.document import (
    Citation,
    Document,
    Format,
    KeyUse,
    Placeholder,
    PlaceholderKind,
    Span,
)

_LINE = 300
_KEYS = 4_000
_BEHIND_KEY = re.compile(
    r"\[(?:[^\[\]\n]*[;\s])?-?@(?P<words>(?P<key>[^\s\[\];@,{}]+)[ \t][^\[\];@,\n]*)\Z"
)
_BEHIND_TEX_KEY = re.compile(r"[{,]\s*(?P<words>(?P<key>[^\s{}\\%,]+)[ \t]+)\Z")
_IN_KEYS = re.compile(
    r"\\(?P<name>[A-Za-z@]*[cC]it[A-Za-z@]*\*?)\s*(?:\[[^\[\]{}]*\]\s*){0,2}"
    r"\{(?P<others>(?:[^{}\\%,]*,)*)\s*(?P<key>[^{}\\%,\s]*)\Z"
)
_REST_OF_KEY = re.compile(r"[^{}\\%,\s]*")


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

    In `{a, |}` the key belongs where the cursor is, on the next line, too; in `[@two words |]` it
    replaces the last blank.
    """
    words = placeholder.query_span
    gap = document.text[words.end : cursor]
    if not gap or not gap.isspace() or not cursor <= placeholder.span.end:
        return placeholder
    if words.start == words.end:
        return msgspec.structs.replace(placeholder, query_span=Span(cursor, cursor))
    if "\n" in gap or "\r" in gap:
        return placeholder
    return msgspec.structs.replace(placeholder, query_span=Span(words.start, cursor))


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
        return open_key_at(document, cursor)
    citation, use = found
    ended = document.text[citation.span.end - 1 : citation.span.end] in ("}", "]")
    return Placeholder(
        kind=PlaceholderKind.FREE_TEXT,
        span=citation.span,
        query=document.text[use.span.start : cursor],
        query_span=use.span,
        command=citation.command,
        closed=ended or use != citation.keys[-1],
        other_keys=tuple(other.key for other in citation.keys if other != use),
    )


def words_at(document: Document, cursor: int) -> tuple[str, Placeholder] | None:
    """The apparent key before the cursor, in `[@word |]`, `[@LeNet training|]` and `\\cite{a |}`,
    and the placeholder that all the words form if no entry has that key; None where there is no
    such key. If an entry has it, the words after it are the citation's notes."""
    head = document.text[max(0, cursor - _LINE) : cursor]
    is_markdown = document.format is Format.MARKDOWN
    match = (_BEHIND_KEY if is_markdown else _BEHIND_TEX_KEY).search(head)
    if match is None:
        return None
    start = cursor - len(head) + match.start("key")
    for citation in document.citations:
        for use in citation.keys:
            if use.span.start == start:
                closed = citation.command == "[@]" or not is_markdown
                placeholder = Placeholder(
                    kind=PlaceholderKind.QUERY if is_markdown else PlaceholderKind.FREE_TEXT,
                    span=Span(citation.span.start, citation.span.end if closed else cursor),
                    query=" ".join(match["words"].split()),
                    query_span=Span(start, cursor),
                    command="[@]" if is_markdown else citation.command,
                    closed=closed,
                    other_keys=tuple(other.key for other in citation.keys if other != use),
                )
                return use.key, placeholder
    return None


def open_key_at(document: Document, cursor: int) -> Placeholder | None:
    """The key that is to be typed at a cursor where the document has no placeholder: in
    `\\nocite{a, |}`, where none need be, and on a line of a key list that is still empty, which
    for TeX ends the paragraph."""
    head = document.text[max(0, cursor - _KEYS) : cursor]
    match = _IN_KEYS.search(head)
    name = match["name"].rstrip("*") if match is not None else ""
    if match is None or not (name in CITE_COMMANDS or looks_like_cite(name)):
        return None
    if any(span.start < cursor <= span.end for span in document.blanked):
        return None
    start = cursor - len(head) + match.start("key")
    rest = _REST_OF_KEY.match(document.text, cursor)
    end = rest.end() if rest else cursor
    behind = document.text[end : end + 200].lstrip()[:1]
    is_nocite = "nocite" in match["name"]
    if behind not in ("}", ",") and not is_nocite:
        return None
    return Placeholder(
        kind=PlaceholderKind.FREE_TEXT if start < cursor else PlaceholderKind.EMPTY,
        span=Span(cursor - len(head) + match.start(), end + 200),
        query=document.text[start:cursor],
        query_span=Span(start, end),
        command=match["name"],
        closed=behind in ("}", ",") and behind != "",
        other_keys=tuple(key.strip() for key in match["others"].split(",") if key.strip()),
    )


def is_key_like(placeholder: Placeholder) -> bool:
    """True when the words may be the beginning of a key: one word, in braces or behind an @."""
    return (
        placeholder.kind is not PlaceholderKind.MARKER
        and placeholder.kind is not PlaceholderKind.QUERY
        and " " not in placeholder.query
    )
