"""How a found paper is written in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citewell.model.display_text import shorten
from citewell.model.venues import shown_venue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

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


def show_table(
    out: Console,
    works: Sequence[Work],
    keys: Sequence[str],
    whys: Sequence[str],
    *,
    best_last: bool = False,
) -> None:
    """Papers at a terminal: authors and year, title and key, venue, and why each is listed."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", style="dim")
    table.add_column("paper", ratio=5, overflow="fold")
    table.add_column("venue", ratio=2, overflow="fold")
    table.add_column("why", ratio=3, overflow="fold", style="dim")
    rows = list(enumerate(zip(works, keys, whys, strict=True), start=1))
    for rank, (work, key, why) in reversed(rows) if best_last else rows:
        paper = Text(f"{authors_of(work)} {work.year or ''}".strip())
        paper.append(f"\n{work.title}", style="bold")
        paper.append(f"\n{key}", style="cyan")
        if work.retracted:
            paper.append("\nretracted", style="bold red")
        table.add_row(str(rank), paper, Text(venue_of(work)), Text(why))
    out.print(table)


def reasoned(reason: str, times: int) -> str:
    """Why a paper is listed, and how often it is cited."""
    from citewell.features.text.evidence import cited_text

    return "; ".join(part for part in (reason, cited_text(times)) if part)


def tabbed(first: str, work: Work, last: str) -> str:
    """The line of a paper in a pipe: `first`, title, authors, year, venue, `last`."""
    name = work.venue or work.booktitle or work.journal or work.publisher
    title = f"{work.title} [retracted]" if work.retracted else work.title
    fields = (first, title, authors_of(work), str(work.year or ""), name, last)
    return "\t".join(" ".join(field.split()) for field in fields)
