"""The parts of a paper, from the lines of its PDF: running heads dropped, title, reference list.

The lines are in the order in which the file draws them, column after column. A reference begins at
a line with a hanging indent below it, or at a line with a gap above it.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from citewell.model.pdf import PdfPage

# The lines of a PDF page with their position and size, as pdfium reports them.
#
# This is the only module that uses pypdfium2; only the reading process (`child`) imports it.

MAX_PAGE_CHARACTERS = 100_000
"""Characters of one page; a page of a dense two-column paper has about 7,000."""

# pdfium returns the character code if a font lacks a mapping to Unicode. The frequent case is TeX's
# fonts in the T1 encoding, and the codes 0B, 0C, 0E and 0F of OT1.
_CODES = {
    0x0B: "ff", 0x0C: "fi", 0x0E: "ffi", 0x0F: "ffl",
    0x10: "“", 0x11: "”", 0x12: "„", 0x13: "«", 0x14: "»", 0x15: "–", 0x16: "—",
    0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl",
}  # fmt: skip
_CODES |= {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_CODES |= dict.fromkeys((0x00, *range(0x03, 0x09), 0x17, 0x18, 0x19, 0x1A, 0x7F), "")
_HYPHENS = ("\ufffe", "\x02")
"""Characters for a hyphen at a line end, directly followed by the next line."""


class Line(NamedTuple):
    """One line of text."""

    page: int
    """1-based."""
    text: str
    x: float
    """Left end of the baseline in points."""
    y: float
    """Height of the baseline; grows upwards."""
    size: float
    """Font size of the first letter, in points."""


def page_lines(page: Any, number: int) -> list[Line]:
    """The lines of a page of `pypdfium2`, in the order in which the file draws them."""
    from pypdfium2 import raw

    text_page = page.get_textpage()
    try:
        handle = text_page.raw
        count = min(raw.FPDFText_CountChars(handle), MAX_PAGE_CHARACTERS)
        if count <= 0:
            return []
        text = text_page.get_text_range(0, count, errors="ignore")
        return [
            Line(number, readable(words), *_place(raw, handle, at))
            for at, words in _split(text)
            if words.strip()
        ]
    finally:
        text_page.close()


def readable(text: str) -> str:
    """The text with hyphenated words joined, ligatures split and unmapped codes replaced. A hyphen
    at a line end is dropped before a small letter, as in `reference_list.joined`."""
    for hyphen in _HYPHENS:
        if hyphen in text:
            first, *rest = text.split(hyphen)
            text = first + "".join(
                part if part[:1].islower() and first[-1:].isalpha() else f"-{part}" for part in rest
            )
    return text.translate(_CODES).replace("\u00a0", " ").strip()


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Index of the first visible character and the text of each line."""
    at = 0
    for line in text.split("\n"):
        yield at + len(line) - len(line.lstrip()), line.strip("\r")
        at += len(line) + 1


def _place(raw: Any, handle: Any, at: int) -> tuple[float, float, float]:
    """Left end, height and font size of the character at index `at` of the text."""
    index = raw.FPDFText_GetCharIndexFromTextIndex(handle, at)
    x, y, box = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
    raw.FPDFText_GetCharOrigin(handle, index, x, y)
    size = raw.FPDFText_GetFontSize(handle, index)
    if size < 2 and raw.FPDFText_GetLooseCharBox(handle, index, box):
        # The font is scaled by the text matrix.
        size = box.top - box.bottom
    return x.value, y.value, float(size)


HEADING_WORDS = (
    "references?(?: cited| and notes| list)?|bibliograph(?:y|ie|ia)|literature(?: cited)?"
    "|works cited|sources|citations"
    "|cited works|further reading|literatur(?:verzeichnis|a)?|quellen(?:verzeichnis)?"
    "|r[ée]f[ée]rences(?: bibliographiques)?"
    "|bibliograf[íi]a|referencias(?: bibliogr[áa]ficas)?|refer[êe]ncias(?: bibliogr[áa]ficas)?"
    "|riferimenti(?: bibliografici)?"
    "|bibliografie|referenties|literatuur(?:lijst)?|referenser|litteratur|kirjallisuus|l[äa]hteet|bibliografi|referanser"
    "|список литературы|литература|библиография|kaynak(?:ça|lar)|irodalom(?:jegyzék)?"
    "|literatura|seznam literatury"
    "|参考文献|參考文獻|引用文献|참고\\s?문헌|المراجع|βιβλιογραφία|αναφορές"
)
HEADING = re.compile(
    rf"^[\s#*_=]*(?:(?:\d+|[IVXA-Z])[.)]?\s+)?(?:selected\s+|key\s+)?(?:{HEADING_WORDS})[\s.:*_=#]*$",
    re.I,
)
"""The heading of a reference list, in the languages of papers."""
_END = re.compile(
    r"^(?:(?:[A-Z]|\d+)\.?\s+)?(?:appendix|appendices|supplementa\w+(?: \w+){0,2}"
    r"|acknowledge?ments?|(?:\w+ )?(?:paper )?checklist)\b.{0,60}$"
    r"|^Appendix [A-Z]\b.{0,80}$|^[A-Z]\.\d\s+[A-Z][a-z]",
    re.I,
)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_NUMBERED = re.compile(r"^(?:\[\d{1,4}\]|\(\d{1,4}\)|\d{1,4}[.)])\s")
_COUNTED = re.compile(r"^[\[(]?(\d{1,4})(?:[\])][.:]?|[.)])\s")
_NAMED = re.compile(
    r"^(?:[^\W\d_a-z][\w'’-]+(?: [^\W\d_a-z][\w'’-]+)?,\s(?:[^\W\d_a-z]\.[ -]?){1,4}"
    r"|(?:[^\W\d_a-z]\.[ -]?){1,4}[^\W\d_a-z][\w'’-]+(?:,| and )"
    r"|[^\W\d_a-z][\w'’-]+ [^\W\d_a-z]{1,3}(?:,|\.) )"
)
"""Surname and initials at the start of a line."""
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
"""Lines of a bibliography of 10,000 references."""
_MOST_ABSTRACT = 4_000
_GAP = 1.3
"""Minimum gap between two paragraphs, in units of the usual line distance."""
_HEADS = 3
"""Pages on which a line at the edge must recur to be a running head; two, if it is set apart."""
_APART = 1.8
"""Distance between a running head and the text, in units of the type size."""


