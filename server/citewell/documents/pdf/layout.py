"""From the lines of a PDF to its parts: running heads dropped, the title, the reference list.

The lines are in the order in which the file draws them, column after column. A reference begins at
a line whose left edge protrudes, because its other lines hang, or at a line with a gap above it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from citewell.documents.pdf.lines import Line
from citewell.model.pdf import PdfPage

_HEADING = re.compile(
    r"^(?:(?:\d+|[IVX]+)\.?\s+)?(?:references?(?:\s+and\s+notes)?|bibliography"
    r"|literature(?: cited)?|works cited)\s*:?$",
    re.I,
)
_END = re.compile(
    r"^(?:(?:[A-Z]|\d+)\.?\s+)?(?:appendix|appendices|supplementa\w+(?: \w+){0,2}"
    r"|acknowledge?ments?|(?:\w+ )?(?:paper )?checklist)\b.{0,60}$"
    r"|^Appendix [A-Z]\b.{0,80}$|^[A-Z]\.\d\s+[A-Z][a-z]",
    re.I,
)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_NUMBERED = re.compile(r"^(?:\[\d{1,4}\]|\(\d{1,4}\)|\d{1,4}[.)])\s")
_MARK_ALONE = re.compile(r"^\[\d{1,4}\]$")
_DIGITS = re.compile(r"\d+")
_STAMP = re.compile(r"^arXiv:\S+", re.I)
_NOT_A_TITLE = re.compile(
    r"^(?:published as|under review|preprint|proceedings of|accepted (?:at|to)|journal of"
    r"|workshop|technical report|research article|article\b.{0,20}$|vol(?:ume)?\b|doi\b|https?:)",
    re.I,
)
_ABSTRACT = re.compile(r"^abstract\s*[.:—–-]*\s*", re.I)
_INTRODUCTION = re.compile(r"^(?:(?:1|I)\.?\s+)?introduction\b|^(?:keywords|index terms)\b", re.I)
MOST_REFERENCE_LINES = 60_000
"""A bibliography of 10,000 references."""
_MOST_ABSTRACT = 4_000
_GAP = 1.3
"""Times the usual distance of two lines from which a gap parts two paragraphs."""
_HEADS = 3
"""Pages on which a line at the edge must stand to be a running head."""


def without_heads(lines: Sequence[Line]) -> list[Line]:
    """All but page numbers and running heads: lines at the edge of a page that recur, their
    numbers aside."""
    edges: dict[int, tuple[Line, Line]] = {}
    for line in lines:
        low, high = edges.get(line.page, (line, line))
        edges[line.page] = (
            line if line.y < low.y else low,
            line if line.y > high.y else high,
        )
    seen = Counter(_shape(line) for pair in edges.values() for line in set(pair))

    def is_head(line: Line) -> bool:
        at_edge = line.y in {edge.y for edge in edges[line.page]}
        return at_edge and (not _shape(line) or seen[_shape(line)] >= _HEADS)

    return [line for line in lines if not is_head(line)]


def _shape(line: Line) -> str:
    return _DIGITS.sub("", line.text).strip(" .-–—|·").lower()


def parted(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines of the text, and those of the reference lists without their headings."""
    body: list[Line] = []
    references: list[Line] = []
    inside = False
    size = 0.0
    for place, line in enumerate(lines):
        if _HEADING.match(line.text):
            following = lines[place + 1 : place + 41]
            if sum(_YEAR.search(one.text) is not None for one in following) >= 2 or (
                len(following) < 8 and any(_YEAR.search(one.text) for one in following)
            ):
                inside = True
                size = median(one.size for one in following)
                continue
        elif inside and _ends(line, size):
            inside = False
        (references if inside and len(references) < MOST_REFERENCE_LINES else body).append(line)
    return body, references


def _ends(line: Line, size: float) -> bool:
    """Whether a line after references is the heading of something else."""
    if _END.match(line.text):
        return True
    larger = line.size > 1.12 * size
    return (
        larger and len(line.text) < 90 and not _YEAR.search(line.text) and line.text[:1].isalnum()
    )


