"""The YAML front matter of a Markdown document, parsed as far as needed, with ranges.

Only the subset of YAML that front matter uses for titles and bibliographies is parsed; the rest is
skipped. No YAML library keeps the ranges that edits need.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from citewell.model.document import Span

_FENCE = re.compile(r"---[ \t]*\r?\n(?![ \t]*\r?\n)")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?=[ \t\r\n]|$)[ \t]*", re.MULTILINE)
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*(?:#[^\n]*)?\r?\n")
_ITEM = re.compile(r"^[ \t]*-[ \t]+", re.MULTILINE)
_TEXT = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^\s#\[\],"'][^\n#\[\],]*""")
_LINE_TEXT = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'][^\n]*""")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")

_TEXTS = frozenset({"nocite", "abstract"})


class FrontMatter(msgspec.Struct, frozen=True):
    """The parts of a YAML block that concern citations."""

    span: Span
    """Contents between the two `---` lines."""
    title: str = ""
    abstract: str = ""
    bibliographies: tuple[tuple[str, Span], ...] = ()
    """Files as written, with the range of the name inside its quotes."""
    cites: tuple[tuple[str, Span], ...] = ()
    """Values that may contain citations, "nocite" and "abstract", with their ranges."""
    bibliography_key: Span | None = None
    """The whole `bibliography:` entry, to which a file can be added."""
    references: Span | None = None
    """Range of the block, if it has a list of `references`."""


def front_matter_span(text: str) -> tuple[Span, int] | None:
    """The contents of the block and the offset after it; None when there is no closed block."""
    start = 1 if text.startswith("\ufeff") else 0
    opening = _FENCE.match(text, start)
    if opening is None:
        return None
    closing = _CLOSE.search(text, opening.end())
    if closing is None:
        return None
    return Span(opening.end(), closing.start()), closing.end()


def later_block(text: str, start: int) -> tuple[Span, int] | None:
    """Contents and end of the metadata block at `start`, within a document; None for a rule."""
    opening = _FENCE.match(text, start)
    if opening is None or not (
        _KEY.match(text, opening.end()) or text.startswith("#", opening.end())
    ):
        return None
    closing = _CLOSE.search(text, opening.end())
    return None if closing is None else (Span(opening.end(), closing.start()), closing.end())


def read_front_matter(text: str, span: Span) -> FrontMatter:
    """Parse the YAML at `span`; broken YAML is parsed as far as possible."""
    title = abstract = ""
    files: list[tuple[str, Span]] = []
    cites: list[tuple[str, Span]] = []
    entry: Span | None = None
    keys = list(_KEY.finditer(text, span.start, span.end))
    for number, match in enumerate(keys):
        end = keys[number + 1].start() if number + 1 < len(keys) else span.end
        key = match["key"].lower()
        if key in _TEXTS:
            cites.append((key, Span(match.end(), end)))
        if key == "title":
            title = title or _scalar(text, match.end(), end)
        elif key == "abstract":
            abstract = abstract or _scalar(text, match.end(), end)
        elif key == "bibliography":
            files += _list(text, match.end(), end)
            entry = Span(match.start(), end)
    listed = span if any(match["key"] == "references" for match in keys) else None
    return FrontMatter(span, title, abstract, tuple(files), tuple(cites), entry, listed)


def join_metadata(blocks: Sequence[FrontMatter]) -> FrontMatter | None:
    """The blocks of a document as one: a later value replaces an earlier one, as in Pandoc. Its
    span is that of the block that declares the bibliographies, else of the first."""
    if not blocks:
        return None
    joined = blocks[0]
    for block in blocks[1:]:
        declares = block.bibliography_key is not None
        joined = FrontMatter(
            block.span if declares else joined.span,
            block.title or joined.title,
            block.abstract or joined.abstract,
            block.bibliographies if declares else joined.bibliographies,
            (*joined.cites, *block.cites),
            block.bibliography_key if declares else joined.bibliography_key,
            block.references or joined.references,
        )
    return joined


def _scalar(text: str, start: int, end: int) -> str:
    block = _BLOCK.match(text, start, end)
    if block is not None:
        return " ".join(text[block.end() : end].split())
    match = _LINE_TEXT.match(text, start, end)
    if match is None:
        return ""
    value = match[0]
    if value[0] not in "\"'":  # a plain scalar may continue in indented lines
        value = _COMMENT.sub("", text[start:end])
    return " ".join(_unquote(value.strip()).split())


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r'\\(["\\/])', r"\1", value[1:-1])
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _list(text: str, start: int, end: int) -> list[tuple[str, Span]]:
    """Names in `refs.bib`, `[a.bib, "b.bib"]` or a list of `- a.bib` lines."""
    found: list[tuple[str, Span]] = []
    if text[start:end].lstrip().startswith("-"):
        for item in _ITEM.finditer(text, start, end):
            line_end = text.find("\n", item.end(), end)
            found += _names(text, item.end(), line_end if line_end >= 0 else end)[:1]
        return found
    return _names(text, start, end)


def _names(text: str, start: int, end: int) -> list[tuple[str, Span]]:
    found: list[tuple[str, Span]] = []
    position = start
    while position < end:
        char = text[position]
        if char == "#" and (position == start or text[position - 1].isspace()):
            line_end = text.find("\n", position, end)
            position = line_end if line_end >= 0 else end
            continue
        match = _TEXT.match(text, position, end)
        if match is None:
            position += 1
            continue
        position = match.end()
        raw = match[0].rstrip()
        quoted = len(raw) >= 2 and raw[0] in "\"'"
        name = _unquote(raw)
        if name:
            place = match.start() + quoted
            found.append((name, Span(place, place + len(raw) - 2 * quoted)))
    return found
