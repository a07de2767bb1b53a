"""The text around a placeholder as plain prose, its sentences, and the acronyms that it explains:
the input of every retriever and ranker."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec

from citewell.documents.latex.plaintext import latex_to_text
from citewell.documents.markdown.blanks import markdown_to_text
from citewell.model.document import Citation, Document, Format, Placeholder, Span
from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.query import MARK, OTHER, CitingPaper, Query, Reference

# The prose around a place: its sentences, and the acronyms with their long forms.

TARGET_MARK = "\ue000"
OTHER_MARK = "\ue001"
_FLOAT_BEGIN = re.compile(
    r"\\begin\{(figure|table|algorithm|algorithmic|wrapfigure|wraptable|subfigure|subtable|sidewaystable|"
    r"sidewaysfigure|SCfigure|longtable|tabular|tabularx|tikzpicture|listing)(\*?)\}"
)


def prose(document: Document, window: Span, target: Span | None) -> str:
    """The window as plain text, with marks for the target and the other citations."""
    text = document.text
    events: list[tuple[int, int, str]] = []
    if target is not None:
        events.append((target.start, target.end, TARGET_MARK))
    events += [
        (c.span.start, c.span.end, "" if c.command.startswith("nocite") else OTHER_MARK)
        for c in items_within(document.citations, window)
    ]
    events += [
        (p.span.start, p.span.end, OTHER_MARK) for p in items_within(document.placeholders, window)
    ]
    events += [(h.span.start, h.span.end, "\n\n") for h in items_within(document.headings, window)]
    latex = document.format is Format.LATEX
    for span in _blanked(document, window):
        if not (latex and _is_math(text, span)):
            events.append((span.start, span.end, _stand_in(document, span)))
    if latex:
        events += _floats(text, window, target)
    return _render(document, window, events)


def _render(document: Document, window: Span, events: list[tuple[int, int, str]]) -> str:
    text = document.text
    parts: list[str] = []
    position = window.start
    # At one place the target comes first, then the longest.
    for start, end, mark in sorted(events, key=lambda e: (e[0], e[2] != TARGET_MARK, -e[1])):
        if start < position or start > window.end:
            continue
        parts += (text[position:start], mark)
        position = max(position, end)
    parts.append(text[position : window.end])
    raw = "".join(parts)
    return latex_to_text(raw) if document.format is Format.LATEX else markdown_to_text(raw)


def _blanked(document: Document, window: Span) -> list[Span]:
    spans = document.blanked
    low = max(0, bisect_right(spans, window.start, key=lambda s: s.start) - 1)
    found = []
    for span in spans[low:]:
        if span.start >= window.end:
            break
        if span.end > window.start:
            found.append(Span(max(span.start, window.start), span.end))
    return found


def _is_math(text: str, span: Span) -> bool:
    return text.startswith(("$", "\\(", "\\[", "\\begin"), span.start) and not text.startswith(
        ("\\begin{verb", "\\begin{lst", "\\begin{comment", "\\begin{minted"), span.start
    )


def _stand_in(document: Document, span: Span) -> str:
    text = document.text
    if document.format is Format.LATEX:
        if text[span.start] == "%":
            return "%"  # up to the end of its line, which the stripper removes with it
        return text[span.start + 6 : span.end - 1] if text.startswith("\\verb", span.start) else ""
    inside = text[span.start : span.end]
    if inside.startswith(("```", "~~~", "<!--", "$$", "http", "<http")):
        return ""
    return inside


def _floats(text: str, window: Span, target: Span | None) -> list[tuple[int, int, str]]:
    """Cut figures and tables out of the prose, unless the target is in one."""
    found = []
    position = window.start
    while match := _FLOAT_BEGIN.search(text, position, window.end):
        position = match.end()
        closing = f"\\end{{{match[1]}{match[2]}}}"
        end = text.find(closing, position, window.end)
        end = window.end if end < 0 else end + len(closing)
        if target is not None and match.start() <= target.start < end:
            continue
        found.append((match.start(), end, ""))
        position = end
    return found


class _Ranged(Protocol):
    @property
    def span(self) -> Span: ...


_Item = TypeVar("_Item", bound=_Ranged)


def items_within(items: Sequence[_Item], window: Span) -> Sequence[_Item]:
    """The items of a sorted list (citations, placeholders or headings) that begin in the window."""
    low = bisect_left(items, window.start, key=lambda item: item.span.start)
    high = bisect_left(items, window.end, key=lambda item: item.span.start)
    return items[low:high]


# A selected passage, or the paragraph at a place, as plain prose.

MAX_PASSAGE = 20_000
"""Maximum number of characters read from the source."""
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")
_BEFORE_MARK = re.compile(r"\s+([.,;:!?)])")
_EMPTY = re.compile(r"\(\s*\)|\[\s*\]")


def passage_text(document: Document, span: Span) -> str:
    """The words of a span on one line, without markup and citations; for an empty span, those of
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


