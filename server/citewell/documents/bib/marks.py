"""Marks of entries as checked: a comment above the entry that silences what the check reports."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from citewell.model.bib import BibEntry, BibFile, TextEdit
from citewell.model.check import Mark
from citewell.model.document import Span

_LINE = re.compile(
    r"[ \t]*%+[ \t]*citewell:[ \t]*ignore (?P<codes>[a-z0-9, -]+): checked "
    r"(?P<day>\d{4}-\d\d-\d\d)(?: against (?P<record>\S+))?[ \t\r]*"
)
_COMMENT = re.compile(r"[ \t]*%[^\n]*")


def mark_of(bib: BibFile, entry: BibEntry) -> Mark | None:
    """The mark among the comment lines directly above an entry."""
    found = _marked_line(bib.text, entry.start)
    if found is None:
        return None
    return Mark(
        tuple(found["codes"].replace(",", " ").split()), found["day"], found["record"] or ""
    )


def mark_edit(
    bib: BibFile,
    entry: BibEntry,
    codes: Sequence[str],
    record: str = "",
    day: datetime.date | None = None,
) -> TextEdit:
    """The edit that marks an entry as checked, or renews its mark. `day` is by default today."""
    day = day or datetime.datetime.now(datetime.UTC).date()
    against = f" against {record}" if record else ""
    # An @ outside of an entry would begin one.
    reason = f"checked {day.isoformat()}{against}".replace("@", "%40")
    comment = f"% citewell: ignore {', '.join(codes)}: {reason}"
    ending = "\r\n" if "\r\n" in bib.text else "\n"
    old = _marked_line(bib.text, entry.start)
    if old is not None:
        end = old.end() - old[0].endswith("\r")
        return TextEdit(Span(old.start(), end), comment)
    before = bib.text[bib.text.rfind("\n", 0, entry.start) + 1 : entry.start]
    return TextEdit(
        Span(entry.start, entry.start), f"{ending if before.strip() else ''}{comment}{ending}"
    )


def _marked_line(text: str, start: int) -> re.Match[str] | None:
    end = text.rfind("\n", 0, start)
    while end > 0:
        begin = text.rfind("\n", 0, end) + 1
        if (found := _LINE.fullmatch(text, begin, end)) is not None:
            return found
        if _COMMENT.fullmatch(text, begin, end) is None:
            return None
        end = begin - 1
    return None
