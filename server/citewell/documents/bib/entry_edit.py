"""Changes within one entry of a .bib: values, further fields, the type. No other byte changes."""

from __future__ import annotations

import re

from citewell.documents.bib.entry import field_start
from citewell.documents.bib.style import BibStyle
from citewell.model.bib import BibEntry, BibField, BibFile, TextEdit
from citewell.model.bib_value import plain_value
from citewell.model.document import Span

_TYPE = re.compile(r"@\s*(\w+)")
_COMMA = re.compile(r"\s*,")
_LINE_REST = re.compile(r"[ \t]*(?:\r\n|\n|\r)")


class EntryEdit:
    """Collects changes of one entry; `edits` gives them in order, none of them overlapping."""

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
        """Set a field to a value in LaTeX without delimiters; an equal value is left unchanged."""
        field = self._fields.get(name)
        if field is None:
            self._added[name] = _delimited(value, '"' if self._style.quotes else "{")
            return
        if field.value == plain_value(name, f"{{{value}}}", field.strings):
            return
        if field.raw.strip().isdecimal() and value.isascii() and value.isdecimal():
            new = value
        else:
            new = _delimited(value, field.raw[:1])
        self._values[name] = TextEdit(field.value_span, new)

    def remove(self, name: str) -> None:
        """Remove a field with its comma, and with its lines if they contain nothing else."""
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
        """Make it an entry of another type."""
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
        """The further fields, after the last field that stays."""
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
        """The new fields as the entry writes its own: each on a line, or one after another."""
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


def _delimited(value: str, opener: str) -> str:
    if opener == '"':
        return '"' + value.replace('"', '{"}') + '"'
    return f"{{{value}}}"
