"""New entries in .bib files: one insertion in the file's own style; no other byte changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence

import msgspec

from citewell.documents.bib.csl import insert_items
from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.bib.style import BibStyle, detect_style, entry_text, field_start
from citewell.documents.bib.work import entry_work, find_work
from citewell.documents.keys.pattern import make_key
from citewell.model.bib import (
    BibBlock,
    BibEntry,
    BibField,
    BibFile,
    FileEdit,
    TextEdit,
    literal_end,
    literal_value,
    plain_value,
)
from citewell.model.document import Span
from citewell.model.work import Work
from citewell.options.tree import BibOptions


def insert_entry(
    bib: BibFile, work: Work, key: str | None, options: BibOptions, taken: Collection[str] = ()
) -> tuple[FileEdit | None, str]:
    """Return the edit that adds `work` to `bib`, and the key to cite it by.

    There is no edit if the file has the work already; the key is then the existing one. A given
    `key` is used unless another entry has it; else one is made from `options.key_pattern`. `taken`
    holds keys of the project's other files, which the new key must not repeat.
    """
    known = find_work(bib, work)
    if known is not None and known.key:
        return None, known.key
    keys = _Taken(bib, taken)
    if not key or key in keys:
        key = make_key(work, options.key_pattern, keys)
    if bib.is_csl:
        return insert_items(bib, {key: work}), key
    style = detect_style(bib)
    text = new_entry_text(work, key, style, options)
    return FileEdit(bib.path, (_insertion(bib, [text], style),), adds=(key,)), key


def insert_texts(bib: BibFile, texts: Mapping[str, str]) -> FileEdit:
    """Return the edit that adds whole entries by key, unchanged except for the line ends, which
    become those of the file."""
    if bib.is_csl:
        read = {key: parse_bib(text) for key, text in texts.items()}
        return insert_items(bib, {k: entry_work(one, one.entries[0]) for k, one in read.items()})
    style = detect_style(bib)
    ended = [style.newline.join(text.splitlines()) for text in texts.values()]
    return FileEdit(bib.path, (_insertion(bib, ended, style),), adds=tuple(texts))


def _insertion(bib: BibFile, texts: Sequence[str], style: BibStyle) -> TextEdit:
    text = (style.newline * (style.gap + 1)).join(texts)
    edits = [
        TextEdit(Span(at, at), f"{before}{text}{after}")
        for at, before, after in _places(bib, style)
    ]
    return next((edit for edit in edits if _keeps_all(bib, edit, len(texts))), edits[0])


def new_bib_text(
    work: Work,
    key: str | None,
    options: BibOptions,
    taken: Collection[str] = (),
    newline: str = "\n",
) -> tuple[str, str]:
    """The text of a new .bib file that holds `work`, and the key of its entry."""
    if not key or key in taken:
        key = make_key(work, options.key_pattern, taken)
    text = new_entry_text(work, key, BibStyle(newline=newline), options)
    return text + newline, key


def new_entry_text(work: Work, key: str, style: BibStyle, options: BibOptions) -> str:
    """The text of a new entry in the given style."""
    style = msgspec.structs.replace(style, recorded_venues=options.venue == "recorded")
    return entry_text(work, key, style, abstract=options.abstract)


class _Taken(Container[str]):
    """The keys of a file and of its neighbours, without regard to case, as in BibTeX."""

    def __init__(self, bib: BibFile, others: Collection[str]) -> None:
        self._keys = {key.lower() for key in bib.by_key}
        self._others = others

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key.lower() in self._keys or key in self._others)


def _keeps_all(bib: BibFile, edit: TextEdit, count: int) -> bool:
    """True when the file with the insertion reads as before, plus `count` intact entries."""
    at = edit.span.start
    after = reparse(bib, bib.text[:at] + edit.text + bib.text[at:])
    if len(after.entries) != len(bib.entries) + count or len(after.blocks) != len(bib.blocks):
        return False
    index = next(
        (i for i, entry in enumerate(after.entries) if at <= entry.start < at + len(edit.text)), -1
    )
    added = after.entries[index : index + count]
    if index < 0 or any(entry.body.faults for entry in added):
        return False
    others: tuple[BibEntry | BibBlock, ...] = (
        *after.entries[:index],
        *after.entries[index + count :],
        *after.blocks,
    )
    before: tuple[BibEntry | BibBlock, ...] = (*bib.entries, *bib.blocks)
    return all(
        one.body is other.body or (one.type, one.body.text) == (other.type, other.body.text)
        for one, other in zip(before, others, strict=True)
    )


def _places(bib: BibFile, style: BibStyle) -> Iterator[tuple[int, str, str]]:
    """Offsets for a new entry, best first, each with the text to put before and after it.

    This is the end of the file, but before an unclosed entry or comment there and before a lone
    `@`: a parser would take the new entry for a part of it.
    """
    text, newline = bib.text, style.newline
    if bib.regions:
        yield _between(text, bib.regions[-1].end, newline, 0)
        return
    items: list[BibEntry | BibBlock] = sorted(
        (*bib.entries, *bib.blocks), key=lambda item: item.start
    )
    tail = len(text)
    while items and not items[-1].body.closed:
        tail = items.pop().start
    end = items[-1].span.end if items else 0
    stray = text.find("@", end, tail)
    if tail < len(text) or stray >= 0:
        place = tail if stray < 0 else stray
        line = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
        # At the start of its line, so that a comment sign there stays before it.
        yield _between(text, max(line, end), newline, style.gap)
        yield _between(text, place, newline, style.gap)
    before = _between(text, len(text), newline, style.gap)[1]
    if text.endswith(newline) and text.strip():
        # The same text, inserted before the last line end: some editors leave an empty line after
        # an insertion behind it.
        yield len(text) - len(newline), newline + before, ""
    # Trailing blanks would indent the entry.
    blanks = len(text.rstrip(" \t"))
    if not blanks or text[blanks - 1] in "\r\n":
        yield blanks, before, newline
    yield len(text), before, newline
    yield _between(text, 1 if text.startswith("\ufeff") else 0, newline, style.gap)


def _between(text: str, at: int, newline: str, gap: int) -> tuple[int, str, str]:
    """`at`, with the line ends that separate an insertion there from the text around it."""
    head = text[max(0, at - 4096) : at].rstrip(" \t")
    lines = 0
    while lines <= gap and head.endswith(("\n", "\r")):
        head = head.removesuffix("\n").removesuffix("\r") if head[-1] == "\n" else head[:-1]
        head = head.rstrip(" \t")
        lines += 1
    empty = not head.strip("\ufeff")
    before = "" if empty else newline * max(0, gap + 1 - lines)
    after = "" if text[at : at + 1] in ("\n", "\r") else newline * (gap + 1)
    return at, before, after


# Copying an entry from one .bib to another: its text, and what it depends on.

MAX_PARENTS = 20
PARENTS = ("crossref", "xdata", "xref")
"""Fields that name the parents of an entry."""
_MACRO = re.compile(r"(?:^|#)\s*([^\s#{}\"(),=]+)\s*(?=#|$)")


def with_parents(bib: BibFile, key: str) -> list[BibEntry]:
    """The entry of a key and everything that it inherits from, each after the entries that name it,
    as BibTeX requires; empty when there is no entry."""
    waiting, found = [key], dict[str, BibEntry]()
    while waiting and len(found) < MAX_PARENTS:
        entry = bib.by_key.get(waiting.pop(0))
        if entry is not None:
            # A parent that two entries name goes after the later one.
            found.pop(entry.key, None)
            found[entry.key] = entry
            named = (name.strip() for f in PARENTS for name in entry.get(f).split(","))
            waiting += [name for name in named if name and name not in found]
    return list(found.values())


def self_contained(bib: BibFile, entry: BibEntry, strings: Mapping[str, str]) -> str:
    """The entry's text, byte for byte, with values written out if they use an @string that is
    missing from `strings`, the other file's macros, or is defined differently there."""
    text = entry.body.text
    for field in reversed(entry.fields):
        names = {name.lower() for name in _MACRO.findall(_without_literals(field.raw))}
        if any(name in bib.strings and strings.get(name) != bib.strings[name] for name in names):
            start, end = field.value_span.start - entry.start, field.value_span.end - entry.start
            text = f"{text[:start]}{{{literal_value(field.raw, bib.strings)}}}{text[end:]}"
    return text


