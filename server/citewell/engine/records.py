"""A library as a place where the check looks references up: batched keys, and similar titles."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus import Library, keys
from citewell.engine.meetings import LibraryMeetings
from citewell.model import Author, CitewellError, Work
from citewell.model.check import Claim
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.titles import title_key
from citewell.retrieval.bm25 import Segment
from citewell.retrieval.bm25_build import TITLE
from citewell.retrieval.words import split
from citewell.verification.proceedings import Meeting
from citewell.verification.records import Candidates, most_similar, title_keys

logger = logging.getLogger(__name__)

COMMON = 60_000
"""A word in more papers than this tells titles apart too little for what it costs."""
BLOCK = 8
"""Rarest words of a title that are looked up."""
MOST = 20_000
"""Titles that the words of one title may bring up."""
LEAST_WORDS = 3
"""Words that are looked up whatever they bring."""
REMEMBERED = 30_000
"""Works that are kept between look-ups."""
FETCHED = 24
"""Works whose titles are compared letter by letter."""


class _Titled(msgspec.Struct, frozen=True):
    """A record of which only the title is read."""

    title: str


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
        self._meetings = LibraryMeetings(library, self._segments)

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
        score = np.zeros(self._library.rows, np.float32)
        blocks = [self._block(claim.title, score) for claim in claims]
        rows = sorted({row for block in blocks for row in block})
        records = self._library.records(rows, _Titled)
        titles = {row: record.title for row, record in zip(rows, records, strict=True)}
        best = [
            [block[place] for place in most_similar(claim.title, [titles[row] for row in block])]
            for claim, block in zip(claims, blocks, strict=True)
        ]
        works = self._fetch(row for block in best for row in block)
        return [tuple(works[row] for row in block) for block in best]

    def meeting(self, venue: str, year: int, authors: Sequence[Author]) -> Meeting:
        """Whether the meeting is held whole, and its papers by half of the authors or more."""
        return self._meetings.meeting(venue, year, authors, self._take)

    def _block(self, title: str, score: NDArray[np.float32]) -> list[int]:
        """Rows that share the rarest words of the title, rising. `score` is of zeros, one a row,
        and is left so."""
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
        for rows in found:
            score[rows] += np.float32(math.log(1e6 / max(1, len(rows))))  # a row holds a word once
        every = np.concatenate(found)
        reached = score[every]
        score[every] = 0.0
        # A row is in there once for each of its words.
        most = FETCHED * len(found)
        if len(every) > most:
            kept = np.argpartition(-reached, most)[:most]
            every, reached = every[kept], reached[kept]
        order = np.lexsort((every, -reached))
        return sorted(list(dict.fromkeys(every[order].tolist()))[:FETCHED])

    def _titled(self, segment: Segment, at: slice) -> NDArray[np.int64]:
        """Live rows of a posting list whose title holds the word."""
        rows = segment.rows[at][(segment.fields[at] & TITLE) != 0]
        if segment.dead is not None:
            rows = rows[~segment.dead[rows]]
        live: NDArray[np.int64] = rows.astype(np.int64) + segment.base
        return live

    def _take(self, rows: Sequence[int]) -> list[Work]:
        works = self._fetch(rows)
        return [works[row] for row in rows]

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
