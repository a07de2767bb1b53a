"""Splits a pasted list into references, and joins the lines of each.

Lists come from PDF viewers, word processors, web pages, language models and other people's papers:
numbered, with bullets, as table rows, separated by empty lines, with hanging lines, one per line,
in one paragraph, or just wrapped, with headings and sentences around them. The kind of separator is
determined for the list as a whole, because a single reference can look like anything.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from citewell.documents.pdf.layout import HEADING, HEADING_WORDS
from citewell.verification.author_list import UPPER, leading_names
from citewell.verification.free_text import parse_reference

Piece = tuple[int, int, str]
"""Start and end in the text, and the number or label before the reference."""

_ROMAN = (
    "i",
    "ii",
    "iii",
    "iv",
    "v",
    "vi",
    "vii",
    "viii",
    "ix",
    "x",
    "xi",
    "xii",
    "xiii",
    "xiv",
    "xv",
)
_NUMBER = re.compile(
    r"^[ \t]*(?:\[(\d{1,4})\][:.]?|\((\d{1,4})\)|(\d{1,4})[.):](?!\d)|(\d{1,4})(?=\t| "
    r"{1,4}[A-Z\"“])"
    r"|\(?([a-z])\)|\(?([ivx]{1,5})[.)])[ \t]*(?=\S)",
    re.M,
)
"""A number, letter or Roman number at the start of a line, each form in its own group."""
_INLINE = re.compile(
    r"(?:^|(?<=[\s.;,)\]]))(?:\[(\d{1,4})\][:.]?|\((\d{1,3})\)|(\d{1,3})[.)])[ \t]*(?=[^\W\d_]"
    r"|[\"“‘*_\[])"
)
"""A number inside a paragraph."""
_LABEL = re.compile(r"^[ \t]*\[([^\W\d_][\w+'’.,& :-]{1,40})\]:?[ \t]+(?=\S)", re.M)
_BULLET = re.compile(r"^[ \t]*(?:•[ \t]*|[‣▪◦●○∙·*+→➤✓✔■□–—-][ \t]+)(?=\S)", re.M)
_GAP = re.compile(r"\n[ \t\r]*\n\s*")
_LINE = re.compile(r"[^\n]*\n?")
_HEADING_BEFORE = re.compile(rf"^\W*(?:{HEADING_WORDS})\s*:\s+(?=\S)", re.I)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_SOURCE = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)|https?://|\bdoi\b|arxiv|10\.\d{4,9}/", re.I)
_ENDS = re.compile(r"(?:[.)\]”\"]|\d|https?://\S+|\bdoi\S*)\s*$")
_PARTICLE = r"(?:(?:van|von|de|den|der|di|da|del|la|le|du|ten|ter|al|el|bin)\s+)*"
_DASHES = r"(?:[-–—_―⸺⸻]{2,}|[—―⸺⸻])"
SAME_AUTHORS = re.compile(rf"^\s*{_DASHES}[.,:;]?\s*(?=\S)")
"""Dashes for the authors of the previous reference."""
_STARTS = re.compile(
    rf"^\s*(?:{_PARTICLE}{UPPER}[\w'’-]+(?:[ -]{UPPER}[\w'’-]+)?,\s+{UPPER}"  # Ash, A.   Ash, Ann
    rf"|(?:{UPPER}\.[ -]?){{1,4}}\s*{_PARTICLE}{UPPER}[\w'’-]+"  # A. Ash
    rf"|{UPPER}[\w'’-]+(?:\s+{UPPER}\.?[\w'’-]*){{1,3}}(?:,|\s+and\s|\.\s|\s+\()"  # Ann Ash,
    rf"|{UPPER}[\w'’-]+\s+{UPPER}{{1,3}}(?:,|\.)\s"  # Ash AB,
    rf"|{UPPER}[\w'’-]+(?:\s+{UPPER}\.?[\w'’-]*){{0,3}},?\s+et\s+al\b"  # Ann Ash et al.
    rf"|{_DASHES}[.,]?\s)"
)
_FULL = rf"{UPPER}[\w'’-]*(?:\s+{UPPER}\.?[\w'’-]*){{1,3}}"
_NAMES = re.compile(
    rf"^\s*(?:{_PARTICLE}{UPPER}[\w'’-]+(?:[ -]{UPPER}[\w'’-]+)?,\s+{UPPER}\."
    rf"|(?:{UPPER}\.[ -]?){{1,4}}\s*{_PARTICLE}{UPPER}[\w'’-]+"
    rf"|{_FULL}(?:,\s+|\s+and\s+){_FULL}(?:,|\.|\s+and\s))"
)
"""Certain names: initials, or two full names in a row."""
_STOP = re.compile(r"(?:[^\W\d_]{3}|[\d)])\.\s*$")
_TALK = re.compile(
    r"\b(?:here|these|those|this|following|below|above|I|you|your|we|our|let|please|note|hope|provided?|relevant|listed|"
    r"some|key|recommend\w*|sources?|papers?|references?|citations?|bibliography|verify|check)\b",
    re.I,
)
"""Words in sentences around a list."""
_BETWEEN = re.compile(
    r"(?:(?<=[\d)\]a-z/])|(?<=\d[a-z]))[.;]\s+(?=[A-Z\[])|\s+(?=\[\d{1,3}\]\s)|\s+[/|]\s+(?=[A-Z])"
)
"""Possible boundaries between two references on one line."""
_MOST_BETWEEN = 60
_MOST_WHOLE = 500
"""Maximum number of lines examined for whole references."""
_PLAIN = str.maketrans("\r\u00a0\u2007\u202f\u2028［］（）【】，；：、．", "    \n[]()[],;:..")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def without_list_marks(text: str) -> str:
    """The text with the marks of a plain list instead of those of quotations, HTML, LaTeX, tables
    and data files; every other character keeps its offset."""
    text = text.translate(_PLAIN)
    for pattern, put in _MARKS:
        if pattern.search(text):
            text = pattern.sub(put, text)
    if re.search(r"^[ \t]*\|.*\|[ \t]*$", text, re.M):
        text = _without_table(text)
    return _without_quotes(text)


def _put(words: str) -> Callable[[re.Match[str]], str]:
    """A replacement of the same length, with {0} as the first group."""

    def padded(found: re.Match[str]) -> str:
        out = words.format(*((one or "").translate(_SUPERSCRIPTS) for one in found.groups()))
        size = len(found.group())
        return out[:size].rjust(size) if out.startswith("\n") else out[:size].ljust(size)

    return padded


_MARKS = (
    (re.compile(r"^[ \t]*(?:>[ \t]?)+", re.M), _put("")),
    (re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M), _put("")),
    (re.compile(r"<(?:li|dd|dt)\b[^>\n]*>", re.I), _put("\n• ")),
    (re.compile(r"<(?:p|tr|div)\b[^>\n]*>", re.I), _put("\n\n")),
    (re.compile(r"<br\s*/?>", re.I), _put("\n")),
    (re.compile(r"</?(?:[uod]l|li|p|t[dhr]|table|t?body|thead|div|section|html)\b[^>\n]*>", re.I),
     _put(" ")),
    (re.compile(r"^[ \t]*\\item\b(?:[ \t]*\[[^\]\n]*\])?", re.M), _put("•")),
    (re.compile(r"(?<=\s)\\item\b"), _put("\n•")),
    (re.compile(r"\\(?:begin|end)\s*\{[^{}\n]*\}(?:\[[^\]\n]*\]|\{\d*\})?"), _put("")),
    (re.compile(r"^([ \t]*)\[\^([^\]\n]{1,40})\]:?", re.M), _put("{0}[{1}]")),
    (re.compile(r"^([ \t]*)([⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})[ \t]?(?=\S)", re.M),
     _put("{0}{1}.")),
    (re.compile(r"^([ \t]*)(\d)\ufe0f?\u20e3", re.M), _put("{0}{1}.")),
    (re.compile(r"^([ \t]*[-*+])[ \t]+\[[ xX]\]", re.M), _put("{0}")),
    (re.compile(r"^[ \t]*#{1,6}[ \t]+(?=\S)", re.M), _put("")),
    (re.compile(r"^[ \t]*(?:\*\*|__)?(?:Ref(?:erence|\.)?|Source|Citation|Paper|No\.|Entry)\s*#?"
                r"(\d{1,3})[:.)](?:\*\*|__)?", re.M | re.I), _put("{0}.")),
    (re.compile(r"^[ \t]*(?:\*\*|__)(\[?\d{1,3}[.)\]])(?:\*\*|__)", re.M), _put("{0}")),
    (re.compile(r"^[ \t]*#(\d{1,3})[:.)]?(?=\s)", re.M), _put("{0}.")),
)  # fmt: skip
"""Patterns and their replacements; the rest of the match is filled with blanks."""


def _without_table(text: str) -> str:
    """The rows of a Markdown table as items, with cells as sentences, and without head and
    ruler."""
    lines, rows = text.split("\n"), text.split("\n")
    ruler = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}[-|: \t]*$")
    for n, line in enumerate(lines):
        if ruler.match(line):
            lines[n] = " " * len(line)
            if n and "|" in rows[n - 1] and not _YEAR.search(rows[n - 1]):
                lines[n - 1] = " " * len(lines[n - 1])
        elif line.strip().startswith("|"):
            begin, end = line.index("|"), line.rstrip().rfind("|")
            cells = re.sub(
                r"[.,;]?[ \t]\|", lambda found: ".".ljust(len(found.group())), line[begin + 1 : end]
            )
            lines[n] = line[:begin] + "•" + cells + " " * (len(line) - end)
    return "\n".join(lines)


def _without_quotes(text: str) -> str:
    """A JSON list of strings, or lines of quoted strings, as items."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" \t,[]")]
    quoted = lines and all(re.fullmatch(r"\[?\s*\".*\"\s*,?\s*\]?,?", line) for line in lines)
    if not quoted:
        return text
    out = list(text)
    for string in re.finditer(r"\"((?:[^\"\\]|\\.|\"\")*)\"(\s*,)?", text):
        begin, end = string.span()
        first = not text[text.rfind("\n", 0, begin) + 1 : begin].strip(" \t[")
        several = text[end:].partition("\n")[0].strip(" \t,]") and not _is_json(text)
        out[begin] = ("\n" if _is_json(text) and not first else " ") if not first else "•"
        for at in range(begin + 1 + len(string[1]), end):
            out[at] = " "
        if several:
            out[begin + 1 + len(string[1])] = "."
    bare = "".join(out)
    bare = re.sub(r"\\(?=\")|\"(?=\")", " ", bare)
    bare = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)).ljust(6), bare)
    return re.sub(r"^[ \t]*\[|\][ \t]*$", lambda found: " " * len(found.group()), bare)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def pieces(text: str) -> Iterator[Piece]:
    """The references of a list, in order, without the headings and sentences around them."""
    text = _without_talk(text)
    lines = _lines(text)
    if not lines:
        return
    for find in (_numbered, _labelled, _bulleted, _inline, _by_semicolons, _parted, _hanging):
        found = find(text, lines)
        if found:
            break
    else:
        found = _by_line(text, lines)
    for start, end, key in found:
        yield from _run_on(text, start, end, key)


