"""What is not in the proceedings that a reference names, where all of them are known.

A library that holds every paper of a meeting can say more than "not found": a title and authors
that are not among them did not appear there. Whether it holds them all is told by the meeting's
own count of accepted papers; a library with fewer says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from citewell.model import Author, Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.titles import normalise_title
from citewell.model.venues import content_words, venue_ids
from citewell.verification.finding import address, finding
from citewell.verification.people import Difference, compare_people
from citewell.verification.venues import is_preprint

WHOLE = 0.98
"""Share of the accepted papers that must be known; some are withdrawn after the count."""
_PAPERS: dict[str, dict[int, int]] = {
    "neurips": {2013: 360, 2014: 411, 2015: 403, 2016: 569, 2017: 679, 2018: 1009, 2019: 1428,
                2020: 1898, 2021: 2508, 2022: 2835, 2023: 3540, 2024: 4494},
    "icml": {2013: 283, 2014: 310, 2015: 270, 2016: 322, 2017: 434, 2018: 621, 2019: 773,
             2020: 1086, 2021: 1183, 2022: 1233, 2023: 1828, 2024: 2610},
    "iclr": {2017: 198, 2018: 336, 2019: 502, 2020: 687, 2021: 860, 2022: 1094, 2023: 1573,
             2024: 2260, 2025: 3704},
    "cvpr": {2013: 471, 2014: 540, 2015: 602, 2016: 643, 2017: 783, 2018: 979, 2019: 1294,
             2020: 1466, 2021: 1660, 2022: 2074, 2023: 2353, 2024: 2715},
    "iccv": {2013: 454, 2015: 526, 2017: 621, 2019: 1075, 2021: 1612, 2023: 2156},
    "eccv": {2018: 776, 2020: 1358, 2022: 1645, 2024: 2387},
    "aaai": {2018: 1102, 2019: 1343, 2020: 1864, 2021: 1961, 2022: 1624, 2023: 2021},
    "acl": {2018: 381, 2019: 660, 2020: 778, 2021: 710, 2022: 701},
    "emnlp": {2018: 549, 2019: 681, 2020: 752, 2021: 847, 2022: 828},
    "naacl": {2018: 332, 2019: 423, 2021: 477, 2022: 442},
}  # fmt: skip
"""Papers of the main proceedings (with the datasets track of NeurIPS), as the meetings said."""
_NAMES = {
    "neurips": "neural information processing systems neurips nips",
    "icml": "machine learning icml",
    "iclr": "learning representations iclr",
    "cvpr": "computer vision pattern recognition cvpr",
    "iccv": "computer vision iccv",
    "eccv": "computer vision eccv",
    "aaai": "aaai artificial intelligence",
    "acl": "computational linguistics acl",
    "emnlp": "empirical methods natural language processing emnlp",
    "naacl": "north american computational linguistics human language technologies naacl hlt",
}
"""Telling words of the meetings' own names: with any other, a text names something else."""
_CODED = re.compile(r"^([a-z]+)\d+$")
_OTHER = re.compile(
    r"\b(?:workshops?|demos?|demonstrations?|findings|companion|student|tutorials?|abstracts?|"
    r"challenge|competition|doctoral|symposium|posters?|industry|blog|submitted|review|track)\b"
)


class Meeting(msgspec.Struct, frozen=True):
    """What a place knows of one meeting."""

    papers: int = 0
    by_authors: tuple[Work, ...] = ()
    """Papers of the meeting by most of the authors that were asked for."""


@runtime_checkable
class Proceedings(Protocol):
    """A place that can say how many papers of a meeting it holds, and which are by whom."""

    def meeting(self, venue: str, year: int, authors: Sequence[Author]) -> Meeting:
        """The meeting of that venue id ("neurips") and year."""
        ...


def meeting_of(claim: Claim) -> tuple[str, int] | None:
    """The meeting whose whole proceedings would have to hold the claimed paper.

    None for a workshop, for a preprint that has an identifier of its own, and for meetings whose
    number of papers is not known here.
    """
    ids = venue_ids(claim.venue)
    if len(ids) != 1 or claim.year is None or claim.arxiv or is_preprint(claim.venue):
        return None
    (venue,) = ids
    if claim.year not in _PAPERS.get(venue, ()) or _OTHER.search(normalise_title(claim.venue)):
        return None
    # What follows a comma is the acronym, the date and the city.
    words = content_words(claim.venue.partition(",")[0])
    words = [found[1] if (found := _CODED.match(word)) else word for word in words]
    own = _NAMES[venue].split()
    return (venue, claim.year) if all(word in own or word.isdigit() for word in words) else None


def check_meeting(claim: Claim, held: Meeting | None) -> list[FieldFinding]:
    """A finding when the proceedings are known whole and nothing in them is the claimed paper."""
    named = meeting_of(claim)
    if named is None or held is None or not claim.title or not claim.authors:
        return []
    venue, year = named
    if held.papers < WHOLE * _PAPERS[venue][year]:
        return []
    field = claim.venue_field or "venue"
    message = f"None of the {held.papers:,} papers of {venue.upper()} {year} has this title"
    works = [work for work in held.by_authors if _same_people(claim, work)]
    if claim.raw and (works or len(claim.authors) < 2 or len(claim.title.split()) < 4):
        return []  # the text may have been taken apart wrongly
    if not works:
        message += ", and none is by these authors (workshops not counted)."
        return [
            finding(claim, "venue-lacks", field, message, Severity.WARNING, 0.85,
                    given=claim.venue)
        ]  # fmt: skip
    message += f"; the paper there by these authors is “{works[0].title}”."
    return [
        finding(claim, "venue-lacks", field, message, Severity.WARNING, 0.8,
                given=claim.venue, url=address(works[0]))
    ]  # fmt: skip


def _same_people(claim: Claim, work: Work) -> bool:
    people = compare_people(claim.authors, work.authors, others=claim.others)
    return people.shared >= 0.6 and people.difference is not Difference.UNRELATED
