"""One row of a completion list: what distinguishes papers, fitted into the available width.

An editor truncates what is too long, and truncates the year before the title. The text is therefore
fitted to the narrowest default width of an editor with three columns (VS Code: 430 pixels).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from citewell.features.citing.completion import where_and_when
from citewell.features.text.entry_state import SIGNS, is_invented
from citewell.model.check import Verdict
from citewell.model.shorten import shorten
from citewell.model.titles import plain_title

if TYPE_CHECKING:
    from citewell.features.citing.completion import Candidate

WIDTH = 46
"""Characters of all columns together, including the spaces between them."""
LEAST = 8
"""Characters of a title that are shown, at least: fewer are of no use."""
INVENTED = f"{SIGNS[Verdict.FABRICATED][0]} invented"
"""Replaces where and when. A list does not mark an entry that the library merely lacks."""


class Row(msgspec.Struct, frozen=True):
    """The columns of a row."""

    label: str
    beside: str = ""
    """Directly after the label, dimmed."""
    at: str = ""
    """At the right edge."""
    detail: str = ""
    """The whole title; in an editor without these columns, everything in one line."""


def row_of(candidate: Candidate, *, columns: bool) -> Row:
    """The row of a candidate; `columns`: the editor shows more than a label.

    The author's own entry, in a .bib or in Zotero, is labelled by its key, which is never
    truncated. Any other paper is labelled by its title: its key does not exist yet, and is shown in
    the card beside the list.
    """
    from citewell.features.citing.zotero_library import (
        key_of,  # with numpy, which no start waits for
    )

    invented = is_invented(candidate.check)
    at = INVENTED if invented else where_and_when(candidate)
    title = plain_title(candidate.title)
    detail = f"{INVENTED}: {title}" if invented else title
    if not columns:
        more = "" if invented or not at else f" · {at}"
        return Row(candidate.key, detail=f"{detail}{more}")
    if candidate.work is not None and not key_of(candidate.work.id) and title:
        return Row(shorten(title, WIDTH - len(at) - 2, inside_words=True), at=at, detail=detail)
    room = WIDTH - len(candidate.key) - 1
    if room - len(at) - 2 >= LEAST:
        room -= len(at) + 2
    elif not invented:
        at = ""
    return Row(
        candidate.key, shorten(title, room, inside_words=True) if room >= LEAST else "", at, detail
    )
