"""Detects references to papers that are not in the proceedings named, if these are held in full.

A library that holds every paper of a meeting permits a stronger verdict than "not found": a title
and authors that are not among them did not appear there. Whether it holds them all is inferred from
the numbering of the volume (`volumes`), for the year and the adjacent years, because a meeting is
often cited with the year before or after. A library that may lack a paper permits no conclusion.
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
from citewell.verification.likeness import TitleLike, title_likeness
from citewell.verification.people import Difference, compare_people
from citewell.verification.venues import is_preprint

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
    "eacl": "european computational linguistics eacl",
    "coling": "computational linguistics coling",
    "ijcai": "joint artificial intelligence ijcai",
    "aistats": "artificial intelligence statistics aistats",
    "uai": "uncertainty artificial intelligence uai",
}
"""Telling words of the meetings' own names: with any other, a text names something else."""
WITH_WORKSHOPS = frozenset({"neurips", "icml", "iclr", "cvpr", "iccv", "eccv"})
"""Meetings whose workshop papers are in no proceedings, and are cited as the meeting's."""
LIKE_AUTHORS = 0.6
"""Least share of either author list that must be in the other."""
_CODED = re.compile(r"^([a-z]+)\d+$")
_OTHER = re.compile(
    r"\b(?:workshops?|demos?|demonstrations?|findings|companion|student|tutorials?|abstracts?|"
    r"challenge|competition|doctoral|symposium|posters?|industry|blog|submitted|review|track)\b"
)


_TALK = re.compile(r"\((?:\w+ )?(?:tutorial|talk|keynote|demo|poster|abstract|paper)\)")
"""What is in no volume of papers: "(invited talk)" behind a title."""


class Meeting(msgspec.Struct, frozen=True):
    """What a place knows of one meeting."""

    papers: int = 0
    """Papers of the main volume that are held."""
    whole: bool = False
    """No paper of the main volume is missing, nor of those of the years beside it."""
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

    None for a workshop, for a preprint that has an identifier of its own, and for a meeting whose
    full name is not known here.
    """
    ids = venue_ids(claim.venue)
    if len(ids) != 1 or claim.year is None or claim.arxiv or is_preprint(claim.venue):
        return None
    (venue,) = ids
    if venue not in _NAMES or _OTHER.search(normalise_title(claim.venue)):
        return None
    # What follows a comma is the acronym, the date and the city.
    words = content_words(claim.venue.partition(",")[0])
    words = [found[1] if (found := _CODED.match(word)) else word for word in words]
    own = _NAMES[venue].split()
    return (venue, claim.year) if all(word in own or word.isdigit() for word in words) else None


def check_meeting(
    claim: Claim, held: Meeting | None, near: Sequence[Work] = ()
) -> list[FieldFinding]:
    """A finding when the proceedings are held whole and nothing in them is the claimed paper.

    A work among `near`, those with similar titles, by the same people is likely the one that is
    meant: it appeared elsewhere, and what is wrong with the reference is not known.
    """
    named = meeting_of(claim)
    if named is None or held is None or not held.whole or not claim.title or not claim.authors:
        return []
    if _TALK.search(claim.title.lower()):
        return []
    venue, year = named
    if any(_same_people(claim, work) and _similar(claim, work) for work in near):
        return []
    field = claim.venue_field or "venue"
    message = f"None of the {held.papers:,} papers of {venue.upper()} {year} has this title"
    works = [work for work in held.by_authors if _same_people(claim, work)]
    if claim.raw and (works or len(claim.authors) < 2 or len(claim.title.split()) < 4):
        return []  # the text may have been taken apart wrongly
    if not works:
        message += ", and none is by these authors (workshops not counted)."
        # One person may have given an invited talk.
        alone = len(claim.authors) == 1 and not claim.others
        sure = 0.65 if alone or venue in WITH_WORKSHOPS else 0.85
        return [
            finding(claim, "venue-lacks", field, message, Severity.WARNING, sure,
                    given=claim.venue)
        ]  # fmt: skip
    message += f"; the paper there by these authors is “{works[0].title}”."
    return [
        finding(claim, "venue-lacks", field, message, Severity.WARNING, 0.8,
                given=claim.venue, url=address(works[0]))
    ]  # fmt: skip


def retitled(claim: Claim, held: Meeting) -> tuple[Work, ...]:
    """Papers of the meeting by the same people whose titles are like the one given."""
    return tuple(w for w in held.by_authors if _same_people(claim, w) and _similar(claim, w))


def _similar(claim: Claim, work: Work) -> bool:
    return title_likeness(claim.title, work.title) is not TitleLike.OTHER


def _same_people(claim: Claim, work: Work) -> bool:
    """True when the lists are the same people, not a few of many or one homonym."""
    people = compare_people(claim.authors, work.authors, others=claim.others)
    if people.difference is Difference.UNRELATED or people.shared < LIKE_AUTHORS:
        return False
    found = people.known - len(people.missing)
    return found >= 2 and (claim.others or found >= LIKE_AUTHORS * people.known)
