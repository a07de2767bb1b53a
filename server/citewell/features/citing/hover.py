"""What a hover shows: the card of a cited entry, or what a placeholder would bring."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath

import msgspec

from citewell.features.citing.citation import extent, placeholder_at, until, word_end
from citewell.features.text.card import EntryFacts, byline, entry_card
from citewell.features.text.evidence import escape, quoted, reason
from citewell.model import Hit
from citewell.model.bib import BibEntry
from citewell.model.document import Document, KeyUse, Placeholder, Span
from citewell.model.words import certainty


class HoverCard(msgspec.Struct, frozen=True):
    """A card in Markdown, and the range of the document that it describes."""

    markdown: str
    span: Span


def hover_entry(
    span: Span, entry: BibEntry, path: str, base: str, known: EntryFacts | None = None
) -> HoverCard:
    """The card of an entry of the .bib at `path`, which is shown relative to the file `base`."""
    return HoverCard(entry_card(entry, shown_path(path, base), known), span)


def hover_shelved(span: Span, entry: BibEntry, known: EntryFacts) -> HoverCard:
    """The card of an entry that is in the author's Zotero, but in no .bib of the paper yet."""
    note = "*Not in the bibliographies of this paper yet: complete the key to add it.*"
    return HoverCard(f"{entry_card(entry, 'Zotero', known)}\n\n{note}", span)


def hover_missing(use: KeyUse) -> HoverCard:
    """The card of a key that no .bib of the paper has."""
    text = f"No entry `{use.key.replace('`', '')}` in the bibliographies of this paper."
    return HoverCard(text, use.span)


def hover_item(use: KeyUse, where: str) -> HoverCard:
    """The card of a key that a `\\bibitem` defines, at a place such as "main.tex:12"."""
    key = use.key.replace("`", "")
    return HoverCard(f"`\\bibitem{{{key}}}` in {escape(where)}", use.span)


@lru_cache(maxsize=1024)
def shown_path(path: str, base: str) -> str:
    """A path as the author of `base` would write it, with forward slashes."""
    if not base:
        return path
    try:
        return PurePath(os.path.relpath(path, os.path.dirname(base))).as_posix()  # noqa: PTH120
    except ValueError:  # another drive
        return path


def hovered_placeholder(document: Document, offset: int) -> Placeholder | None:
    """The placeholder at the offset, whole; one that nothing closes as far as the word there."""
    if placeholder_at(document, max(offset, 0)) is None:
        offset += 1
    found: Placeholder | None = None
    for placeholder in document.placeholders:
        if placeholder.span.start < offset <= extent(placeholder):
            found = placeholder
    if found is None or found.closed:
        return found
    return until(document, found, min(word_end(document, offset), extent(found)))


def _facts(hit: Hit, typed: str) -> tuple[str, ...]:
    """Authors, venue and year, how certain the paper is, and why it is listed."""
    why = reason(hit, typed)
    return byline(hit.work), certainty(hit.confidence, typed=bool(typed)), escape(why)


def _quotation(hit: Hit) -> str:
    """The sentence of the full text that matched, as another line of the list's item."""
    text = quoted(hit.evidence)
    return f"  \n   {escape(text)}" if text else ""


def hover_placeholder(placeholder: Placeholder, hits: Sequence[Hit]) -> HoverCard:
    """The papers that a placeholder would be completed with, the best first."""
    heading = (
        f"Papers for “{escape(placeholder.query)}”"
        if placeholder.query
        else "Papers for this place"
    )
    if not hits:
        return HoverCard(f"{heading}: none found.", placeholder.span)
    lines = [
        f"{number}. **{escape(hit.work.title)}**  \n   "
        + " · ".join(part for part in _facts(hit, placeholder.query) if part)
        + _quotation(hit)
        for number, hit in enumerate(hits, 1)
    ]
    return HoverCard("\n".join([f"{heading}:", "", *lines]), placeholder.span)