# Plain prose split into sentences, with abbreviations of scholarly writing considered.

_END = lazy_pattern(
    r"[.!?][\"')\]”’]*(?:\[(?:CITATION|OTHER)\]|[\ue000\ue001])*"
    r"(?=\s+[\"'(\[“‘]?[A-Z0-9\ue000\ue001\[À-ÖØ-Þ“])"
    r"|\n\n"
)
_ABBREVIATION = lazy_pattern(
    r"(?:^|[\s(\[~])(?:e\.?g|i\.?e|cf|vs|al|resp|approx|ca|etc|viz|et|w\.?r\.?t|s\.t|a\.k\.a|"
    r"[Ff]igs?|[Ee]qs?|[Ee]qns?|[Ss]ecs?|[Ss]ect|[Tt]abs?|[Cc]h|[Cc]hap|[Aa]pp|[Rr]efs?|[Aa]lg|"
    r"[Dd]ef|[Tt]hm|[Pp]rop|[Ll]em|[Nn]os?|[Nn]r|[Vv]ol|pp?|[Ee]d|[Ee]ds|"
    r"[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|Jr|Sr|Inc|Ltd|Co|Corp|Univ|Dept|[Aa]vg|max|min|[A-Z])\.$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of plain prose in order; a blank line always ends one."""
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match[0] != "\n\n" and _abbreviates(text[start : match.end()]):
            continue
        if sentence := text[start : match.end()].strip():
            sentences.append(sentence)
        start = match.end()
    if sentence := text[start:].strip():
        sentences.append(sentence)
    return sentences


def _abbreviates(sentence: str) -> bool:
    return _ABBREVIATION.search(sentence[-12:]) is not None


# Acronyms with long forms in a document: "graph attention network (GAT)".
#
# The long form is found by the algorithm of Schwartz and Hearst (A simple algorithm for identifying
# abbreviation definitions in biomedical text, PSB 2003): backwards from the bracket, each letter of
# the acronym must occur in order, its first letter at the start of a word.

MOST = 8
"""Maximum number of acronyms looked up in one passage."""
MOST_WORDS = 60
"""Number of words at the end of a text in which a long form may end."""
_ACRONYM = re.compile(r"(?<![\w\\{])[A-Z][A-Za-z0-9]*[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
_WORDS = re.compile(r"[\w'-]+")
_BREAK = re.compile(r"[.;:!?]\s|\n\s*\n|[()\[\]]")
_MARKUP = re.compile(r"\\[A-Za-z]+\*?|[{}$~*_]")
_LONGEST = 10


def acronyms_in(text: str) -> tuple[str, ...]:
    """Words with at least two capitals, in order, each once: "GAT", "RoBERTa"; no citation mark."""
    found = [name for name in _ACRONYM.findall(text) if 2 <= len(name) <= _LONGEST]
    marks = ("CITATION", "OTHER", "CITE", "REF", "TODO")
    return tuple(dict.fromkeys(name for name in found if name not in marks))[:MOST]


def written_out(text: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The acronyms with a long form in the text, and that form."""
    found = []
    for name in names:
        stem = name[:-1] if name.endswith("s") and len(name) > 2 else name
        for shape in (f"({name})", f"({stem})", f"({stem}s)"):
            at = text.find(shape)
            if at > 0 and (long := _long_form(text[max(0, at - 200) : at], stem)):
                found.append((name, long))
                break
    return tuple(found)


def long_forms(text: str, acronym: str) -> tuple[str, ...]:
    """Consecutive words anywhere in a text that the acronym may stand for."""
    stem = acronym[:-1] if acronym.endswith("s") and len(acronym) > 2 else acronym
    ends = [match.end() for match in _WORDS.finditer(text)][-MOST_WORDS:]
    found = (_long_form(text[max(0, end - 200) : end], stem) for end in ends)
    return tuple(dict.fromkeys(long for long in found if long))


def _long_form(before: str, acronym: str) -> str:
    """The words at the end of `before` that the acronym stands for; empty if they do not match."""
    plain = _BREAK.split(_MARKUP.sub(" ", before))[-1]
    words = _WORDS.findall(plain)[-min(len(acronym) + 5, 2 * len(acronym)) :]
    text = " ".join(words)
    letters = [letter for letter in acronym.lower() if letter.isalnum()]
    place = len(text)
    for number, letter in enumerate(reversed(letters), 1):
        place -= 1
        first = number == len(letters)
        while place >= 0 and (
            text[place].lower() != letter or (first and place > 0 and text[place - 1] not in " -")
        ):
            place -= 1
        if place < 0:
            return ""
    long = text[place:]
    return long if len(long.split()) > 1 or "-" in long else ""


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
