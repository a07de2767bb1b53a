"""Formatting a .bib as most of its own entries are laid out: blanks change, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.style import BibStyle, detect_style
from citewell.documents.textfile import apply_edits
from citewell.model.bib import BibEntry, BibField, BibFile, TextEdit
from citewell.model.document import Span

_COMMA = re.compile(r"\s*,\s*")
_EQUALS = re.compile(r"\s*=\s*")
_TAIL = re.compile(r"\s*(,?)\s*")


def format_bib(bib: BibFile, within: Span | None = None) -> tuple[TextEdit, ...]:
    """The edits that lay the entries out alike; with `within` only those of the entries in it.

    Indent, the place of `=`, the closing line and the empty lines between entries follow the file's
    own majority, aligned or not. Values, names, commas, comments and @string stay as they are. An
    entry that is broken or holds a comment is left alone, and so is one on a single line where most
    are.
    """
    style = detect_style(bib)
    entries = [entry for entry in bib.entries if entry.names]
    single = [entry for entry in entries if _is_single(bib.text, entry)]
    alone = {id(entry) for entry in single} if len(single) * 2 > len(entries) else set()
    edits = [
        edit
        for entry in entries
        if id(entry) not in alone and (within is None or _touches(entry, within))
        for edit in _entry_edits(bib.text, entry, style)
    ]
    if within is None:
        edits += _gaps(bib, style)
    changed = tuple(sorted(edits, key=lambda edit: edit.span))
    # The promise is kept even where the scanner and this module would read a file differently.
    after = parse_bib(apply_edits(bib.text, changed), bib.path)
    return changed if _content(after) == _content(bib) else ()


def _touches(entry: BibEntry, span: Span) -> bool:
    return entry.start <= span.end and span.start <= entry.end


def _content(bib: BibFile) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = [(b.type, b.body.text) for b in bib.blocks]
    found += [(e.type, e.key, *((f.name, f.raw) for f in e.fields)) for e in bib.entries]
    return found


def _is_single(text: str, entry: BibEntry) -> bool:
    """True when all fields are on one line; a value may still span several."""
    fields = entry.fields
    gaps = [text[entry.key_span.end : fields[0].name_span.start]]
    gaps += [text[a.value_span.end : b.name_span.start] for a, b in pairwise(fields)]
    return not any("\n" in gap or "\r" in gap for gap in gaps)


def _entry_edits(text: str, entry: BibEntry, style: BibStyle) -> list[TextEdit]:
    """The edits of one entry; none when anything but blanks stands between its parts."""
    fields = entry.fields
    if not entry.body.closed or entry.body.faults or not entry.key:
        return []
    line = style.newline + style.indent
    places = [(Span(entry.key_span.end, fields[0].name_span.start), _COMMA, f",{line}")]
    for field in fields:
        place = Span(field.name_span.end, field.value_span.start)
        places.append((place, _EQUALS, _before_value(text, field, style)))
    for one, other in pairwise(fields):
        place = Span(one.value_span.end, other.name_span.start)
        places.append((place, _COMMA, f",{line}"))
    tail = Span(fields[-1].value_span.end, entry.end - 1)
    closing = _TAIL.fullmatch(text, tail.start, tail.end)
    comma = closing[1] if closing else ""
    places.append((tail, _TAIL, comma + style.closer.replace("\n", style.newline)))
    if any(known.fullmatch(text, at.start, at.end) is None for at, known, _ in places):
        return []
    return [TextEdit(at, new) for at, _, new in places if text[at.start : at.end] != new]


def _before_value(text: str, field: BibField, style: BibStyle) -> str:
    """What stands between a name, as it is written, and its value: as in entries that are added."""
    length = field.name_span.end - field.name_span.start
    if style.value_column:
        left = f"{style.before}="
        return left.ljust(max(style.value_column - length, len(left)))
    return f"{' ' * max(0, style.column - length)}{style.before}={style.after}"


def _gaps(bib: BibFile, style: BibStyle) -> Iterator[TextEdit]:
    """The empty lines between entries that nothing else parts."""
    between = style.newline * (style.gap + 1)
    for one, other in pairwise(bib.entries):
        gap = bib.text[one.end : other.start]
        if gap.isspace() and gap != between and ("\n" in gap or "\r" in gap):
            yield TextEdit(Span(one.end, other.start), between)
