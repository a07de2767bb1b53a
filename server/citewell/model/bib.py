"""A .bib file as Citewell sees it: entries with exact ranges, and edits that keep the rest."""

from __future__ import annotations

import msgspec

from citewell.model.document import Span
from citewell.model.problem import Problem


class BibField(msgspec.Struct, frozen=True):
    name: str
    """Lower case."""
    value: str
    """Plain Unicode: delimiters, protective braces and LaTeX accents resolved, @string expanded."""
    raw: str
    """As it stands in the file, delimiters included."""
    name_span: Span
    value_span: Span


class BibEntry(msgspec.Struct, frozen=True):
    type: str
    """Entry type in lower case."""
    key: str
    key_span: Span
    span: Span
    """From `@` to the closing delimiter."""
    fields: tuple[BibField, ...] = ()

    def get(self, name: str) -> str:
        """The plain value of a field, or the empty string."""
        for field in self.fields:
            if field.name == name:
                return field.value
        return ""


class BibFile(msgspec.Struct, frozen=True):
    path: str
    text: str
    entries: tuple[BibEntry, ...] = ()
    strings: dict[str, str] = msgspec.field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    """Broken entries, with their line; the good ones are all in `entries`."""


class TextEdit(msgspec.Struct, frozen=True):
    """Replace `span` of a file's text by `text`."""

    span: Span
    text: str


class FileEdit(msgspec.Struct, frozen=True):
    """Edits of one file, sorted and not overlapping. The bytes outside of them do not change."""

    path: str
    edits: tuple[TextEdit, ...]
    create: bool = False
    """The file does not exist yet and is to be created."""
