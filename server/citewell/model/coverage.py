"""What a library covers: years, venues, and what it lacks."""

from __future__ import annotations

import msgspec


class VenueCount(msgspec.Struct, frozen=True, kw_only=True):
    """The works of one venue."""

    venue: str
    works: int
    first: int
    last: int
    missing: tuple[int, ...] = ()
    """Years between the first and the last of which it holds nothing, or far less than of the
    years beside."""


class LibraryCoverage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one of the libraries that are searched covers."""

    name: str
    works: int
    first: int = 0
    """Year of the first work; 0 if unknown."""
    last: int = 0
    """Year of the last work; 0 if unknown."""
    years: dict[str, int] = {}
    """Works of each year."""
    venues: tuple[VenueCount, ...] = ()
    """The largest venues of a library that is shipped; none of any other library."""
