"""Detects references to papers that are missing from the named proceedings, if the library has
these in full.

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
import numpy as np

from citewell.corpus.volumes import Volumes, volume_key
from citewell.model import Author, Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.titles import normalise_title, title_key
from citewell.model.venues import content_words, venue_ids
from citewell.verification.finding import address, finding
from citewell.verification.likeness import TitleLike, names_preprint, title_likeness
from citewell.verification.people import Difference, compare_people

_NAMES = {
    "neurips": "neural information processing systems neurips nips",
    "icml": "machine learning icml",
    "iclr": "learning representations iclr",
    "cvpr": "computer vision pattern recognition cvpr",
    "iccv": "computer vision iccv",
    "eccv": "european computer vision eccv",
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
"""Distinctive words of the meetings' own names: with any other word, a text names something
else."""
_REGIONS = frozenset("african asia asian european iberian latin pacific world".split())
"""Words that turn the name of a meeting into that of another one."""
WITH_WORKSHOPS = frozenset({"neurips", "icml", "iclr", "cvpr", "iccv", "eccv"})
"""Meetings with workshop papers outside the proceedings that are cited as the meeting's."""
LIKE_AUTHORS = 0.6
"""Minimum share of either author list that must be in the other."""
_CODED = re.compile(r"^([a-z]+)\d+$")
_OTHER = re.compile(
    r"\b(?:workshops?|demos?|demonstrations?|findings|companion|student|tutorials?|abstracts?|"
    r"challenge|competition|doctoral|symposium|posters?|industry|blog|submitted|review|track)\b"
)


_TALK = re.compile(r"\((?:\w+ )?(?:tutorial|talk|keynote|demo|poster|abstract|paper)\)")
"""A contribution outside the volumes of papers: "(invited talk)" after a title."""


class Meeting(msgspec.Struct, frozen=True):
    """The knowledge of a provider about one meeting."""

    papers: int = 0
    """Number of its papers of the main volume."""
    whole: bool = False
    """Whether no paper of the main volume is missing, nor of those of adjacent years."""
    by_authors: tuple[Work, ...] = ()
    """Papers of the meeting by most of the given authors."""


@runtime_checkable
class Proceedings(Protocol):
    """Counts a provider's papers of a meeting, and finds those by some authors."""

    def meeting(self, venue: str, year: int, authors: Sequence[Author]) -> Meeting:
        """The meeting with this venue id ("neurips") and year."""
        ...


def meeting_of(claim: Claim) -> tuple[str, int] | None:
    """The meeting with the claimed paper in its proceedings, if they are complete.

    None for a workshop, for a preprint with its own identifier, and for a meeting with an unknown
    full name.
    """
    ids = venue_ids(claim.venue)
    if len(ids) != 1 or claim.year is None or claim.arxiv or names_preprint(claim.venue):
        return None
    (venue,) = ids
    if venue not in _NAMES or _OTHER.search(normalise_title(claim.venue)):
        return None
    # The acronym, the date and the city follow a comma.
    words = content_words(claim.venue.partition(",")[0])
    words = [found[1] if (found := _CODED.match(word)) else word for word in words]
    own = _NAMES[venue].split()
    if _REGIONS.difference(own) & set(normalise_title(claim.venue).split()):
        return None
    return (venue, claim.year) if all(word in own or word.isdigit() for word in words) else None


_WHOLE = 16
"""Letters of a title long enough not to be contained in another by chance."""


