"""Where the references of a pasted list begin and end, and how their lines are joined.

Lists come from PDF viewers, word processors and other people's papers: numbered, with bullets,
separated by empty lines, with hanging lines, one per line, or just wrapped. The kind of separator
is determined for the list as a whole, because a single reference can look like anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

Piece = tuple[int, int, str]
"""Start and end in the text, and the number or label before the reference."""

_NUMBER = re.compile(r"^[ \t]*(?:\[(\d{1,4})\]|\((\d{1,4})\)|(\d{1,4})[.)])[ \t]*(?=\S)", re.M)
_LABEL = re.compile(r"^[ \t]*\[([^\W\d_][\w+'’-]{1,14})\][ \t]+(?=\S)", re.M)
_BULLET = re.compile(r"^[ \t]*[•‣▪◦●○∙·*–—-][ \t]+(?=\S)", re.M)
_GAP = re.compile(r"\n[ \t\r]*\n\s*")
_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(
    r"^\s*(?:\d+\.?\s+)?(?:references?|bibliography|literature(?: cited)?|works cited)\s*:?\s*$",
    re.I,
)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_ENDS = re.compile(r"(?:[.)\]”\"]|\d|https?://\S+|\bdoi\S*)\s*$")
_UP = r"[^\W\d_a-z]"
_PARTICLE = r"(?:(?:van|von|de|den|der|di|da|del|la|le|du|ten|ter|al|el|bin)\s+)*"
_STARTS = re.compile(
    rf"^\s*(?:{_PARTICLE}{_UP}[\w'’-]+(?:[ -]{_UP}[\w'’-]+)?,\s+{_UP}"  # Ash, A.   Ash, Ann
    rf"|(?:{_UP}\.[ -]?){{1,4}}\s*{_PARTICLE}{_UP}[\w'’-]+"  # A. Ash
    rf"|{_UP}[\w'’-]+(?:\s+{_UP}\.?[\w'’-]*){{1,3}}(?:,|\s+and\s|\.\s|\s+\()"  # Ann Ash,
    rf"|{_UP}[\w'’-]+(?:\s+{_UP}\.?[\w'’-]*){{0,3}},?\s+et\s+al\b)"  # Ann Ash et al.
)

_FULL = rf"{_UP}[\w'’-]*(?:\s+{_UP}\.?[\w'’-]*){{1,3}}"
_NAMES = re.compile(
    rf"^\s*(?:{_PARTICLE}{_UP}[\w'’-]+(?:[ -]{_UP}[\w'’-]+)?,\s+{_UP}\."
    rf"|(?:{_UP}\.[ -]?){{1,4}}\s*{_PARTICLE}{_UP}[\w'’-]+"
    rf"|{_FULL}(?:,\s+|\s+and\s+){_FULL}(?:,|\.|\s+and\s))"
)
"""Names beyond doubt: initials, or two full names in a row."""
_STOP = re.compile(r"(?:[^\W\d_]{3}|[\d)])\.\s*$")


def pieces(text: str) -> Iterator[Piece]:
    """The references of a list, in order."""
    lines = _lines(text)
    if not lines:
        return
    for find in (_numbered, _labelled, _bulleted, _parted, _hanging):
        found = find(text, lines)
        if found:
            yield from found
            return
    yield from _by_line(text, lines)


def joined(text: str) -> str:
    """The text of one reference on one line, with ligatures split and hyphenated words joined.

    A hyphen at the end of a line goes when a small letter follows; whether it belonged to the
    word does not matter to a comparison by letters.
    """
    text = unicodedata.normalize("NFC", text.replace("\u00ad\n", "").replace("\u00ad", ""))
    for ligature in "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06":
        if ligature in text:
            text = text.replace(ligature, unicodedata.normalize("NFKC", ligature))
    text = re.sub(r"(?<=[^\W\d_])[-\u2010\u2011][ \t\r]*\n[ \t]*(?=[a-zà-ÿ])", "", text)
    text = re.sub(r"(?<=\w)([-\u2010\u2011\u2013/])[ \t\r]*\n[ \t]*(?=\w)", r"\1", text)
    return " ".join(text.split())


def _lines(text: str) -> list[tuple[int, int]]:
    """Start and end of each line that is neither empty nor a heading nor a page number."""
    found = []
    for line in _LINE.finditer(text):
        words = line.group()
        if words.strip() and not _HEADING.match(words) and not words.strip().isdigit():
            found.append((line.start(), line.start() + len(words.rstrip())))
    return found


def _numbered(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References with rising numbers of one form; a year at the head of a line is no number."""
    best: list[tuple[int, int, str]] = []
    for form in (1, 2, 3):
        chain: list[tuple[int, int, str]] = []
        for mark in _NUMBER.finditer(text):
            if mark[form] is None:
                continue
            number = int(mark[form])
            if (not chain and number <= 999) or (chain and number == int(chain[-1][2]) + 1):
                chain.append((mark.start(), mark.end(), mark[form]))
        best = max(best, chain, key=len)
    if not best or (len(best) == 1 and text[: best[0][0]].strip()) or best[0][0] > lines[0][1]:
        return []
    return _between(text, best)


