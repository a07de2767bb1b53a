"""The meetings of a library: which papers it has of each, and whether it has them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.corpus.volumes import LibraryPlaces
from citewell.model import Author, Work
from citewell.retrieval.bm25_segment import IndexSegment
from citewell.retrieval.words import split
from citewell.verification.people import compare_people
from citewell.verification.proceedings import LIKE_AUTHORS, WITH_WORKSHOPS, Meeting
from citewell.verification.volumes import (
    FIRST_FINDINGS,
    LEAST_PAPERS,
    WITH_FINDINGS,
    MainVolume,
    main_volume,
    volume_is_whole,
)

MOST_AUTHORS = 12
"""Authors of a reference that are looked for in the proceedings it names."""
MOST_WORKS = 24
"""Papers by those authors that are read."""


class LibraryMeetings:
    """Answers from one open library and its index of words; remembers each meeting asked for."""

    def __init__(self, library: Library, segments: Sequence[IndexSegment]) -> None:
        self._library = library
        self._segments = segments
        self._places = LibraryPlaces(library)
        self._rows: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._volumes: dict[tuple[str, int], MainVolume] = {}

    def meeting(
        self,
        venue: str,
        year: int,
        authors: Sequence[Author],
        works: Callable[[Sequence[int]], Sequence[Work]],
    ) -> Meeting:
        """Whether the meeting is held whole, and its papers by half of the authors or more.

        `works` gives the works in some rows, in order.
        """
        rows = self._rows_of(venue, year)
        if not len(rows):
            return Meeting()
        shared = np.zeros(len(rows), np.int64)
        for author in authors[:MOST_AUTHORS]:
            for word in split(author.family)[-1:]:
                shared += _among(rows, self._rows_with(b"a:" + word))
        enough = max(1, (min(len(authors), MOST_AUTHORS) + 1) // 2)
        best = np.flatnonzero(shared >= enough)
        best = best[np.argsort(-shared[best], kind="stable")][:MOST_WORKS]
        by_authors = tuple(works(rows[best].tolist()))
        # Where workshops abound nothing comes of a volume without another paper by these people.
        telling = venue not in WITH_WORKSHOPS or any(
            compare_people(authors, work.authors).shared >= LIKE_AUTHORS for work in by_authors
        )
        if not telling or len(rows) < LEAST_PAPERS or not self._held_whole(venue, year):
            return Meeting(len(rows), False, by_authors)
        return Meeting(self._volume(venue, year).papers, True, by_authors)

    def _rows_of(self, venue: str, year: int) -> NDArray[np.int64]:
        rows = self._rows.get((venue, year))
        if rows is None:
            held = self._rows_with(f"v:{venue}".encode())
            rows = held[_among(held, self._rows_with(b"y:%d" % year))]
            self._rows[venue, year] = rows
        return rows

    def _volume(self, venue: str, year: int) -> MainVolume:
        volume = self._volumes.get((venue, year))
        if volume is None:
            volume = main_volume(self._places.take(self._rows_of(venue, year)))
            self._volumes[venue, year] = volume
        return volume

    def _held_whole(self, venue: str, year: int) -> bool:
        return (
            self._volume(venue, year).whole
            and self._held_beside(venue, year)
            and self._findings_held(venue, year)
        )

    def _held_beside(self, venue: str, year: int) -> bool:
        """True when the meetings of the years before and after are held whole, or did not meet."""
        for beside, beyond in ((year - 1, year - 2), (year + 1, year + 2)):
            if len(self._rows_of(venue, beside)) >= LEAST_PAPERS:
                if not self._volume(venue, beside).whole:
                    return False
            elif len(self._rows_of(venue, beyond)) < LEAST_PAPERS:
                return False  # outside the years that are held
        return True

    def _findings_held(self, venue: str, year: int) -> bool:
        """True when the Findings of the meeting, often cited as its papers, are held whole."""
        if venue not in WITH_FINDINGS or year < FIRST_FINDINGS:
            return True
        places = self._places.take(self._rows_of("findings", year))
        return volume_is_whole(places, f"{year}.findings-{venue}")

    def _rows_with(self, term: bytes) -> NDArray[np.int64]:
        """Rows that hold a term of the index, rising; those that are gone left out."""
        found = [np.zeros(0, np.int64)]
        for segment in self._segments:
            column = segment.column(term)
            if column >= 0:
                rows = segment.rows[segment.postings(column)].astype(np.int64)
                if segment.dead is not None:
                    rows = rows[~segment.dead[rows]]
                found.append(rows + segment.base)
        return np.concatenate(found)


def _among(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the rows are among the others; both rise. `np.isin` imports a module for it."""
    if not len(others):
        return np.zeros(len(rows), np.bool_)
    places = np.searchsorted(others, rows)
    places[places == len(others)] = 0
    among: NDArray[np.bool_] = others[places] == rows
    return among
