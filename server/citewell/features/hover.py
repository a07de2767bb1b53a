"""What a hover shows: the card of a cited entry, or what a placeholder would bring."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec

from citewell.features.card import byline, entry_card, escape, moved_by
from citewell.features.site import key_at, placeholder_at
from citewell.model import Hit
from citewell.model.bib import BibEntry
from citewell.model.document import Document, Placeholder, Span

FindEntry = Callable[[str], tuple[str, BibEntry] | None]
"""A key's entry and the path of its .bib."""


class HoverCard(msgspec.Struct, frozen=True):
    """Markdown, and the range of the document that it speaks of."""

    markdown: str
    span: Span


def hover_key(document: Document, offset: int, find_entry: FindEntry) -> HoverCard | None:
    """The card of the entry whose key stands at the offset."""
    found = key_at(document, offset)
    if found is None:
        return None
    _, use = found
    entry = find_entry(use.key)
    if entry is None:
        text = (
            f"There is no entry `{use.key.replace('`', '')}` in the bibliographies of this paper."
        )
        return HoverCard(text, use.span)
    path, body = entry
    shown = os.path.relpath(path, os.path.dirname(document.path)) if document.path else path  # noqa: PTH120
    return HoverCard(entry_card(body, shown), use.span)


def hovered_placeholder(document: Document, offset: int) -> Placeholder | None:
    """The placeholder at the offset, whole."""
    if placeholder_at(document, max(offset, 0)) is None:
        offset += 1
    for placeholder in document.placeholders:
        if placeholder.span.start < offset <= placeholder.span.end:
            return placeholder
    return None


def hover_placeholder(placeholder: Placeholder, hits: Sequence[Hit]) -> HoverCard:
    """The papers that a placeholder would be completed with, the best first."""
    asked = f"Papers for “{escape(placeholder.query)}”" if placeholder.query else "Papers for here"
    if not hits:
        return HoverCard(f"{asked}: none found.", placeholder.span)
    lines = [
        f"{number}. **{escape(hit.work.title)}**  \n   "
        + " · ".join(part for part in (byline(hit.work), moved_by(hit.evidence)) if part)
        for number, hit in enumerate(hits, 1)
    ]
    return HoverCard("\n".join([f"{asked}:", "", *lines]), placeholder.span)
