"""A selected passage, or the paragraph at a place, as plain prose."""

from __future__ import annotations

import re

from citewell.documents.prose import OTHER_MARK, prose
from citewell.model.document import Document, Span

MAX_PASSAGE = 20_000
"""Characters of the source that are read, at most."""
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")
_BEFORE_MARK = re.compile(r"\s+([.,;:!?)])")
_EMPTY = re.compile(r"\(\s*\)|\[\s*\]")


def passage_text(document: Document, span: Span) -> str:
    """The words of a span on one line, without markup and citations; of an empty span, those of
    the paragraph around it."""
    if span.start == span.end:
        span = paragraph_at(document, span.start)
    span = Span(span.start, min(span.end, span.start + MAX_PASSAGE))
    text = _EMPTY.sub("", prose(document, span, None).replace(OTHER_MARK, " "))
    return _BEFORE_MARK.sub(r"\1", " ".join(text.split()))


def paragraph_at(document: Document, offset: int) -> Span:
    """The text around an offset up to the next blank lines and headings, within the body."""
    text = document.text
    offset = max(0, min(offset, len(text)))
    low, high = 0, len(text)
    if document.body is not None and document.body.start <= offset <= document.body.end:
        low, high = document.body.start, document.body.end
    if document.front_matter is not None and offset >= document.front_matter.end:
        low = max(low, document.front_matter.end)
    for heading in document.headings:
        if heading.span.end <= offset:
            low = max(low, heading.span.end)
        elif heading.span.start >= offset:
            high = min(high, heading.span.start)
            break
    low = max(low, offset - MAX_PASSAGE // 2)
    before = [match.end() for match in _BLANK_LINE.finditer(text, low, offset)]
    after = _BLANK_LINE.search(text, offset, high)
    return Span(before[-1] if before else low, after.start() if after else high)