def reference_pages(lines: Sequence[Line]) -> tuple[list[PdfPage], bool]:
    """The reference list by page, an empty line before each reference that the layout shows; and
    whether that is every reference, because all other lines hang."""
    lines = _with_marks_joined(lines)
    marked = [_NUMBERED.match(line.text) is not None for line in lines]
    by_number = sum(marked) >= 3 and sum(marked) >= 0.08 * len(lines)
    columns = list(_columns(lines))
    indents = [indent for column in columns for indent in _indents(column)]
    deep = sum(indent > 3 for indent in indents)
    hanging = not by_number and 0.2 * len(lines) <= deep and len(lines) - deep >= 2
    texts: dict[int, list[str]] = defaultdict(list)
    for column in columns:
        leading = _leading(column)
        before: Line | None = None
        for line, indent in zip(column, _indents(column), strict=True):
            gap = before is not None and before.y - line.y > _GAP * leading
            starts = indent <= 3 if hanging else gap and not by_number
            if starts:
                texts[line.page].append("")
            texts[line.page].append(line.text)
            before = line
    return [PdfPage(number, "\n".join(texts[number])) for number in sorted(texts)], hanging


def _with_marks_joined(lines: Sequence[Line]) -> list[Line]:
    """The lines, with a number on a line of its own joined to its reference. Such a number is left
    out if the next reference follows directly: some styles leave an entry empty."""
    found: list[Line] = []
    alone: Line | None = None
    for line in lines:
        if _MARK_ALONE.match(line.text):
            alone = line
            continue
        if alone is not None and not _NUMBERED.match(line.text):
            line = alone._replace(text=f"{alone.text} {line.text}")
        alone = None
        found.append(line)
    return found


def _columns(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Runs of lines that go down one column of one page."""
    column: list[Line] = []
    for line in lines:
        if column and (line.page != column[-1].page or line.y > column[-1].y + 2 * line.size):
            yield column
            column = []
        column.append(line)
    if column:
        yield column


def _indents(column: Sequence[Line]) -> list[float]:
    left = min(line.x for line in column)
    return [line.x - left for line in column]


def _leading(column: Sequence[Line]) -> float:
    """The usual distance of two lines."""
    steps = [a.y - b.y for a, b in pairwise(column) if a.y - b.y > 1]
    return sorted(steps)[len(steps) // 4] if steps else 0.0


def body_pages(lines: Iterable[Line]) -> Iterator[PdfPage]:
    """The text by page, an empty line where a gap parts two paragraphs."""
    texts: dict[int, list[str]] = defaultdict(list)
    for column in _columns(list(lines)):
        leading = _leading(column)
        before: Line | None = None
        for line in column:
            if before is not None and before.y - line.y > _GAP * leading:
                texts[line.page].append("")
            texts[line.page].append(line.text)
            before = line
    for number in sorted(texts):
        yield PdfPage(number, "\n".join(texts[number]))


def title_of(lines: Sequence[Line]) -> str:
    """The first lines of the first page in its largest type; empty where none may be a title."""
    first = [line for line in lines if line.page == 1 and not _STAMP.match(line.text)]
    able = [
        line
        for line in first[:40]
        if sum(map(str.isalpha, line.text)) >= 4 and not _NOT_A_TITLE.match(line.text)
    ]
    if not able:
        return ""
    largest = max(line.size for line in able)
    begin = next(place for place, line in enumerate(able) if line.size >= 0.97 * largest)
    title = [able[begin]]
    for line in able[begin + 1 : begin + 6]:
        if line.size < 0.93 * largest or not 0 <= title[-1].y - line.y < 2.2 * line.size:
            break
        title.append(line)
    return " ".join(" ".join(line.text for line in title).split())


def abstract_of(body: Sequence[Line]) -> str:
    """What stands between "Abstract" and the introduction on the first two pages."""
    found: list[str] = []
    begun = False
    for line in body:
        if line.page > 2:
            break
        if not begun:
            if _ABSTRACT.match(line.text):
                begun = True
                found.append(_ABSTRACT.sub("", line.text))
            continue
        if _INTRODUCTION.match(line.text):
            return " ".join(" ".join(found).split())[:_MOST_ABSTRACT]
        found.append(line.text)
    return ""