def _without_talk(text: str) -> str:
    """The text with headings and unrelated sentences blanked."""
    out, at = list(text), 0
    paragraphs = re.split(r"(\n[ \t]*\n)", text)
    for paragraph in paragraphs:
        first = paragraph.lstrip("\n").partition("\n")[0]
        skipped = len(paragraph) - len(paragraph.lstrip("\n"))
        if _is_talk(paragraph) and len(paragraphs) > 1:
            gone = len(paragraph)
        elif first.strip() and len(first) < len(paragraph.strip()) and _is_talk(first):
            gone = skipped + len(first)
        else:
            heading = _HEADING_BEFORE.match(paragraph)
            gone = heading.end() if heading else 0
        out[at : at + gone] = [char if char == "\n" else " " for char in paragraph[:gone]]
        at += len(paragraph)
    return "".join(out)


def _is_talk(words: str) -> bool:
    """True for a heading, a page number or an unrelated sentence."""
    bare = words.strip(" \t\n*_#=-")
    if not bare or bare.isdigit() or HEADING.match(bare):
        return True
    if _MARKED.match(bare) or leading_names(bare) is not None:
        return False
    if bare.endswith(":"):
        return len(bare) < 300
    return not _SOURCE.search(bare) and len(bare) < 600 and _TALK.search(bare) is not None


