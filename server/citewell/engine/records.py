"""A library as a place where the check looks references up: batched keys, and similar titles."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import islice

from citewell.corpus import keys
from citewell.corpus.library import Library
from citewell.engine.meetings import LibraryMeetings
from citewell.engine.title_index import TitleIndex
from citewell.model import Author, CitewellError, Work
from citewell.model.check import Claim
from citewell.model.identifiers import dois_of
from citewell.model.ids import arxiv_id
from citewell.model.titles import normalise_title, title_key
from citewell.model.work import without_abstract
from citewell.retrieval.bm25_segment import IndexSegment, open_segment
from citewell.verification.own_bib import is_from_own_bib, without_own_bib
from citewell.verification.proceedings import Meeting
from citewell.verification.records import Candidates, most_similar, title_keys

logger = logging.getLogger(__name__)

REMEMBERED = 4_000
"""Works that are kept between look-ups."""
REMEMBERED_TITLES = 32_000
"""Normalised titles that are kept: the titles of one field share their rarest words."""


class LibraryRecords:
    """Answers from one open library; makes no request and keeps no state but a memory of works."""

    name = "library"

    def __init__(self, library: Library) -> None:
        self._library = library
        segments: list[IndexSegment] = []
        try:
            segments = [open_segment(view) for view in library.whole_segments]
        except CitewellError as error:
            # Exact look-ups need no index; similar titles then stay unknown.
            logger.warning("%s", error.problem.message)
        self._works: dict[int, Work] = {}
        self._titles_of: dict[int, str] = {}
        self._meetings = LibraryMeetings(library, segments)
        self._titles = TitleIndex(segments, library.rows)

    def candidates(self, claims: Sequence[Claim]) -> list[Candidates]:
        """Exact look-ups by DOI, arXiv identifier and title: two queries for all claims."""
        key_numbers = [
            (
                keys.doi_number(claim.doi) if claim.doi else None,
                keys.arxiv_number(claim.arxiv) if claim.arxiv else None,
                keys.title_number(claim.title) if claim.title else None,
            )
            for claim in claims
        ]
        numbers = [number for three in key_numbers for number in three if number is not None]
        rows = self._library.key_rows(numbers)
        works = self._fetch(row for found in rows.values() for row in found)

        def of(number: int | None) -> list[Work]:
            return [works[row] for row in rows.get(number, ())] if number is not None else []

        answers = []
        for claim, (doi, arxiv, title) in zip(claims, key_numbers, strict=True):
            key = title_key(claim.title)
            answers.append(
                without_own_bib(
                    claim,
                    Candidates(
                        by_doi=tuple(work for work in of(doi) if claim.doi in dois_of(work)),
                        by_arxiv=tuple(
                            work for work in of(arxiv) if arxiv_id(work.arxiv) == claim.arxiv
                        ),
                        by_title=tuple(work for work in of(title) if key in title_keys(work)),
                    ),
                )
            )
        return answers

    def near(self, claims: Sequence[Claim]) -> list[tuple[Work, ...]]:
        """Works that share the rarest words of the title, ordered by edit distance."""
        blocks = self._titles.similar([claim.title for claim in claims])
        titles = self._normalised({row for block in blocks for row in block})
        best = [
            [block[place] for place in most_similar(claim.title, [titles[row] for row in block])]
            for claim, block in zip(claims, blocks, strict=True)
        ]
        works = self._fetch(row for block in best for row in block)
        return [
            tuple(works[row] for row in block if not is_from_own_bib(claim, works[row]))
            for claim, block in zip(claims, best, strict=True)
        ]

    def _normalised(self, rows: set[int]) -> dict[int, str]:
        """The normalised titles of the rows, by row."""
        held = self._titles_of
        found = {row: held[row] for row in rows if row in held}
        missing = sorted(rows - found.keys())
        if missing:
            titles = map(normalise_title, self._library.titles_of(missing))
            new = dict(zip(missing, titles, strict=True))
            found |= new
            if len(held) + len(new) > REMEMBERED_TITLES:
                for row in list(islice(held, REMEMBERED_TITLES // 2)):
                    del held[row]
            held |= new
        return found

    def meeting(self, venue: str, year: int, authors: Sequence[Author]) -> Meeting:
        """Whether the meeting is held whole, and its papers by half of the authors or more."""
        return self._meetings.meeting(venue, year, authors, self._take)

    def _take(self, rows: Sequence[int]) -> list[Work]:
        works = self._fetch(rows)
        return [works[row] for row in rows]

    def _fetch(self, rows: Iterable[int]) -> dict[int, Work]:
        wanted, held = set(rows), self._works
        found = {row: held[row] for row in wanted if row in held}
        missing = sorted(wanted - found.keys())
        works = (without_abstract(work) for work in self._library.works(missing))
        found.update(zip(missing, works, strict=True))
        if len(held) + len(missing) > REMEMBERED:
            self._works = dict(found)
        else:
            held.update(found)
        return found
