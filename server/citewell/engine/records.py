"""A library as a provider of records for the check: batched keys, and similar titles."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from citewell.corpus import keys
from citewell.corpus.library import Library
from citewell.corpus.volumes import LibraryPlaces
from citewell.engine.identified import published
from citewell.model import Author, CitewellError, Work
from citewell.model.check import Claim
from citewell.model.identifiers import arxiv_ids, dois_of
from citewell.model.titles import normalise_title, title_key
from citewell.model.work import without_abstract
from citewell.retrieval.arxiv_titles import title_of_arxiv
from citewell.retrieval.bm25_build import TITLE
from citewell.retrieval.bm25_segment import IndexSegment, open_segment
from citewell.retrieval.words import split
from citewell.verification.identify import (
    ClaimCandidates,
    is_from_own_bib,
    most_similar,
    title_keys,
    without_own_bib,
)
from citewell.verification.likeness import head_of
from citewell.verification.proceedings import (
    BIENNIAL,
    FIRST_FINDINGS,
    HELD,
    LEAST_PAPERS,
    PUBLISHED,
    WITH_FINDINGS,
    WITH_TRACK,
    MainVolume,
    Meeting,
    main_volume,
    volume_is_whole,
)

# The meetings of a library: its papers of each, and whether they are complete.

MOST_AUTHORS = 12
"""Number of a reference's authors looked up in the proceedings it names."""
MOST_WORKS = 24
"""Maximum number of papers read by those authors."""


class LibraryMeetings:
    """Looks up meetings in one open library and its index of words; caches each meeting."""

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
        """Whether the meeting is complete, and its papers by at least half of the authors.

        `works` returns the works in some rows, in order.
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
        if len(rows) < LEAST_PAPERS or not self._held_whole(venue, year):
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
            published = PUBLISHED.get(venue, {}).get(year, 0)
            volume = main_volume(self._places.take(self._rows_of(venue, year)), published)
            self._volumes[venue, year] = volume
        return volume

    def _held_whole(self, venue: str, year: int) -> bool:
        return (
            self._volume(venue, year).whole
            and self._held_beside(venue, year)
            and self._findings_held(venue, year)
        )

    def _held_beside(self, venue: str, year: int) -> bool:
        """True when the meetings of the adjacent years are complete, or did not take place."""
        for beside, beyond in ((year - 1, year - 2), (year + 1, year + 2)):
            if len(self._rows_of(venue, beside)) >= LEAST_PAPERS:
                if not self._volume(venue, beside).whole:
                    return False
            elif venue not in BIENNIAL and len(self._rows_of(venue, beyond)) < LEAST_PAPERS:
                return False  # outside the years in the library
        return True

    def _findings_held(self, venue: str, year: int) -> bool:
        """True when the Findings of the meeting and its track, often cited as its papers, are
        complete."""
        if self._volume(venue, year).papers < HELD * WITH_TRACK.get((venue, year), 0):
            return False
        if venue not in WITH_FINDINGS or year < FIRST_FINDINGS:
            return True
        places = self._places.take(self._rows_of("findings", year))
        return volume_is_whole(places, f"{year}.findings-{venue}")

    def _rows_with(self, term: bytes) -> NDArray[np.int64]:
        """Live rows with a term of the index, ascending."""
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
    """Mask of the rows that are among the others; both ascend. `np.isin` imports a module for
    it."""
    if not len(others):
        return np.zeros(len(rows), np.bool_)
    places = np.searchsorted(others, rows)
    places[places == len(others)] = 0
    among: NDArray[np.bool_] = others[places] == rows
    return among


# The papers with titles that share the rarest words of another title, found in the index of words.

COMMON = 60_000
"""Number of papers above which a word costs too much for how little it distinguishes titles."""
BLOCK = 8
"""Number of a title's rarest words that are looked up."""
MOST = 20_000
"""Maximum number of titles that the words of one title may retrieve."""
LEAST_WORDS = 3
"""Minimum number of words looked up, whatever their frequency."""
COMPARED = 24
"""Number of papers with titles compared letter by letter."""
REMEMBERED_ROWS = 4_000_000
"""Number of rows (of four bytes) cached between look-ups, since words of titles repeat."""

_Postings = tuple[tuple[int, int, slice], ...]
"""For each segment with the term: the number of papers with it, the segment's number, their
range."""


