"""What a record lacks, filled from that of the same work in a library below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from citewell.corpus import keys
from citewell.model import Work
from citewell.model.names import family_key

if TYPE_CHECKING:
    from citewell.corpus.segment import Segment

FillGaps = Callable[[Work, Work], Work]
"""A record with what it lacks from another one of the same work."""


def filled(
    works: Mapping[int, Work], lower: Sequence[Segment], fill_gaps: FillGaps
) -> dict[int, Work]:
    """The works by row, with what the segments below know of them; the upper segments first.

    A work is left as it is where two records of a segment may be the same work.
    """
    found = dict(works)
    numbers = {row: keys.title_number(work.title) for row, work in works.items()}
    wanted = [number for number in dict.fromkeys(numbers.values()) if number is not None]
    for segment in lower if wanted else ():
        held = {
            number: list(segment.catalogue.works(_covered(segment, rows)).values())
            for number, rows in segment.catalogue.rows(wanted).items()
        }
        for row, number in numbers.items():
            if row < segment.base and number is not None:
                same = [work for work in held.get(number, ()) if is_same(found[row], work)]
                if len(same) == 1:
                    found[row] = fill_gaps(found[row], same[0])
    return found


def _covered(segment: Segment, rows: Iterable[int]) -> list[int]:
    return [row for row in rows if segment.is_live(row) and segment.is_covered(row)]


def is_same(own: Work, other: Work) -> bool:
    """Whether a covered record of the same title is one of the same work: by an author, or by the
    year where one of them names none."""
    families = {family_key(author) for author in own.authors}
    others = {family_key(author) for author in other.authors}
    if families and others:
        return bool(families & others)
    return own.year is not None and other.year is not None and abs(own.year - other.year) <= 1


def is_thin(work: Work) -> bool:
    """Whether a record lacks what every list shows: authors, year or venue."""
    return not (work.authors and work.year and (work.venue or work.booktitle or work.journal))


def has_gaps(work: Work) -> bool:
    """Whether another record may add to what an entry says."""
    return is_thin(work) or not ((work.booktitle or work.journal) and work.pages and work.doi)
