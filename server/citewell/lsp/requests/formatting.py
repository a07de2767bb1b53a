"""textDocument/formatting and rangeFormatting of a .bib.

They are registered for .bib files only, if the client supports dynamic registration: as a formatter
of LaTeX or Markdown, Citewell would compete with real ones.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registry import Request, Switches
from citewell.model.bib import BibEntry, BibField, BibFile, TextEdit
from citewell.model.document import Span

if TYPE_CHECKING:
    from citewell.documents.bib.style import BibStyle

logger = logging.getLogger(__name__)

_SELECTOR: list[types.TextDocumentFilterLanguage | types.TextDocumentFilterPattern] = [
    types.TextDocumentFilterLanguage(language="bibtex"),
    types.TextDocumentFilterLanguage(language="bib"),
    types.TextDocumentFilterPattern(pattern="**/*.bib"),
]


def handlers(editor: Editor, projects: Projects) -> tuple[Request, Request]:
    """Formatting of a whole file and of a range."""

    async def whole(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(editor, projects, params.text_document.uri, None)

    async def part(params: types.DocumentRangeFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(editor, projects, params.text_document.uri, params.range)

    return (
        Request(types.TEXT_DOCUMENT_FORMATTING, whole, switches=("formatting",), is_part=True),
        Request(types.TEXT_DOCUMENT_RANGE_FORMATTING, part, switches=("formatting",), is_part=True),
    )


class Formatter:
    """Registers formatting with a client that supports it dynamically. For the event loop."""

    def __init__(
        self,
        editor: Editor,
        switches: Switches,
        requests: Sequence[Request],
        add: Callable[[Request], None],
    ) -> None:
        """`add` is called with each request before the client can send it."""
        self._editor = editor
        self._switches = switches
        self._requests = requests
        self._add = add
        self._has_handlers = False
        self._is_registered = False

    def announce(self) -> None:
        """Offer to format whole files to a client without dynamic registration."""
        if not self._editor.flags.register_formatting:
            self._add(self._requests[0])

    async def update(self) -> None:
        """Register or unregister formatting, as the settings require. The handlers stay."""
        if not self._editor.flags.register_formatting:
            return
        if not self._has_handlers:
            for request in self._requests:
                self._add(request)
            self._has_handlers = True
        wanted = self._switches.is_on("formatting", "")
        if wanted is self._is_registered:
            return
        self._is_registered = wanted
        try:
            if wanted:
                await self._editor.register(_registrations())
            else:
                await self._editor.unregister(
                    [types.Unregistration(one.id, one.method) for one in _registrations()]
                )
        except Exception as error:
            logger.warning("The editor does not take the offer to format: %s", error)


def _registrations() -> list[types.Registration]:
    options = types.DocumentFormattingRegistrationOptions(document_selector=[*_SELECTOR])
    ranges = types.DocumentRangeFormattingRegistrationOptions(document_selector=[*_SELECTOR])
    return [
        types.Registration("citewell-formatting", types.TEXT_DOCUMENT_FORMATTING, options),
        types.Registration("citewell-range", types.TEXT_DOCUMENT_RANGE_FORMATTING, ranges),
    ]


async def _edits(
    editor: Editor, projects: Projects, uri: str, range_: types.Range | None
) -> list[types.TextEdit] | None:
    """The edits of an open .bib; None for any other file."""

    found = await projects.bib(uri)
    document = editor.open_document(uri)
    if found is None or document is None or document.version != found[1]:
        return None
    (bib, version), index = found, document.index
    within = None if range_ is None else index.span(range_)
    edits = await projects.read(lambda: format_bib(bib, within))
    if document.version != version:  # edits of an outdated text
        return None
    return [types.TextEdit(index.range(edit.span), edit.text) for edit in edits]


# Formatting of a .bib in the layout of most of its own entries: only blanks change.

_COMMA = re.compile(r"\s*,\s*")
_EQUALS = re.compile(r"\s*=\s*")
_TAIL = re.compile(r"\s*(,?)\s*")


def format_bib(bib: BibFile, within: Span | None = None) -> tuple[TextEdit, ...]:
    """The edits that give the entries one layout; with `within`, only those of the entries in it.

    Indent, position of `=`, closing line and empty lines between entries follow the file's own
    majority, aligned or not. Values, names, commas, comments and @string stay. A broken entry, or
    one with a comment, is left alone, and so is one on a single line if most are.
    """
    from citewell.documents.bib.reader import parse_bib
    from citewell.documents.bib.style import detect_style
    from citewell.documents.textfile import apply_edits

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
    # Verified again, in case the scanner and this module read a file differently.
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
    """The edits of one entry; none if there is anything but blanks between its parts."""
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
    """The text between a name and its value, as in added entries."""
    length = field.name_span.end - field.name_span.start
    if style.value_column:
        left = f"{style.before}="
        return left.ljust(max(style.value_column - length, len(left)))
    return f"{' ' * max(0, style.column - length)}{style.before}={style.after}"


def _gaps(bib: BibFile, style: BibStyle) -> Iterator[TextEdit]:
    """The empty lines between entries without other text between them."""
    between = style.newline * (style.gap + 1)
    for one, other in pairwise(bib.entries):
        gap = bib.text[one.end : other.start]
        if gap.isspace() and gap != between and ("\n" in gap or "\r" in gap):
            yield TextEdit(Span(one.end, other.start), between)