_MARKED = re.compile(rf"(?:{_NUMBER.pattern}|{_LABEL.pattern}|{_BULLET.pattern})", re.M)


def _before(text: str, first: int) -> list[Piece]:
    """The references before the first mark of a list: usually none."""
    words = text[:first]
    if not _YEAR.search(words):
        return []
    return [one for one in pieces(words) if leading_names(" ".join(words[one[0] : one[1]].split()))]


def _is_reference(words: str) -> bool:
    claim = parse_reference(joined(words))
    return bool(claim.authors) and claim.year is not None and len(claim.title.split()) > 1


def _run_on(text: str, start: int, end: int, key: str) -> Iterator[Piece]:
    """The references of one piece: two if one runs into the next."""
    words = text[start:end]
    for number, between in enumerate(_BETWEEN.finditer(words)):
        if number > _MOST_BETWEEN:
            break
        before, after = words[: between.start() + 1], words[between.end() :]
        mark = re.match(r"\[(\d{1,3})\]\s+", after)
        if _is_whole(before) and _is_whole(
            after[mark.end() :] if mark else after, marked=bool(mark)
        ):
            yield start, start + between.start() + 1, key
            begin = start + between.end() + (mark.end() if mark else 0)
            yield from _run_on(text, begin, end, mark[1] if mark else "")
            return
    yield start, end, key


