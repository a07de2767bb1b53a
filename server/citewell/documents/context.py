"""The text around a placeholder as plain prose: the input of every retriever and ranker."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from citewell.documents.prose import (
    OTHER_MARK,
    TARGET_MARK,
    acronyms_in,
    items_within,
    prose,
    split_sentences,
    written_out,
)
from citewell.model.document import Citation, Document, Format, Placeholder, Span
from citewell.model.query import MARK, OTHER, CitingPaper, Query, Reference

_BACK = 6_000
_AHEAD = 3_000
SENTENCES_BEFORE = 3
SENTENCES_AFTER = 1
NEARBY = 500
"""Characters before a place, and half as many after it, in which other citations are its
neighbours: about three sentences."""
MOST_NEARBY = 12

_CONTAINER = re.compile(
    r"\\(?:footnote|footnotetext|tablefootnote|thanks|caption|captionof\{\w+\}|subcaption|sidenote|"
    r"marginnote|endnote)\*?(?:\[[^\[\]]{0,300}\])?\{|\\.|[{}]|%[^\n]*",
    re.DOTALL,
)
"""Notes and captions, which are separate prose, and the braces around them."""
_RUN_IN = re.compile(r"\\(?:sub)?paragraph")
"""Run-in headings, which begin no new subject."""
_BRACES = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)


class Context(msgspec.Struct, frozen=True):
    """The prose around a place in a document."""

    sentence: str = ""
    """The sentence, with `[CITATION]` at the place and `[OTHER]` for other citations."""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    section: str = ""
    """The headings above the place, the highest first: "Method > Training"."""
    marks_before: int = 0
    """Number of citations in the preceding sentence."""


def query_for(
    document: Document,
    placeholder: Placeholder,
    *,
    paper: CitingPaper | None = None,
) -> Query:
    """The query of a placeholder: its own words and its context. `paper` is the context of the
    whole paper; without it, title and abstract come from the document itself."""
    context = _context(document, placeholder.span)
    if paper is None:
        paper = CitingPaper(title=document.title, abstract=document.abstract)
    return Query(
        text=placeholder.query,
        sentence=context.sentence,
        before=context.before,
        after=context.after,
        section=context.section,
        nearby=nearby_titles(document, placeholder.span, paper.references, placeholder.other_keys),
        beside=_beside(document, placeholder, context, paper.references),
        present=_titles(placeholder.other_keys, paper.references),
        just_before=_just_before(document, placeholder, context, paper.references),
        acronyms=acronyms_of(document, context, placeholder.query),
        paper=paper,
    )


def acronyms_of(
    document: Document, context: Context, words: str = ""
) -> tuple[tuple[str, str], ...]:
    """The acronyms of a place (and of the words typed there) with their long forms in the
    document."""
    names = acronyms_in(" ".join((words, context.sentence, *context.before)))
    return written_out(document.text, names) if names else ()


def nearby_titles(
    document: Document, place: Span, references: Sequence[Reference], other_keys: Sequence[str] = ()
) -> tuple[str, ...]:
    """Titles of the works cited around a place, nearest first; `other_keys` are cited at the place.
    Only works in `references` are included. The place's own citation is left out."""
    titles = {reference.key: reference.title for reference in references if reference.title}
    if not titles:
        return ()
    window = Span(max(0, place.start - NEARBY), place.end + NEARBY // 2)
    around = [c for c in items_within(document.citations, window) if c.span != place]
    around.sort(key=lambda c: max(place.start - c.span.end, c.span.start - place.end))
    keys = (*other_keys, *(use.key for citation in around for use in citation.keys))
    found = (titles[key] for key in keys if key in titles)
    return tuple(dict.fromkeys(found))[:MOST_NEARBY]


def _beside(
    document: Document, placeholder: Placeholder, context: Context, references: Sequence[Reference]
) -> tuple[str, ...]:
    """Titles of the works, among those in `references`, cited in the placeholder's sentence."""
    before, _, after = context.sentence.partition(MARK)
    keys = list(placeholder.other_keys)
    for marks, ahead in ((before.count(OTHER), False), (after.count(OTHER), True)):
        for citation in _neighbours(document, placeholder.span, marks, ahead=ahead):
            keys += [use.key for use in citation.keys]
    return _titles(keys, references)


def _titles(keys: Sequence[str], references: Sequence[Reference]) -> tuple[str, ...]:
    """The titles of these keys in `references`, each once."""
    titles = {reference.key: reference.title for reference in references} if keys else {}
    return tuple(dict.fromkeys(titles[key] for key in keys if titles.get(key)))


def _just_before(
    document: Document, placeholder: Placeholder, context: Context, references: Sequence[Reference]
) -> tuple[str, ...]:
    """Titles of the works cited in the sentence before that of a placeholder."""
    if not context.marks_before:
        return ()
    own = context.sentence.partition(MARK)[0].count(OTHER)
    marks = [*_neighbours(document, placeholder.span, own + context.marks_before, ahead=False)]
    beside = {id(mark) for mark in _neighbours(document, placeholder.span, own, ahead=False)}
    titles = {reference.key: reference.title for reference in references}
    keys = (use.key for mark in marks if id(mark) not in beside for use in mark.keys)
    return tuple(dict.fromkeys(titles[key] for key in keys if titles.get(key)))


def _neighbours(document: Document, place: Span, marks: int, *, ahead: bool) -> Iterator[Citation]:
    """The citations among the next `marks` marks; placeholders count as marks."""
    if not marks:
        return
    window = (
        Span(place.end, place.end + _AHEAD) if ahead else Span(place.start - _BACK, place.start)
    )
    found: list[Citation | Placeholder] = [
        c for c in items_within(document.citations, window) if not c.command.startswith("nocite")
    ]
    found += items_within(document.placeholders, window)
    found.sort(key=lambda mark: mark.span.start, reverse=not ahead)
    for mark in found[:marks]:
        if isinstance(mark, Citation):
            yield mark


def context_at(document: Document, offset: int) -> Context:
    """The prose around a plain offset; a citation or placeholder there becomes `[CITATION]`."""
    offset = max(0, min(offset, len(document.text)))
    spans = [p.span for p in document.placeholders] + [c.span for c in document.citations]
    for span in spans:
        if offset in span:
            return _context(document, span)
    return _context(document, Span(offset, offset))


def section_at(document: Document, offset: int) -> str:
    """The path of headings above an offset, from the highest, joined by " > "."""
    path: list[tuple[int, str]] = []
    for heading in document.headings:
        if heading.span.start > offset:
            break
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.title))
    return " > ".join(title for _, title in path if title)