def _labelled(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    marks = [(mark.start(), mark.end(), mark[1]) for mark in _LABEL.finditer(text)]
    return _between(text, marks) if marks and marks[0][0] <= lines[0][0] else []


def _bulleted(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    marks = [(mark.start(), mark.end(), "") for mark in _BULLET.finditer(text)]
    return _between(text, marks) if marks and marks[0][0] <= lines[0][0] else []


def _between(text: str, marks: Sequence[tuple[int, int, str]]) -> list[Piece]:
    ends = [start for start, _, _ in marks[1:]] + [len(text)]
    return [
        _trimmed(text, begin, end, key) for (_, begin, key), end in zip(marks, ends, strict=True)
    ]


def _parted(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References separated by empty lines."""
    start, end = lines[0][0], lines[-1][1]
    gaps = list(_GAP.finditer(text, start, end))
    if not gaps:
        return []
    starts = [start, *(gap.end() for gap in gaps)]
    ends = [*(gap.start() for gap in gaps), end]
    found = [_trimmed(text, a, b, "") for a, b in zip(starts, ends, strict=True)]
    found = [one for one in found if text[one[0] : one[1]].strip()]
    dated = sum(_YEAR.search(text, a, b) is not None for a, b, _ in found)
    # Empty lines between a few paragraphs of wrapped references part nothing.
    return found if dated >= 0.5 * len(found) or len(found) == len(lines) else []


def _hanging(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References of which all lines but the first stand further in."""
    indents = [len(text[a:b]) - len(text[a:b].lstrip()) for a, b in lines]
    least = min(indents)
    first = [n for n, indent in enumerate(indents) if indent <= least + 1]
    if indents[0] > least + 1 or not 1 <= len(first) < len(lines) or len(first) > 0.8 * len(lines):
        return []
    ends = [*first[1:], len(lines)]
    return [_trimmed(text, lines[n][0], lines[end - 1][1], "")
            for n, end in zip(first, ends, strict=True)]  # fmt: skip


def _by_line(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """One reference a line, or lines that go on until one begins like names."""
    dated = sum(_YEAR.search(text, a, b) is not None for a, b in lines)
    starts = [_STARTS.match(text[a:b]) is not None for a, b in lines]
    if sum(starts) >= 0.8 * len(lines) and dated >= 0.6 * len(lines):
        return [_trimmed(text, a, b, "") for a, b in lines]
    found: list[Piece] = []
    begin = 0
    for n in range(1, len(lines) + 1):
        so_far = text[lines[begin][0] : lines[n - 1][1]]
        over = n == len(lines) or (
            starts[n]
            and _ENDS.search(so_far) is not None
            and (_YEAR.search(so_far) is not None or _undated(so_far, text[slice(*lines[n])]))
        )
        if over:
            found.append(_trimmed(text, lines[begin][0], lines[n - 1][1], ""))
            begin = n
    return found


def _undated(so_far: str, line: str) -> bool:
    """True when a reference that has no year is over: a full stop, and names on the next line."""
    return len(so_far) > 60 and _STOP.search(so_far) is not None and bool(_NAMES.match(line))


def _trimmed(text: str, start: int, end: int, key: str) -> Piece:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, end - (len(piece) - len(piece.rstrip()))), key