class TitleIndex:
    """Reads the index of words of one open library. Thread-safe."""

    def __init__(self, segments: Sequence[IndexSegment], rows: int) -> None:
        """`rows` is the number of the library's rows."""
        import Stemmer

        self._stemmer = Stemmer.Stemmer
        self._segments = segments
        self._rows = rows
        self._postings: dict[bytes, _Postings] = {}
        self._titled: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._held = 0

    def similar(self, titles: Sequence[str]) -> list[list[int]]:
        """For each title, the rows that share the most and rarest words with it, ascending."""
        stem = self._stemmer("english").stemWord
        score = np.zeros(self._rows, np.float32)
        return [
            self._block(dict.fromkeys(stem(word.decode()).encode() for word in split(title)), score)
            for title in titles
        ]

    def _block(self, terms: dict[bytes, None], score: NDArray[np.float32]) -> list[int]:
        """The rows for one title. `score` is all zeros, one a row, before and after."""
        postings = [one for term in terms for one in self._postings_of(term)]
        postings.sort(key=lambda one: one[:2])
        found: list[NDArray[np.int32]] = []
        total = 0
        for _, number, at in postings[: BLOCK * len(self._segments)]:
            rows = self._with_word(number, at)
            total += len(rows)
            if total > MOST and len(found) >= LEAST_WORDS:
                break
            found.append(rows)
        if not total:
            return []
        # Indices of that size need no conversion, and `add.at` takes a third of the time of `+=`
        # with an index.
        every = np.concatenate(found, dtype=np.intp)
        begin = 0
        for rows in found:
            end = begin + len(rows)
            np.add.at(score, every[begin:end], np.float32(math.log(1e6 / max(1, len(rows)))))
            begin = end
        reached = score[every]
        score[every] = 0.0
        # A row occurs once for each of its words.
        most = COMPARED * len(found)
        if len(every) > most:
            kept = np.argpartition(-reached, most)[:most]
            every, reached = every[kept], reached[kept]
        order = np.lexsort((every, -reached))
        return sorted(list(dict.fromkeys(every[order].tolist()))[:COMPARED])

    def _postings_of(self, term: bytes) -> _Postings:
        found = self._postings.get(term)
        if found is None:
            places = []
            for number, segment in enumerate(self._segments):
                column = segment.column(term)
                if column >= 0:
                    at = segment.postings(column)
                    if at.stop - at.start <= COMMON:
                        places.append((at.stop - at.start, number, at))
            if len(self._postings) * 64 > REMEMBERED_ROWS:
                self._postings.clear()
            found = self._postings[term] = tuple(places)
        return found

    def _with_word(self, number: int, at: slice) -> NDArray[np.int32]:
        """Live rows of a posting list with the word in the title."""
        rows = self._titled.get((number, at.start))
        if rows is None:
            segment = self._segments[number]
            own = segment.rows[at][(segment.fields[at] & TITLE) != 0]
            if segment.dead is not None:
                own = own[~segment.dead[own]]
            rows = own.astype(np.int32) + np.int32(segment.base)
            if self._held > REMEMBERED_ROWS:
                self._titled, self._held = {}, 0
            self._titled[number, at.start] = rows
            self._held += len(rows)
        return rows


logger = logging.getLogger(__name__)

REMEMBERED = 4_000
"""Number of works cached between look-ups."""
REMEMBERED_TITLES = 32_000
"""Number of normalised titles cached: the titles of one field share their rarest words."""


class LibraryRecords:
    """Looks up records in one open library, without requests; its only state is a cache of
    works."""

    name = "library"

    def __init__(self, library: Library) -> None:
        self._library = library
        segments: list[IndexSegment] = []
        try:
            segments = [open_segment(view) for view in library.whole_segments]
        except CitewellError as error:
            # Exact look-ups need no index; similar titles are then unknown.
            logger.warning("%s", error.problem.message)
        self._works: dict[int, Work] = {}
        self._titles_of: dict[int, str] = {}
        self._meetings = LibraryMeetings(library, segments)
        self._titles = TitleIndex(segments, library.rows)

    def candidates(self, claims: Sequence[Claim]) -> list[ClaimCandidates]:
        """Exact look-ups by DOI, arXiv identifier and title: two queries for all claims."""
        key_numbers = [
            (
                keys.doi_number(claim.doi) if claim.doi else None,
                keys.arxiv_number(claim.arxiv) if claim.arxiv else None,
                keys.title_number(claim.title) if claim.title else None,
            )
            for claim in claims
        ]
        further = [
            [keys.identifier_numbers(one.identifier) for one in claim.identifiers]
            for claim in claims
        ]
        # Many records of proceedings lack the arXiv identifier of their paper.
        preprints = [title_of_arxiv(claim.arxiv) if claim.arxiv else "" for claim in claims]
        numbers = [number for three in key_numbers for number in three if number is not None]
        numbers += [number for some in further for one in some for number in one]
        numbers += [number for one in preprints if one and (number := keys.title_number(one))]
        rows = self._library.key_rows(numbers)
        works = self._fetch(row for found in rows.values() for row in found)

        def of(number: int | None) -> list[Work]:
            return [works[row] for row in rows.get(number, ())] if number is not None else []

        answers = []
        for claim, (doi, arxiv, title), some, preprint in zip(
            claims, key_numbers, further, preprints, strict=True
        ):
            key = title_key(claim.title)
            by_arxiv = [work for work in of(arxiv) if claim.arxiv in arxiv_ids(work)]
            if preprint and not by_arxiv:
                titled = of(keys.title_number(preprint))
                same = [work for work in titled if title_key(preprint) in title_keys(work)]
                by_arxiv = published(same, claim.arxiv)
            answers.append(
                without_own_bib(
                    claim,
                    ClaimCandidates(
                        by_doi=tuple(work for work in of(doi) if claim.doi in dois_of(work)),
                        by_arxiv=tuple(by_arxiv),
                        by_identifier=tuple(
                            work
                            for one, numbers in zip(claim.identifiers, some, strict=True)
                            for number in numbers
                            for work in of(number)
                            if one.identifier.names(work)
                        ),
                        by_title=tuple(work for work in of(title) if key in title_keys(work)),
                    ),
                )
            )
        return answers

    def near(self, claims: Sequence[Claim]) -> list[tuple[Work, ...]]:
        """Works that share the rarest words of the title, ordered by edit distance."""
        blocks = self._titles.similar([claim.title for claim in claims])
        headed = [n for n, claim in enumerate(claims) if head_of(claim.title)]
        heads = self._titles.similar([head_of(claims[n].title) for n in headed])
        for n, rows in zip(headed, heads, strict=True):
            blocks[n] = sorted({*blocks[n], *rows})
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
        """Whether the meeting is complete, and its papers by at least half of the authors."""
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
