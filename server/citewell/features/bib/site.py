"""What is being typed at a place in a .bib: an entry type, a field name or a value.

The entry is parsed forwards from its head to the cursor, because the text after the cursor is
still malformed while the author types.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from citewell.model.bib import BibFile
from citewell.model.document import Span

_HEAD = re.compile(r"@[ \t]*([A-Za-z]*)[ \t]*([{(])?")
_NAME = re.compile(r"\s*([^\s={},\"#%()]*)\s*(=)?\s*")
_WORD_END = re.compile(r"[\w:.+/-]*")
KEY_FIELDS = frozenset({"crossref", "xref", "xdata", "related", "entryset"})
"""Fields that name other entries."""
MAX_ENTRY = 200_000
"""An entry whose head is further away is not looked for."""


class SiteKind(StrEnum):
    TYPE = "type"
    """Behind an @."""
    NAME = "name"
    """Where the name of a field is expected."""
    TEXT = "text"
    """Within the braces or quotes of a value."""
    BARE = "bare"
    """Where a value begins, or within a macro's name."""


class BibSite(msgspec.Struct, frozen=True):
    """A place where something can be completed."""

    kind: SiteKind
    span: Span
    """What is replaced: from the beginning of the word or value to the cursor, or to the end of the
    word around the cursor."""
    typed: str
    """What stands from there to the cursor."""
    entry_type: str = ""
    field: str = ""
    """Name of the field in which the cursor stands, in lower case."""
    present: frozenset[str] = frozenset()
    """Fields that the entry has already, other than that one."""
    start: int = 0
    """Where the entry begins."""


def site_at(bib: BibFile, cursor: int) -> BibSite | None:
    """The place at the cursor; None where nothing can be completed: a key, a comment, a number."""
    text = bib.text
    head = _head_before(text, cursor)
    if head is None:
        return None
    opened = head.start(2)
    if opened < 0 or cursor <= opened:
        if not head.start() < cursor <= head.end(1):
            return None
        return BibSite(
            SiteKind.TYPE, Span(head.start(1), head.end(1)), text[head.start(1) : cursor]
        )
    kind = head[1].lower()
    if kind in ("comment", "preamble"):
        return None
    return _within(text, cursor, _Entry(head.start(), opened + 1, kind, head[2]))


class _Entry(msgspec.Struct, frozen=True):
    start: int
    inside: int
    """Offset behind the opening delimiter."""
    kind: str
    opener: str

    @property
    def closer(self) -> str:
        return "}" if self.opener == "{" else ")"


def _head_before(text: str, cursor: int) -> re.Match[str] | None:
    """The last @ that begins a line, or that stands directly before the word being typed."""
    low = max(0, cursor - MAX_ENTRY)
    at = cursor
    while (at := text.rfind("@", low, at)) >= 0:
        line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if not text[line:at].strip():
            return _HEAD.match(text, at)
    return None


def _within(text: str, cursor: int, entry: _Entry) -> BibSite | None:
    position = entry.inside
    if entry.kind != "string":
        comma = text.find(",", position, cursor)
        if comma < 0 or entry.closer in text[position:comma]:
            return None  # the key
        position = comma + 1
    names: list[str] = []
    while True:
        name = _NAME.match(text, position)
        assert name is not None
        if name[2] is None or cursor <= name.start(2):
            return _name_site(text, cursor, entry, name, names)
        field = name[1].lower()
        # The cursor may be in the blanks between the = and the value.
        end = _value_end(text, min(name.end(), cursor), cursor, entry.closer)
        if isinstance(end, BibSite):
            return _with(end, entry, field, frozenset([*names, *_later(text, cursor)]))
        if text[end : end + 1] != ",":
            return None  # behind the entry, or in something that no rule foresees
        names.append(field)
        position = end + 1


def _name_site(
    text: str, cursor: int, entry: _Entry, name: re.Match[str], names: list[str]
) -> BibSite | None:
    before = cursor < name.start(1) or not name[1]
    end = name.end() if before else name.end(1)
    if entry.kind == "string" or not name.start() <= cursor <= end:
        return None
    later = _later(text, cursor)
    if before:
        # In the blanks before the next field: a new one is typed.
        present = frozenset([*names, *later])
        return BibSite(
            SiteKind.NAME, Span(cursor, cursor), "", entry.kind, "", present, entry.start
        )
    present = frozenset([*names, *later]) - {name[1].lower() if name[2] else ""}
    span = Span(name.start(1), name.end(1))
    typed = text[span.start : cursor]
    return BibSite(SiteKind.NAME, span, typed, entry.kind, "", present, entry.start)


def _value_end(text: str, position: int, cursor: int, closer: str) -> BibSite | int:
    """The place in a value where the cursor stands, or where the value ends before it."""
    while True:
        while position < cursor and (text[position].isspace() or text[position] == "#"):
            position += 1
        if position >= cursor:
            return _bare(text, cursor, cursor)
        char = text[position]
        if char in '{"':
            end = _literal_end(text, position, cursor)
            if end < 0:
                begin = position + 1
                return BibSite(SiteKind.TEXT, Span(begin, cursor), text[begin:cursor])
            position = end
        elif char in (",", closer):
            return position
        else:
            begin = position
            while position < cursor and text[position] not in f" \t\r\n,#{closer}":
                position += 1
            if position >= cursor:
                return _bare(text, begin, cursor)


def _bare(text: str, begin: int, cursor: int) -> BibSite:
    rest = _WORD_END.match(text, cursor)
    end = rest.end() if rest is not None else cursor
    return BibSite(SiteKind.BARE, Span(begin, end), text[begin:cursor])


def _literal_end(text: str, position: int, cursor: int) -> int:
    """Where the literal that opens at `position` ends, if that is before the cursor; else -1."""
    quoted = text[position] == '"'
    depth = 0 if quoted else 1
    for at in range(position + 1, cursor):
        char = text[at]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0 and not quoted:
                return at + 1
        elif char == '"' and quoted and depth == 0:
            return at + 1
    return -1


_LATER = re.compile(r"^[ \t]*([A-Za-z][\w-]*)[ \t]*=", re.MULTILINE)


def _later(text: str, cursor: int) -> list[str]:
    """Names of the fields behind the cursor's line, up to the next entry."""
    line = text.find("\n", cursor)
    if line < 0:
        return []
    end = text.find("\n@", line, line + 20_000)
    close = text.find("\n}", line, line + 20_000)
    ends = [place for place in (end, close) if place >= 0]
    return [name.lower() for name in _LATER.findall(text, line, min(ends, default=line + 20_000))]


def _with(site: BibSite, entry: _Entry, field: str, present: frozenset[str]) -> BibSite:
    span, typed = site.span, site.typed
    if field in KEY_FIELDS and site.kind is SiteKind.TEXT and "," in typed:
        typed = typed.rpartition(",")[2].lstrip()
        span = Span(span.end - len(typed), span.end)
    return BibSite(site.kind, span, typed, entry.kind, field, present, entry.start)
