"""One entry of a .bib made to say what the record of its work says; key and other fields stay."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.documents.bib.entry import delimited, entry_content, field_start
from citewell.documents.bib.match import same_work
from citewell.documents.bib.style import BibStyle, detect_style
from citewell.model import Work
from citewell.model.bib import BibEntry, BibField, BibFile, TextEdit
from citewell.model.document import Span
from citewell.model.fields import BIB_FIELDS, PRINTED, VENUE_FIELDS
from citewell.model.names import family_key, split_authors
from citewell.model.tex import tex_to_unicode

_ADDED = tuple(dict.fromkeys(("author", *PRINTED)))
"""What an entry gets that lacks it."""
_DELIMITED = re.compile(r'^\s*([{"]).*([}"])\s*$', re.DOTALL)
_PAPERS = frozenset({"article", "inproceedings", "conference", "misc", "online", "unpublished"})


def record_of(entry: BibEntry, works: Sequence[Work]) -> Work | None:
    """The record of an entry's work among those that a look-up brought, the fullest first.

    Only by the rules by which an entry is never added twice: DOI, arXiv identifier, or the same
    title with the same authors and year.
    """
    fitting = [work for work in works if same_work(entry, work)]
    return max(fitting, key=_fullness, default=None)


def _fullness(work: Work) -> tuple[bool, int]:
    published = bool(work.booktitle or work.journal or work.doi)
    return published, sum(bool(v) for v in (work.pages, work.doi, work.publisher, work.volume))


def normalise(bib: BibFile, entry: BibEntry, work: Work) -> tuple[TextEdit, ...]:
    """The edits that bring an entry in line with a record; none when it says the same already.

    What the record does not say stays, and so do the key, the order of the fields, values that are
    an @string, fields that the record does not know, and whatever only looks different: the
    author's braces in a title, a name written in another order, the dash of a range.
    """
    if not entry.body.closed or entry.body.faults:
        return ()
    style = detect_style(bib)
    kind, wanted = entry_content(work, style)
    edits: list[TextEdit] = []
    if _other_kind(entry.type, kind):
        start = entry.start + 1 + _blank(entry.body.text[1:])
        edits.append(TextEdit(Span(start, start + len(entry.type)), style.type_name(kind)))
    fields: dict[str, BibField] = {}
    for field in entry.fields:
        fields.setdefault(field.name, field)
    missing: list[str] = []
    for name in _ADDED:
        value = wanted.get(name, "")
        if not value:
            continue
        known = fields.get(name) or fields.get(BIB_FIELDS[name].biblatex)
        if known is None and name in VENUE_FIELDS:
            known = next((fields[n] for n in VENUE_FIELDS if n in fields), None)
            if known is not None and known.name != name and _other_kind(entry.type, kind):
                edits.append(TextEdit(known.name_span, style.field_name(name)))
        if known is None:
            if not (name == "url" and ("doi" in fields or "doi" in wanted)):
                missing.append(name)
        elif not _says(known, name, value):
            new = _in_place(known, value)
            if new is not None:
                edits.append(TextEdit(known.value_span, new))
    if missing:
        edits.append(_added(bib, entry, [(n, wanted[n]) for n in missing], style))
    return tuple(sorted(edits, key=lambda edit: edit.span))


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())


def _other_kind(old: str, new: str) -> bool:
    """True when the type is to change: between kinds of papers only, never of a book or thesis."""
    same = {"conference": "inproceedings", "online": "misc", "unpublished": "misc"}
    return old in _PAPERS and new in _PAPERS and same.get(old, old) != new and new != "misc"


def _says(field: BibField, name: str, value: str) -> bool:
    """True when a field says what the record says, in whatever spelling."""
    if name == "author":
        return _same_people(field, value)
    if name == "url":
        return True
    form = BIB_FIELDS[name].form
    return form(field.value.strip()) == form(tex_to_unicode(value).strip())


def _same_people(field: BibField, value: str) -> bool:
    """True for the same surnames in the same order, given names as full as the record's."""
    from citewell.model.bib_value import literal_value

    ours = split_authors(literal_value(field.raw, field.strings))
    theirs = split_authors(value)
    if [family_key(a) for a in ours] != [family_key(a) for a in theirs]:
        return False
    return all(
        len(mine.given.replace(".", "")) >= min(2, len(known.given.replace(".", "")))
        for mine, known in zip(ours, theirs, strict=True)
    )


def _in_place(field: BibField, value: str) -> str | None:
    """The value in the field's own delimiters; None for an @string, which stays as it is."""
    raw = field.raw.strip()
    if raw.isdigit():
        return value if value.isdigit() else f"{{{value}}}"
    if not _DELIMITED.match(raw) or "#" in raw:
        return None
    if raw[0] == '"':
        return '"' + value.replace('"', '{"}') + '"'
    return f"{{{value}}}"


def _added(
    bib: BibFile, entry: BibEntry, fields: Sequence[tuple[str, str]], style: BibStyle
) -> TextEdit:
    """Fields behind the last one, on lines of their own if the others stand so."""
    known = entry.fields
    at = known[-1].value_span.end if known else entry.key_span.end
    lines = "\n" in entry.body.text or "\r" in entry.body.text
    gap = style.newline if lines else " "
    equals = "="
    if known:
        equals = bib.text[known[-1].name_span.end : known[-1].value_span.start]
    parts = []
    for name, value in fields:
        left = field_start(name, style) if lines else f"{style.field_name(name)}{equals}"
        parts.append(f"{left}{delimited(name, value, style)}")
    # A comma that follows on the last value is then that of the last new field.
    return TextEdit(Span(at, at), "," + gap + ("," + gap).join(parts))