def check_meeting(  # noqa: PLR0911 - one for each doubt
    claim: Claim, held: Meeting | None, near: Sequence[Work] = ()
) -> list[FieldFinding]:
    """A finding when the proceedings are complete and the claimed paper is not in them.

    A work among `near`, those with similar titles, by the same people is probably the intended one:
    it appeared elsewhere, and the error in the reference is unknown.
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
    given = title_key(claim.title)
    if any(len(key := title_key(work.title)) >= _WHOLE and key in given for work in works):
        return []  # its title, with text before or after it
    if claim.raw and (works or len(claim.authors) < 2 or len(claim.title.split()) < 4):
        return []  # the text may have been parsed wrongly
    if not works:
        message += ", and none is by these authors (workshops not counted)."
        # One person may have given an invited talk.
        alone = len(claim.authors) == 1 and not claim.others
        beside = venue in WITH_WORKSHOPS and _by_acronym(claim)
        sure = 0.65 if alone or beside else 0.85
        return [
            finding(claim, "venue-lacks", field, message, Severity.WARNING, sure,
                    given=claim.venue)
        ]  # fmt: skip
    message += f"; the paper there by these authors is “{works[0].title}”."
    return [
        finding(claim, "venue-lacks", field, message, Severity.WARNING, 0.8,
                given=claim.venue, url=address(works[0]))
    ]  # fmt: skip


def _by_acronym(claim: Claim) -> bool:
    """True for "NeurIPS" or "ICML 2020" without pages, which is also how workshop papers are
    cited."""
    words = [word for word in content_words(claim.venue) if not word.isdigit()]
    return len(words) < 2 and not claim.pages


def retitled(claim: Claim, held: Meeting) -> tuple[Work, ...]:
    """Papers of the meeting by the same people with titles like the given one."""
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


# Completeness of a meeting's main volume, judged by its numbering.
#
# Publishers number the papers of a volume, in the identifier, in the DOI or by their pages. A
# volume without a gap is complete; with a gap, or without numbers, completeness is unknown.

LEAST_PAPERS = 40
"""With fewer papers, the absence of a paper is no evidence that it does not exist."""
WITHOUT_GAPS = 0.985
"""Minimum share of the numbers from the first to the last that must be present; some are
withdrawn."""
_FIRST = 20
"""Front matter has the numbers and pages before this one."""
WITH_FINDINGS = frozenset({"acl", "emnlp", "naacl", "eacl", "aacl"})
"""ACL meetings with further papers in their Findings."""
FIRST_FINDINGS = 2020


class MainVolume(msgspec.Struct, frozen=True):
    """The papers of a meeting, without workshops, demonstrations and the like."""

    papers: int = 0
    whole: bool = False
    """No number between the first and the last paper is missing."""


PUBLISHED = {
    "neurips": {2013: 360, 2014: 411, 2015: 403, 2016: 569, 2017: 679, 2018: 1009, 2019: 1428,
                2020: 1898, 2021: 2334, 2022: 2834, 2023: 3540, 2024: 4494},
    "iclr": {2017: 198, 2018: 336, 2019: 502, 2020: 687, 2021: 860, 2022: 1095, 2023: 1574,
             2024: 2260, 2025: 3704},
    "icml": {2012: 243, 2013: 283},
    "eccv": {2018: 776, 2020: 1358, 2022: 1645, 2024: 2387},
}  # fmt: skip
"""Number of papers of meetings that do not number them, or print several volumes."""
WITH_TRACK = {("neurips", 2021): 2508}
"""The number including a track that has its own proceedings but is cited as the meeting."""
BIENNIAL = frozenset({"eccv", "iccv"})
"""Biennial meetings: none is cited with the following year."""
HELD = 0.99
"""Minimum share of them that must be present: sources split and join a few."""


def main_volume(places: Volumes, published: int = 0) -> MainVolume:
    """The main volume among the papers of one meeting and year; `published` is its known number of
    papers."""
    main = places.take(~places.minor)
    papers = _distinct(main)
    if papers < LEAST_PAPERS:
        return MainVolume(papers)
    if published:
        return MainVolume(papers, papers >= HELD * published)
    return MainVolume(papers, _numbers_whole(main) or _pages_whole(main))


def _distinct(places: Volumes) -> int:
    """Number of distinct papers: a library and the one below it may share some."""
    numbered, paged = places.volume != 0, places.last_page > 0
    columns = (
        (places.volume[numbered], places.number[numbered]),
        (places.first_page[paged & ~numbered], places.last_page[paged & ~numbered]),
    )
    several = sum(len(set(zip(*(part.tolist() for part in pair), strict=True))) for pair in columns)
    return several + int((~numbered & ~paged).sum())


def volume_is_whole(places: Volumes, volume: str) -> bool:
    """True when one volume of the ACL Anthology ("2021.findings-acl") is complete."""
    numbers = set(places.number[places.volume == np.uint64(volume_key(volume))].tolist())
    return len(numbers) >= LEAST_PAPERS and _without_gaps(numbers)


def _numbers_whole(places: Volumes) -> bool:
    """True when the identifiers of nearly all papers are numbered without a gap."""
    volumes: dict[int, set[int]] = {}
    numbered = places.take(places.volume != 0)
    for volume, number in zip(numbered.volume.tolist(), numbered.number.tolist(), strict=True):
        volumes.setdefault(volume, set()).add(number)
    # A few papers with a wrong identifier form volumes of their own.
    large = [numbers for numbers in volumes.values() if len(numbers) >= LEAST_PAPERS // 2]
    if len(numbered) < 0.95 * len(places) or not large:
        return False
    return all(_without_gaps(numbers) for numbers in large)


def _without_gaps(numbers: set[int]) -> bool:
    first, last = min(numbers), max(numbers)
    return first <= _FIRST and len(numbers) >= WITHOUT_GAPS * (last - first + 1)


def _pages_whole(places: Volumes) -> bool:
    """True when the papers' pages cover one volume from its beginning to its end."""
    paged = places.take(places.last_page > 0)
    if len(paged) < 0.95 * len(places):
        return False
    last = int(paged.last_page.max())
    if last < 4 * len(places):
        return False  # several volumes, each with its own pages
    covered = np.zeros(last + 1, np.bool_)
    for begin, end in zip(paged.first_page.tolist(), paged.last_page.tolist(), strict=True):
        covered[begin : end + 1] = True
    return bool(covered[:_FIRST].any()) and float(covered[1:].mean()) >= WITHOUT_GAPS