def without_heads(lines: Sequence[Line]) -> list[Line]:
    """All lines but page numbers and running heads: lines at the edge of a page that recur, numbers
    disregarded."""
    edges: dict[int, tuple[Line, Line]] = {}
    for line in lines:
        low, high = edges.get(line.page, (line, line))
        edges[line.page] = (line if line.y < low.y else low, line if line.y > high.y else high)
    seen = Counter(_shape(line) for pair in edges.values() for line in set(pair))
    heights: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        heights[line.page].append(line.y)

    def is_apart(line: Line) -> bool:
        others = [abs(line.y - y) for y in heights[line.page] if y != line.y]
        return bool(others) and min(others) > _APART * line.size

    def is_head(line: Line) -> bool:
        if line.y not in {edge.y for edge in edges[line.page]}:
            return False
        times = seen[_shape(line)]
        return not _shape(line) or times >= _HEADS or (times > 1 and is_apart(line))

    return [line for line in lines if not is_head(line)]


def _shape(line: Line) -> str:
    return _DIGITS.sub("", line.text).strip(" .-–—|·").lower()


def is_reference_heading(text: str) -> bool:
    """True for the heading of a reference list, even with spaced letters."""
    if HEADING.match(text):
        return True
    return len(text) < 60 and " " in text and HEADING.match(re.sub(r"\s+", "", text)) is not None


def parted(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines of the text, and those of the reference lists without their headings."""
    body: list[Line] = []
    references: list[Line] = []
    inside = False
    size = 0.0
    for place, line in enumerate(lines):
        if is_reference_heading(line.text):
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
    return (body, references) if references else _without_heading(body)


def _without_heading(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the text and the references of a paper without a reference heading: lines with rising
    numbers from 1, or with names and years, down to its end or the next heading."""
    half = len(lines) // 3  # references follow the text
    for begin in range(half, len(lines)):
        numbered = re.match(r"^[\[(]?1[\])]?[.)]?\s", lines[begin].text) is not None
        if not numbered and not _NAMED.match(lines[begin].text):
            continue
        size, end = lines[begin].size, begin + 1
        while end < len(lines) and not _ends(lines[end], size):
            end += 1
        if _are_references(lines[begin:end], numbered=numbered):
            return [*lines[:begin], *lines[end:]], list(lines[begin:end])
    return list(lines), []


def _are_references(lines: Sequence[Line], *, numbered: bool) -> bool:
    """True for at least three references of about three lines, nearly all with a year."""
    if numbered:
        marks = [int(found[1]) for line in lines if (found := _COUNTED.match(line.text))]
        starts = sum(number in marks for number in range(1, len(marks) + 1))
        rising = marks[:3] == [1, 2, 3]
    else:
        starts = sum(_NAMED.match(line.text) is not None for line in lines)
        rising = True
    years = sum(_YEAR.search(line.text) is not None for line in lines)
    return rising and starts >= 3 and years >= 0.6 * starts and len(lines) <= 5 * starts


def _ends(line: Line, size: float) -> bool:
    """Whether a line after references is the heading of another section."""
    if _END.match(line.text):
        return True
    larger = line.size > 1.12 * size
    return (
        larger and len(line.text) < 90 and not _YEAR.search(line.text) and line.text[:1].isalnum()
    )


def reference_pages(lines: Sequence[Line]) -> tuple[list[PdfPage], bool]:
    """The reference list by page, with an empty line before each reference that the layout reveals;
    and whether these are all, because all other lines are indented."""
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
    """The lines, with a number on its own line joined to its reference. It is left out if the next
    reference follows directly: some styles leave an entry empty."""
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
    """Runs of lines down one column of one page."""
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
    """The usual line distance."""
    steps = [a.y - b.y for a, b in pairwise(column) if a.y - b.y > 1]
    return sorted(steps)[len(steps) // 4] if steps else 0.0


def body_pages(lines: Iterable[Line]) -> Iterator[PdfPage]:
    """The text by page, with an empty line where a gap separates two paragraphs."""
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
    """The first lines of the first page in its largest type; empty if none can be a title."""
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
        # In small capitals, the size of a line is that of most of its letters.
        capitals = line.text.isupper() and title[-1].text.isupper()
        least = (0.7 if capitals else 0.93) * largest
        if line.size < least or not 0 <= title[-1].y - line.y < 2.2 * line.size:
            break
        title.append(line)
    return " ".join(" ".join(line.text for line in title).split())


def abstract_of(body: Sequence[Line]) -> str:
    """The text between "Abstract" and the introduction on the first two pages."""
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
