"""A library as a place where the check looks references up: batched keys, and similar titles."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus import Library, keys
from citewell.model import Author, CitewellError, Work
from citewell.model.check import Claim
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.titles import title_key
from citewell.retrieval.bm25 import Segment
from citewell.retrieval.bm25_build import TITLE
from citewell.retrieval.words import split
from citewell.verification.people import compare_people
from citewell.verification.proceedings import LIKE_AUTHORS, WITH_WORKSHOPS, Meeting
from citewell.verification.records import Candidates, rank_by_title, title_keys
from citewell.verification.volumes import (
    FIRST_FINDINGS,
    LEAST_PAPERS,
    WITH_FINDINGS,
    MainVolume,
    main_volume,
    volume_is_whole,
)

logger = logging.getLogger(__name__)

COMMON = 60_000
"""A word in more papers than this tells titles apart too little for what it costs."""
BLOCK = 8
"""Rarest words of a title that are looked up."""
MOST = 20_000
"""Titles that the words of one title may bring up."""
LEAST_WORDS = 3
"""Words that are looked up whatever they bring."""
MOST_AUTHORS = 12
"""Authors of a reference that are looked for in the proceedings it names."""
REMEMBERED = 30_000
"""Works that are kept between look-ups."""
FETCHED = 24
"""Works whose titles are compared letter by letter."""


class LibraryRecords:
    """Answers from one open library; makes no request and keeps no state but a memory of works."""

    name = "library"

    def __init__(self, library: Library) -> None:
        import Stemmer

        self._library = library
        self._stemmer = Stemmer.Stemmer
        self._segments: list[Segment] = []
        try:
            self._segments = [Segment(view) for view in library.segments]
        except CitewellError as error:
            # Exact look-ups need no index; similar titles then stay unknown.
            logger.warning("%s", error.problem.message)
        self._works: dict[int, Work] = {}
        self._meetings: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._volumes: dict[tuple[str, int], MainVolume] = {}

    def candidates(self, claims: Sequence[Claim]) -> list[Candidates]:
        """Exact look-ups by DOI, arXiv identifier and title: two queries for all claims."""
        asked = [
            (
                keys.doi_number(claim.doi) if claim.doi else None,
                keys.arxiv_number(claim.arxiv) if claim.arxiv else None,
                keys.title_number(claim.title) if claim.title else None,
            )
            for claim in claims
        ]
        numbers = [number for three in asked for number in three if number is not None]
        rows = self._library.key_rows(numbers)
        works = self._fetch(row for found in rows.values() for row in found)

        def of(number: int | None) -> list[Work]:
            return [works[row] for row in rows.get(number, ())] if number is not None else []

        answers = []
        for claim, (doi, arxiv, title) in zip(claims, asked, strict=True):
            key = title_key(claim.title)
            answers.append(
                Candidates(
                    by_doi=tuple(work for work in of(doi) if _has_doi(work, claim.doi)),
                    by_arxiv=tuple(
                        work for work in of(arxiv) if arxiv_id(work.arxiv) == claim.arxiv
                    ),
                    by_title=tuple(work for work in of(title) if key in title_keys(work)),
                )
            )
        return answers

    def near(self, claims: Sequence[Claim]) -> list[tuple[Work, ...]]:
        """Works that share the rarest words of the title, ordered by edit distance."""
        if not self._segments:
            return [() for _ in claims]
        blocks = [self._block(claim.title) for claim in claims]
        works = self._fetch(row for block in blocks for row in block)
        return [
            rank_by_title(claim.title, [works[row] for row in block])
            for claim, block in zip(claims, blocks, strict=True)
        ]

    def meeting(self, venue: str, year: int, authors: Sequence[Author]) -> Meeting:
        """Whether the meeting is held whole, and its papers by half of the authors or more."""
        rows = self._rows_of_meeting(venue, year)
        if not len(rows):
            return Meeting()
        shared = np.zeros(len(rows), np.int64)
        for author in authors[:MOST_AUTHORS]:
            words = split(author.family)[-1:]
            for word in words:
                shared += np.isin(rows, self._rows_with(b"a:" + word))
        enough = max(1, (min(len(authors), MOST_AUTHORS) + 1) // 2)
        best = np.flatnonzero(shared >= enough)
        best = best[np.argsort(-shared[best], kind="stable")][:FETCHED]
        fetched = self._fetch(int(row) for row in rows[best])
        works = tuple(fetched[int(row)] for row in rows[best])
        # To look at every paper is dear, and where workshops abound nothing comes of it without
        # another paper by these people.
        telling = venue not in WITH_WORKSHOPS or any(
            compare_people(authors, work.authors).shared >= LIKE_AUTHORS for work in works
        )
        if not telling or len(rows) < LEAST_PAPERS or not self._held_whole(venue, year):
            return Meeting(len(rows), False, works)
        return Meeting(self._volume(venue, year).papers, True, works)

    def _rows_of_meeting(self, venue: str, year: int) -> NDArray[np.int64]:
        rows = self._meetings.get((venue, year))
        if rows is None:
            held = self._rows_with(f"v:{venue}".encode())
            rows = np.intersect1d(held, self._rows_with(b"y:%d" % year))
            self._meetings[venue, year] = rows
        return rows

    def _volume(self, venue: str, year: int) -> MainVolume:
        volume = self._volumes.get((venue, year))
        if volume is None:
            rows = self._rows_of_meeting(venue, year)
            volume = main_volume(self._library.works([int(row) for row in rows]))
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
            if len(self._rows_of_meeting(venue, beside)) >= LEAST_PAPERS:
                if not self._volume(venue, beside).whole:
                    return False
            elif len(self._rows_of_meeting(venue, beyond)) < LEAST_PAPERS:
                return False  # outside the years that are held
        return True

    def _findings_held(self, venue: str, year: int) -> bool:
        """True when the Findings of the meeting, often cited as its papers, are held whole."""
        if venue not in WITH_FINDINGS or year < FIRST_FINDINGS:
            return True
        rows = self._rows_of_meeting("findings", year)
        works = self._library.works([int(row) for row in rows])
        return volume_is_whole(works, f"{year}.findings-{venue}")

    def _rows_with(self, term: bytes) -> NDArray[np.int64]:
        """Rows that hold a term of the index, those that are gone left out."""
        found = [np.zeros(0, np.int64)]
        for segment in self._segments:
            column = segment.column(term)
            if column >= 0:
                rows = segment.rows[segment.postings(column)].astype(np.int64)
                if segment.dead is not None:
                    rows = rows[~segment.dead[rows]]
                found.append(rows + segment.base)
        return np.concatenate(found)

    def _block(self, title: str) -> list[int]:
        stem = self._stemmer("english").stemWord
        terms = {stem(word.decode()).encode() for word in split(title)}
        postings = sorted(
            (
                (at.stop - at.start, number, at)
                for number, segment in enumerate(self._segments)
                for term in terms
                if (column := segment.column(term)) >= 0
                and (at := segment.postings(column)).stop - at.start <= COMMON
            ),
            key=lambda one: one[:2],
        )
        found: list[NDArray[np.int64]] = []
        total = 0
        for _, number, at in postings[: BLOCK * len(self._segments)]:
            rows = self._titled(self._segments[number], at)
            total += len(rows)
            if total > MOST and len(found) >= LEAST_WORDS:
                break
            found.append(rows)
        if not total:
            return []
        score = np.zeros(self._library.rows, np.float32)
        for rows in found:
            score[rows] += np.log(1e6 / max(1, len(rows)))  # a row holds a word once
        every = np.concatenate(found)
        # A row is in there once for each of its words.
        most = FETCHED * len(found)
        if len(every) > most:
            every = every[np.argpartition(-score[every], most)[:most]]
        rows = np.unique(every)
        best = rows[np.argsort(-score[rows], kind="stable")][:FETCHED]
        return sorted(best.tolist())

    def _titled(self, segment: Segment, at: slice) -> NDArray[np.int64]:
        """Live rows of a posting list whose title holds the word."""
        rows = segment.rows[at][(segment.fields[at] & TITLE) != 0]
        if segment.dead is not None:
            rows = rows[~segment.dead[rows]]
        live: NDArray[np.int64] = rows.astype(np.int64) + segment.base
        return live

    def _fetch(self, rows: Iterable[int]) -> dict[int, Work]:
        wanted = set(rows)
        missing = sorted(wanted - self._works.keys())
        if len(self._works) > REMEMBERED:
            self._works = {row: self._works[row] for row in wanted & self._works.keys()}
        works = (_short(work) for work in self._library.works(missing))
        self._works.update(zip(missing, works, strict=True))
        return self._works


def _short(work: Work) -> Work:
    """Without the abstract, which no comparison needs and which is most of a record."""
    return msgspec.structs.replace(work, abstract="") if work.abstract else work


def _has_doi(work: Work, doi: str) -> bool:
    return normalise_doi(work.doi) == doi or f"doi:{doi}" in work.same_as
