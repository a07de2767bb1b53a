"""One row of a completion list: what an author tells papers apart by, in the width that there is.

An editor cuts what is too long, and it cuts the year before it cuts the title. So the words are
fitted here to the narrowest default of an editor that has three columns (VS Code: 430 pixels).
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
"""Letters of all columns together, the blanks between them too."""
LEAST = 8
"""Of a title: fewer say nothing."""
INVENTED = f"{SIGNS[Verdict.FABRICATED][0]} invented"
"""Stands in place of where and when. That the library lacks an entry is no matter of a list."""


class Row(msgspec.Struct, frozen=True):
    """The columns of a row."""

    label: str
    beside: str = ""
    """Right behind the label, dimmed."""
    at: str = ""
    """At the right edge."""
    detail: str = ""
    """The whole title; in an editor that has no such columns all in one line."""


def row_of(candidate: Candidate, *, columns: bool) -> Row:
    """The row of a candidate; `columns`: the editor shows more than a label.

    An entry of one's own, in a .bib or in Zotero, is known by its key, which is never cut. Another
    paper is known by its title: its key is only about to be made, and stands in the card beside
    the list.
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