def _is_whole(words: str, *, marked: bool = True) -> bool:
    """True for names, a title of some words and a year, in this order. Without a mark before them,
    the names must be certain: several, all with given names."""
    bare = " ".join(words.split())
    names = leading_names(bare)
    if names is None or not all(author.given or marked for author in names.authors):
        return False
    written, rest = bare[: names.end], bare[names.end :]
    if not marked and len(names.authors) < 2 and not re.match(r"\.\s", rest):
        return False
    if re.match(r"[\s,]*(?:[(\[]?[Ee]d(?:s|itors?)?\b|[Pp]ress\b|[Ii]nc\b)", rest) or _PLACE.search(
        written
    ):
        return False
    title = re.sub(r"^\W*(?:\(?\d{4}[a-z]?\)?)?\W*", "", rest)
    if re.match(r"[\s.,:]*(?:\(?(?:1[5-9]|20)\d\d[a-z]?\)?[\s.,:]|[\"“‘])", rest):
        return len(title.split()) > 3
    small = re.findall(r"\b[a-zß-ÿ]{3,}", re.split(r"[.?!]\s", title)[0])
    return len(small) >= 2 and _YEAR.search(rest) is not None


_PLACE = re.compile(
    r"\b(?:Springer|Press|Verlag|Elsevier|Wiley|IEEE|ACM|Curran|Associates|University|Publish\w+|USA|UK|NY|CA|Berlin|York|"
    r"London|Paris|Germany|China|Canada|Italy|Spain|Japan|Morgan|Kaufmann|Conference|Proceedings|Journal|International|"
    r"Report|Retrieved|Accessed|Available|Machine|Learning|Association|Society)\b"
)
"""Words of publishers, places and venues that look like names."""


def joined(text: str) -> str:
    """The text of one reference on one line, with ligatures split and hyphenated words joined.

    A hyphen at the end of a line is dropped before a small letter; comparisons are by letters, so
    that it does not matter whether the word has one.
    """
    text = unicodedata.normalize("NFC", text.replace("\u00ad\n", "").replace("\u00ad", ""))
    for ligature in "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06":
        if ligature in text:
            text = text.replace(ligature, unicodedata.normalize("NFKC", ligature))
    text = re.sub(r"(?<=[^\W\d_])[-\u2010\u2011][ \t\r]*\n[ \t]*(?=[a-zà-ÿ])", "", text)
    text = re.sub(r"(?<=\w)([-\u2010\u2011\u2013/])[ \t\r]*\n[ \t]*(?=\w)", r"\1", text)
    return " ".join(text.split())


def _lines(text: str) -> list[tuple[int, int]]:
    """Start and end of each line, without empty lines, headings and page numbers."""
    found = []
    for line in _LINE.finditer(text):
        words = line.group()
        if words.strip() and not HEADING.match(words) and not words.strip().isdigit():
            found.append((line.start(), line.start() + len(words.rstrip())))
    return found


