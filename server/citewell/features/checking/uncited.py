"""Detects a sentence that relies on the work of others without a citation: modest, but precise.

Used only at the author's cursor, never to underline anything. It fires on phrases that seldom occur
without a citation (`tests/bench/uncited_bench.py` measures how seldom); claims in other words are
left to the author. "State of the art" is not among the phrases: two of three sentences with it have
no citation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.documents.context import context_at
from citewell.model.document import Document, Placeholder, PlaceholderKind, Span
from citewell.model.query import MARK, OTHER

_STUDIES = r"(?:work|works|studies|research|researchers|approaches|methods|authors|papers|results)"
_PHRASES = re.compile(
    rf"""
      \b(?:previous|prior|recent|earlier|past|existing|several|many|numerous|other|early|much|most)
        \s+(?:\w+\s+){{0,2}}{_STUDIES}\b
    | \b(?:it\s+)?(?:has|have)\s+(?:\w+\s+)?been\s+(?:\w+\s+)?
        (?:shown|proposed|demonstrated|introduced|studied|observed|reported|argued|established|used|
           explored|investigated|applied)\b
    | \b(?:is|are|was|were)\s+(?:\w+\s+)?(?:first\s+)?(?:introduced|proposed|pioneered)\s+by\b
    | \b(?:according\s+to|following|inspired\s+by|building\s+on|based\s+on\s+the\s+work\s+of)
        \s+(?-i:[A-Z][a-z])
    | \b[A-Z][\w'-]+\s+(?:et\s+al\.?|and\s+colleagues)
    | \b(?:well[-\s]known|well[-\s]established|widely\s+(?:used|adopted|studied))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:we|our|ours|us|this\s+(?:paper|section|chapter|thesis|work)|in\s+(?:section|figure|table)"
    r"|the\s+following|as\s+follows)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?][\"')\]”’]*\s*$")
_STOP = re.compile(r"[.!?](?=[\"')\]}]*(?:\s|$|%))|\n[ \t]*\r?\n")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\r?\n\s*")
MIN_WORDS = 7
REACH = 1500
"""Characters in which the sentence must end."""


class Uncited(msgspec.Struct, frozen=True):
    """A sentence that wants a citation, and the place where one would stand."""

    sentence: str
    at: int
    """Offset before the full stop."""

    @property
    def placeholder(self) -> Placeholder:
        """The empty place as a placeholder, which a search takes."""
        here = Span(self.at, self.at)
        return Placeholder(PlaceholderKind.MARKER, here, "", here, "")


def uncited_at(document: Document, offset: int) -> Uncited | None:
    """The sentence at an offset, if it reports what others found and has no citation.

    None in headings, comments, math and code, in a sentence with a citation or placeholder, and in
    one about this paper itself.
    """
    at = sentence_end(document, offset) if _is_prose(document, offset) else None
    if at is None or not _is_prose(document, at):
        return None
    found = _without_citation(document, at)
    return found if found is not None and reports_others(found) else None


def reports_others(found: Uncited) -> bool:
    """True if the words of a sentence seldom occur without a citation."""
    plain = found.sentence.replace(MARK, "")
    return not _OWN.search(plain) and _PHRASES.search(plain) is not None


def uncited_sentences(document: Document) -> Iterator[Uncited]:
    """The sentences of prose that have neither citation nor placeholder, in order, each with the
    place where a citation would stand; short ones are left out."""
    offset = 0
    while offset < len(document.text):
        at = sentence_end(document, offset)
        if at is None:
            paragraph = _PARAGRAPH_END.search(document.text, offset)
            end = paragraph.start() if paragraph is not None else len(document.text)
            at = offset + len(document.text[offset:end].rstrip())
            following = paragraph.end() if paragraph is not None else len(document.text)
        else:
            following = at + 1
        found = _without_citation(document, at) if _is_prose(document, at) else None
        if found is not None:
            yield found
        offset = following


def _without_citation(document: Document, at: int) -> Uncited | None:
    """The sentence that ends at an offset; None if it is short or cites something."""
    sentence = context_at(document, at).sentence
    if OTHER in sentence or MARK not in sentence:
        return None
    if len(sentence.replace(MARK, "").split()) < MIN_WORDS:
        return None
    return Uncited(sentence, at)


def _is_prose(document: Document, offset: int) -> bool:
    """False outside the body, in what does not count as prose, and at a citation."""
    body = document.body
    if body is not None and not body.start <= offset <= body.end:
        return False
    spans = (
        *document.blanked,
        *(heading.span for heading in document.headings),
        *(citation.span for citation in document.citations),
        *(placeholder.span for placeholder in document.placeholders),
    )
    return not any(span.start <= offset <= span.end for span in spans)


def sentence_end(document: Document, offset: int) -> int | None:
    """The offset of the full stop that ends the sentence; None when the paragraph ends before."""
    text = document.text
    for found in _STOP.finditer(text[offset : offset + REACH]):
        if found[0][0] not in ".!?":
            return None
        at = offset + found.start()
        word = re.search(r"[\w.]*$", text[:at])
        if word is not None and word[0].lower() in _SHORT:
            continue
        return at
    return None


_SHORT = frozenset({"e.g", "i.e", "al", "cf", "etc", "vs", "fig", "sec", "eq", "resp", "approx"})