def _without_literals(raw: str) -> str:
    """A raw value without its parts in braces or quotes."""
    kept: list[str] = []
    depth, quoted = 0, False
    for sign in raw:
        if sign == '"' and depth == 0:
            quoted = not quoted
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif depth == 0 and not quoted:
            kept.append(sign)
    return "".join(kept)


# Changes within one entry: values, new fields, the type. No other byte changes.

_TYPE = re.compile(r"@\s*(\w+)")
_COMMA = re.compile(r"\s*,")
_LINE_REST = re.compile(r"[ \t]*(?:\r\n|\n|\r)")


class EntryEdit:
    """Collects changes of one entry; `edits` returns them in order, without overlap."""

    def __init__(self, bib: BibFile, entry: BibEntry, style: BibStyle) -> None:
        self._text = bib.text
        self._entry = entry
        self._style = style
        self._fields: dict[str, BibField] = {}
        for field in entry.fields:
            self._fields.setdefault(field.name, field)
        self._last = entry.fields[-1] if entry.fields else None
        self._values: dict[str, TextEdit] = {}
        self._removed: dict[str, TextEdit] = {}
        self._added: dict[str, str] = {}
        self._type: TextEdit | None = None

    def set(self, name: str, value: str) -> None:
        """Set a field to a LaTeX value without delimiters; an equal value is left unchanged."""
        field = self._fields.get(name)
        if field is None:
            self._added[name] = _delimited(value, '"' if self._style.quotes else "{")
            return
        if field.value == plain_value(name, f"{{{value}}}", field.strings):
            return
        if field.raw.strip().isdecimal() and value.isascii() and value.isdecimal():
            new = value
        else:
            # Braces around the whole value keep its capitals, or an organisation's name in one
            # piece.
            whole = _is_braced(field.raw[1:-1]) and not _is_braced(value)
            new = _delimited(f"{{{value}}}" if whole else value, field.raw[:1])
        self._values[name] = TextEdit(field.value_span, new)

    def remove(self, name: str) -> None:
        """Remove a field with its comma, and its lines if they contain nothing else."""
        field = self._fields.get(name)
        if field is None:
            return
        text = self._text
        start, end = field.name_span.start, field.value_span.end
        if comma := _COMMA.match(text, end, self._entry.end):
            end = comma.end()
        line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
        rest = _LINE_REST.match(text, end)
        if not text[line:start].strip() and rest is not None and line > self._entry.start:
            start, end = line, rest.end()
        else:
            while text[end : end + 1] in (" ", "\t"):
                end += 1
        self._removed[name] = TextEdit(Span(start, end), "")

    def retype(self, kind: str) -> None:
        """Change the entry type."""
        found = _TYPE.match(self._entry.body.text)
        if kind != self._entry.type and found is not None:
            start = self._entry.start
            span = Span(start + found.start(1), start + found.end(1))
            self._type = TextEdit(span, self._style.type_name(kind))

    @property
    def edits(self) -> tuple[TextEdit, ...]:
        """The changes so far, as edits of the file."""
        found = [edit for name, edit in self._values.items() if name not in self._removed]
        found += self._removed.values()
        if self._type is not None:
            found.append(self._type)
        if self._added:
            found.append(self._insertion())
        return tuple(sorted(found, key=lambda edit: edit.span))

    def _insertion(self) -> TextEdit:
        """The edit that adds the new fields, after the last field that stays."""
        staying = [f for f in self._entry.fields if f.name not in self._removed]
        anchor = staying[-1] if staying else None
        if anchor is None:
            key = self._entry.key_span.end
            comma = _COMMA.match(self._text, key, self._entry.end)
            at, before = (comma.end(), "") if comma else (key, ",")
            return TextEdit(Span(at, at), before + self._joined(None, closing=False))
        end = anchor.value_span.end
        comma = _COMMA.match(self._text, end, self._entry.end)
        if comma is None:
            return TextEdit(Span(end, end), "," + self._joined(anchor, closing=False))
        return TextEdit(Span(comma.end(), comma.end()), self._joined(anchor, closing=True))

    def _joined(self, anchor: BibField | None, *, closing: bool) -> str:
        """The new fields in the layout of the entry: one a line, or one after another."""
        style, text = self._style, self._text
        start = anchor.name_span.start if anchor is not None else self._entry.end
        line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
        own_line = anchor is None or (line > self._entry.start and not text[line:start].strip())
        indent = text[line:start] if anchor is not None and own_line else style.indent
        equals = " = "
        if anchor is not None:
            equals = text[anchor.name_span.end : anchor.value_span.start]
        parts = []
        for name, value in self._added.items():
            head = field_start(name, style)[len(style.indent) :]
            if own_line:
                parts.append(f"{style.newline}{indent}{head}{value}")
            else:
                parts.append(f" {name}{equals}{value}")
        return ",".join(parts) + ("," if closing else "")


def _is_braced(value: str) -> bool:
    value = value.strip()
    return value.startswith("{") and literal_end(value, 0, len(value)) == len(value)


def _delimited(value: str, opener: str) -> str:
    if opener == '"':
        return '"' + value.replace('"', '{"}') + '"'
    return f"{{{value}}}"
