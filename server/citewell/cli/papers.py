"""How a found paper is written in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citewell.model.shorten import shorten
from citewell.model.venue_shown import shown_venue

if TYPE_CHECKING:
    from citewell.model import Work
MAX_AUTHORS = 3
VENUE_CHARACTERS = 48


def authors_of(work: Work) -> str:
    """Family names, the first three of them."""
    names = [author.family or author.given for author in work.authors]
    if len(names) > MAX_AUTHORS:
        return ", ".join(names[:MAX_AUTHORS]) + " et al."
    return ", ".join(names)


def record_of(work: Work) -> dict[str, Any]:
    """The record as JSON of the command line has it: authors as they are read, like everywhere."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(work)
    return {**found, "authors": [author.display for author in work.authors]}


def venue_of(work: Work) -> str:
    """The shortest name of the venue that the record has, in `VENUE_CHARACTERS` at most."""
    name = shown_venue(work.venue or work.booktitle or work.journal or work.publisher)
    return shorten(name, VENUE_CHARACTERS)


def line_of(work: Work) -> str:
    """One line: authors, year, title, venue."""
    year = f" ({work.year})" if work.year else ""
    name = venue_of(work)
    venue = f" {name}{'' if name.endswith('…') else '.'}" if name else ""
    return f"{authors_of(work)}{year}. {work.title}.{venue}"


def tabbed(first: str, work: Work, last: str) -> str:
    """The line of a paper in a pipe: `first`, title, authors, year, venue, `last`."""
    name = work.venue or work.booktitle or work.journal or work.publisher
    title = f"{work.title} [retracted]" if work.retracted else work.title
    fields = (first, title, authors_of(work), str(work.year or ""), name, last)
    return "\t".join(" ".join(field.split()) for field in fields)