def _context(document: Document, target: Span) -> Context:
    window, outside = _window(document, target)
    section = section_at(document, target.start)
    head, mark, tail = prose(document, window, target).partition(TARGET_MARK)
    if not mark:
        return Context(section=section)
    paragraph, _, _ = tail.partition("\n\n")
    sentences = split_sentences(head + mark + paragraph)
    place = next(i for i, sentence in enumerate(sentences) if TARGET_MARK in sentence)
    before = [_neighbour(s) for s in sentences[:place]]
    after = [_neighbour(s) for s in sentences[place + 1 :]]
    if outside is not None and len(before) < SENTENCES_BEFORE:
        # A footnote continues the preceding text.
        prior = split_sentences(prose(document, outside, None))
        before = [_neighbour(s) for s in prior] + before
    return Context(
        sentence=sentences[place].replace(TARGET_MARK, MARK).replace(OTHER_MARK, OTHER),
        before=tuple(s for s in before if s)[-SENTENCES_BEFORE:],
        after=tuple(s for s in after if s)[:SENTENCES_AFTER],
        section=section,
        marks_before=sentences[place - 1].count(OTHER_MARK) if place else 0,
    )


def _neighbour(sentence: str) -> str:
    return " ".join(sentence.replace(OTHER_MARK, "").split())


def _window(document: Document, target: Span) -> tuple[Span, Span | None]:
    """The range to read around the target and, for a note, the range before it."""
    text = document.text
    low = max(0, target.start - _BACK)
    high = min(len(text), target.end + _AHEAD)
    if document.body is not None and document.body.start <= target.start <= document.body.end:
        low, high = max(low, document.body.start), min(high, document.body.end)
    if document.front_matter is not None and target.start >= document.front_matter.end:
        low = max(low, document.front_matter.end + 4)
    headings = [h for h in document.headings if not _RUN_IN.match(text, h.span.start)]
    place = bisect_right(headings, target.start, key=lambda h: h.span.start)
    if place:
        low = max(low, min(headings[place - 1].span.end, target.start))
    if place < len(headings):
        high = min(high, max(headings[place].span.start, target.end))
    if document.format is not Format.LATEX:
        return Span(low, high), None
    container = _container(text, low, target)
    if container is not None:
        return container, Span(low, container.start)
    return Span(low, high), None


def _container(text: str, low: int, target: Span) -> Span | None:
    """The contents of the innermost footnote or caption around the target."""
    open_braces: list[int | None] = []  # start of a container's contents, or None
    for match in _CONTAINER.finditer(text, low, target.start):
        if match[0] == "}":
            del open_braces[-1:]
        elif match[0][-1] == "{" and match[0][0] != "%":
            open_braces.append(match.end() if match[0] != "{" else None)
    inside = [i for i, start in enumerate(open_braces) if start is not None]
    if not inside:
        return None
    start = open_braces[inside[-1]]
    end = _close(text, target.end, len(open_braces) - inside[-1])
    return None if start is None or end is None else Span(start, end)


def _close(text: str, position: int, depth: int) -> int | None:
    """Offset of the brace that closes the `depth`-th group open at `position`."""
    for match in _BRACES.finditer(text, position, min(position + _AHEAD, len(text))):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return None