def _numbered(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References with rising numbers of one form; a year at the start of a line is no number."""
    best: list[tuple[int, int, str]] = []
    marks = list(_NUMBER.finditer(text))
    for form in range(1, 7):
        chain: list[tuple[int, int, str]] = []
        last = 0
        for mark in marks:
            if mark[form] is None:
                continue
            number = _count_of(mark[form])
            step = number - last
            begins = (
                number == 1
                and not text[: mark.start()].rpartition("\n")[0].rpartition("\n")[2].strip()
            )
            if chain and begins:  # the next list, under its own heading
                last = step = 1
            if (
                (number <= (999 if form < 4 else 1))
                if not chain
                else 0 < step <= (3 if form == 1 else 1)
            ):
                chain.append((mark.start(), mark.end(), mark[form]))
                last = number
        best = max(best, chain, key=len)
    same = [mark for mark in marks if mark[3] == "1"]
    if len(same) > len(best):  # "1." before each, which Markdown allows
        best = [(mark.start(), mark.end(), str(n)) for n, mark in enumerate(same, 1)]
    if not best or (len(best) == 1 and (best[0][0] > lines[0][1] or _inline(text, lines))):
        return []
    return [*_before(text, best[0][0]), *_between(text, best)]


def _count_of(mark: str) -> int:
    if mark.isdigit():
        return int(mark)
    return _ROMAN.index(mark) + 1 if mark in _ROMAN else ord(mark[0]) - ord("a") + 1


def _labelled(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    marks = [(mark.start(), mark.end(), mark[1]) for mark in _LABEL.finditer(text)]
    return _between(text, marks) if marks and marks[0][0] <= lines[0][0] else []


def _bulleted(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References after bullets; of nested items, the outer ones."""
    found = list(_BULLET.finditer(text))
    indents = [len(mark.group()) - len(mark.group().lstrip()) for mark in found]
    marks = [(mark.start(), mark.end(), "") for mark, indent in zip(found, indents, strict=True)
             if indent <= min(indents) + 1]  # fmt: skip
    if not marks or (marks[0][0] > lines[0][0] and len(marks) < 2):
        return []
    return [*_before(text, marks[0][0]), *_between(text, marks)]


def _inline(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References in one paragraph with rising numbers before them."""
    best: list[tuple[int, int, str]] = []
    for form in (1, 2, 3):
        chain: list[tuple[int, int, str]] = []
        for mark in _INLINE.finditer(text):
            number = int(mark[form] or 0)
            first = form == 1 or number == 1
            if mark[form] and (
                (not chain and first) or (chain and number == int(chain[-1][2]) + 1)
            ):
                chain.append((mark.start(), mark.end(), mark[form]))
        best = max(best, chain, key=len)
    found = _between(text, best) if len(best) > 1 else []
    if not found or not all(_SOURCE.search(text, a, b) for a, b, _ in found):
        return []
    return [*_before(text, best[0][0]), *found]


def _by_semicolons(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References in one paragraph, separated by semicolons, each complete."""
    start, end = lines[0][0], lines[-1][1]
    ends = [mark.end() for mark in re.finditer(r";[ \t]*\n?[ \t]*(?=\S)", text[start:end])]
    found: list[Piece] = []
    begin = start
    for stop in [start + at for at in ends[:_MOST_BETWEEN]] + [end]:
        if _YEAR.search(text, begin, stop) and _is_reference(text[begin:stop].rstrip("; \n")):
            found.append(_trimmed(text, begin, stop, ""))
            begin = stop
    whole = begin == end and len(found) > 1
    return [(a, b - (text[b - 1] == ";"), key) for a, b, key in found] if whole else []


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
    # Empty lines between a few paragraphs of wrapped references are no separators.
    return found if dated >= 0.5 * len(found) or len(found) == len(lines) else []


def _hanging(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """References with all lines but the first indented."""
    indents = [len(text[a:b]) - len(text[a:b].lstrip()) for a, b in lines]
    least = min(indents)
    first = [n for n, indent in enumerate(indents) if indent <= least + 1]
    if indents[0] > least + 1 or not 1 <= len(first) < len(lines) or len(first) > 0.8 * len(lines):
        return []
    ends = [*first[1:], len(lines)]
    return [_trimmed(text, lines[n][0], lines[end - 1][1], "")
            for n, end in zip(first, ends, strict=True)]  # fmt: skip


def _by_line(text: str, lines: Sequence[tuple[int, int]]) -> list[Piece]:
    """One reference a line, or several lines until one begins like names."""
    dated = sum(_YEAR.search(text, a, b) is not None for a, b in lines)
    starts = [_STARTS.match(text[a:b]) is not None for a, b in lines]
    each = sum(starts) >= 0.8 * len(lines) and dated >= 0.6 * len(lines)
    if each or (
        1 < len(lines) <= _MOST_WHOLE
        and dated == len(lines)
        and all(_is_reference(text[a:b]) for a, b in lines)
    ):
        begins = [n for n, (a, b) in enumerate(lines)
                  if not n or starts[n] or _YEAR.search(text, a, b)]  # fmt: skip
        return [_trimmed(text, lines[n][0], lines[end - 1][1], "")
                for n, end in zip(begins, [*begins[1:], len(lines)], strict=True)]  # fmt: skip
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
    """True when a reference without a year has ended: a full stop, and names on the next line."""
    return len(so_far) > 60 and _STOP.search(so_far) is not None and bool(_NAMES.match(line))


def _trimmed(text: str, start: int, end: int, key: str) -> Piece:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, end - (len(piece) - len(piece.rstrip()))), key
