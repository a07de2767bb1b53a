"""The card of a shipped library: its contents and its gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from citewell.corpus.layout import CARD
from citewell.model import Problem

if TYPE_CHECKING:
    from citewell.corpus.library import Library

_MAX_CARD = 1 << 20
_LISTED = 8
"""Number of venues that a summary names."""
_LARGEST = 30
"""Number of venues whose missing years are listed."""


class VenueCount(msgspec.Struct, frozen=True, kw_only=True):
    """The works of one venue."""

    venue: str
    works: int
    first: int
    last: int
    missing: tuple[int, ...] = ()
    """Years between the first and the last with no works, or far fewer than in the years beside."""


class LibraryCoverage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The coverage of one of the searched libraries."""

    name: str
    works: int
    created: str = ""
    """Date of the last change, as in 2026-11-28; empty for a library shipped with Citewell, which
    has the age of its last works."""
    first: int = 0
    """Year of the first work; 0 if unknown."""
    last: int = 0
    """Year of the last work; 0 if unknown."""
    years: dict[str, int] = {}
    """Works of each year."""
    venues: tuple[VenueCount, ...] = ()
    """The largest venues of a library shipped with Citewell; empty for any other library."""
    fields: dict[str, int] = {}
    """Percentage of the references of public theses that a shipped library holds, by field."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a shipped library."""

    name: str
    works: int
    abstracts: int
    """Number of works that can be found by their abstracts."""
    first: int
    last: int
    sources: dict[str, int]
    """Number of works with a record from each source."""
    years: dict[str, int]
    venues: tuple[VenueCount, ...] = ()
    """The venues with most works."""
    fields: dict[str, int] = {}
    """Percentage of the references of public theses that it holds, by field."""

    @property
    def summary(self) -> str:
        """The contents of the library in one sentence."""
        names = ", ".join(venue.venue for venue in self.venues[:_LISTED])
        return (
            f"The library {self.name} holds {self.works:,} works of {self.first} to {self.last}, "
            f"most of them of {names}."
        )


def read_card(library: Path) -> Card | None:
    """The card of the library in a folder; None if there is no readable one."""
    path = library / CARD
    try:
        if path.stat().st_size > _MAX_CARD:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Card)
    except (OSError, msgspec.DecodeError):
        return None


def not_held(library: Library) -> Problem | None:
    """The reason why a search of a shipped library may find nothing; None for a library without a
    card and without a library below."""
    card = read_card(library.path)
    message = ""
    if card is None and library.below is not None:
        card = read_card(library.below.path)
        own = library.manifest.works
        message = f"The library {library.path.name} holds {own:,} work{'s' * (own != 1)}. "
    if card is None:
        return None
    hint = (
        "`citewell library status` lists the years that it lacks; add records of your own with "
        "`citewell library add PATH...`."
    )
    return Problem("not-held", message + card.summary, hint, path=str(library.path))


def not_known(words: Sequence[str]) -> Problem:
    """The reason why what a search found is probably not what was asked for."""
    message = f"No work in the library has {', '.join(f'“{word}”' for word in words[:3])}."
    hint = (
        "`citewell find --online` asks the sources that you allow; `citewell library fetch --for "
        "PAPER` fetches the literature of a paper."
    )
    return Problem("not-held", message, hint)


def coverage_of(library: Library) -> tuple[LibraryCoverage, ...]:
    """The coverage of the library and those below it, from the top."""
    found: list[LibraryCoverage] = []
    one: Library | None = library
    while one is not None:
        card = read_card(one.path)
        if card is None:
            found.append(_counted(one))
        else:
            found.append(
                LibraryCoverage(
                    name=card.name,
                    works=card.works,
                    first=card.first,
                    last=card.last,
                    years=card.years,
                    venues=card.venues[:_LARGEST],
                    fields=card.fields,
                )
            )
        one = one.below
    return tuple(found)


def _counted(library: Library) -> LibraryCoverage:
    """The coverage of a library without a card, from the years of its works."""
    import numpy as np

    years = library.columns().year
    living = [
        own if segment.dead is None else own[~segment.dead]
        for segment in library.own_segments
        for own in (years[segment.base : segment.base + segment.count],)
    ]
    every = np.concatenate(living) if living else years[:0]
    found, counts = np.unique(every[every > 0], return_counts=True)
    dated = dict(zip(found.tolist(), counts.tolist(), strict=True))
    return LibraryCoverage(
        name=library.path.name,
        works=library.manifest.works,
        created=library.manifest.created[:10],
        first=min(dated, default=0),
        last=max(dated, default=0),
        years={str(year): count for year, count in dated.items()},
    )


def shares_in_words(fields: Mapping[str, int]) -> str:
    """The shares by field, and the command that fetches the literature of others; empty without
    shares."""
    shares = ", ".join(f"{field} {share}%" for field, share in fields.items())
    hint = "of references; `citewell library fetch --for PAPER` fetches what a paper needs"
    return f"{shares} {hint}" if shares else ""


def missing_years(card: Card) -> str:
    """The missing years of the largest venues, in words; empty if there are none."""
    gaps = [(one.venue, one.missing) for one in card.venues[:_LARGEST] if one.missing]
    return "; ".join(f"{venue} {', '.join(map(str, years))}" for venue, years in gaps)


def card_text(card: Card, sha256: str) -> str:
    """The card as Markdown; `sha256` is the digest of the library's files."""
    lines = [
        f"# {card.name}",
        "",
        f"{card.works:,} works of {card.first} to {card.last}. Each record holds bibliographic "
        "facts alone: title, authors, year, venue, pages, DOI, arXiv id, address, key, kind, and "
        "the source of each fact.",
        f"Of {card.abstracts:,} works the abstract was read: what it is worth to search is kept "
        "as numbers (a quantised vector, hashed words with weights). No text of it is kept.",
        "",
        "The same records give the same bytes. In the folder of the library, `find . -type f | "
        "LC_ALL=C sort | xargs sha256sum | sha256sum` gives",
        f"`{sha256}`.",
        "",
        "## Sources",
        "",
        "| source | works |",
        "|---|---|",
        *(f"| {source} | {count:,} |" for source, count in card.sources.items()),
        "",
        "## Venues",
        "",
        "Missing are years between the first and the last of which there is nothing, or less than "
        "a quarter of what the years beside have.",
        "",
        "| venue | works | years | missing |",
        "|---|---|---|---|",
        *(
            f"| {one.venue} | {one.works:,} | {one.first}-{one.last} | "
            f"{', '.join(map(str, one.missing))} |"
            for one in card.venues
        ),
        "",
        "## Years",
        "",
        "| year | works |",
        "|---|---|",
        *(f"| {year} | {count:,} |" for year, count in card.years.items()),
        "",
    ]
    return "\n".join(lines)
