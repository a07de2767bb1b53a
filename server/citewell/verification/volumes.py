"""Whether all papers of a meeting's main volume are held, told by their own numbering.

Publishers number the papers of a volume, in the identifier, in the DOI or by their pages. A volume
without a gap is held whole; with a gap, or without numbers, nobody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from citewell.model import Work
from citewell.model.titles import normalise_title

LEAST_PAPERS = 40
"""Fewer papers are no volume that silence could be told from absence in."""
WITHOUT_GAPS = 0.985
"""Least share of the numbers from the first to the last that must be held; some are withdrawn."""
_FIRST = 20
"""Front matter takes the numbers and pages before this one."""
_LONGEST = 200
"""Pages of a paper with its appendices; a longer range is a volume's."""
_MINOR = re.compile(
    r"\b(?:workshops?|demos?|demonstrations?|findings|companion|student|tutorials?|abstracts?|"
    r"challenge|competition|doctoral|symposium|posters?|industry|industrial|blog|shared|track|"
    r"datasets|srw)\b"
)
_ANTHOLOGY = (
    re.compile(r"^acl:(?P<volume>\d{4}\.[a-z]+-(?P<part>[a-z]+|\d))\.(?P<number>\d+)$"),
    re.compile(r"^acl:(?P<volume>[A-VX-Z]\d\d-(?P<part>\d))(?P<number>\d{3})$"),
)
_MAIN_PARTS = frozenset({"main", "long", "short", "1", "2"})
_NUMBERED_DOI = (
    re.compile(r"^(?P<volume>10\.1109/[a-z]+\d*\.\d{4})\.(?P<number>\d{1,5})$"),
    re.compile(r"^(?P<volume>10\.24963/ijcai\.\d{4})/(?P<number>\d{1,5})$"),
    re.compile(r"^(?P<volume>10\.52202/\d+)-(?P<number>\d{1,5})$"),
)
_PAGES = re.compile(r"^\s*(\d{1,6})\s*[-–—]+\s*(\d{1,6})\s*$")


WITH_FINDINGS = frozenset({"acl", "emnlp", "naacl", "eacl", "aacl"})
"""Meetings of the ACL print further papers in their Findings."""
FIRST_FINDINGS = 2020


class MainVolume(msgspec.Struct, frozen=True):
    """The papers of a meeting that are held, workshops, demonstrations and the like left out."""

    papers: int = 0
    whole: bool = False
    """No number between the first and the last paper is missing."""


def main_volume(works: Iterable[Work]) -> MainVolume:
    """The main volume among the works of one meeting and year."""
    main = [work for work in works if not is_minor_part(work)]
    if len(main) < LEAST_PAPERS:
        return MainVolume(len(main))
    return MainVolume(len(main), _numbers_whole(main) or _pages_whole(main))


def volume_is_whole(works: Iterable[Work], volume: str) -> bool:
    """True when the works hold one volume of the ACL Anthology ("2021.findings-acl") whole."""
    places = (_number_of(work) for work in works)
    numbers = {place[1] for place in places if place is not None and place[0] == volume}
    return len(numbers) >= LEAST_PAPERS and _without_gaps(numbers)


def is_minor_part(work: Work) -> bool:
    """True for a paper of a workshop, a demonstration session or another part beside the main."""
    for identifier in (work.id, *work.same_as):
        for pattern in _ANTHOLOGY:
            found = pattern.match(identifier)
            if found and found["part"] not in _MAIN_PARTS:
                return True
    # What follows a comma is the place, the date, and the meetings that were held beside.
    place = work.booktitle.partition(",")[0]
    return _MINOR.search(normalise_title(f"{place} {work.venue}")) is not None


def _numbers_whole(works: Sequence[Work]) -> bool:
    """True when the identifiers of nearly all papers are numbered without a gap."""
    volumes: dict[str, set[int]] = {}
    numbered = 0
    for work in works:
        place = _number_of(work)
        if place is not None:
            numbered += 1
            volumes.setdefault(place[0], set()).add(place[1])
    # A few papers whose identifier slipped form volumes of their own.
    large = [numbers for numbers in volumes.values() if len(numbers) >= LEAST_PAPERS // 2]
    if numbered < 0.95 * len(works) or not large:
        return False
    return all(_without_gaps(numbers) for numbers in large)


def _without_gaps(numbers: set[int]) -> bool:
    first, last = min(numbers), max(numbers)
    return first <= _FIRST and len(numbers) >= WITHOUT_GAPS * (last - first + 1)


def _number_of(work: Work) -> tuple[str, int] | None:
    """Volume and number of a paper, by its Anthology identifier or its DOI."""
    for identifier in (work.id, *work.same_as):
        for pattern in _ANTHOLOGY:
            if found := pattern.match(identifier):
                return found["volume"], int(found["number"])
    for pattern in _NUMBERED_DOI:
        if found := pattern.match(work.doi):
            return found["volume"], int(found["number"])
    return None


def _pages_whole(works: Sequence[Work]) -> bool:
    """True when the papers' pages cover one volume from its beginning to its end."""
    ranges = [pages for work in works if (pages := _pages_of(work)) is not None]
    if len(ranges) < 0.95 * len(works):
        return False
    last = max(end for _, end in ranges)
    if last < 4 * len(works):
        return False  # several volumes, each with pages of its own
    covered = np.zeros(last + 1, np.bool_)
    for begin, end in ranges:
        covered[begin : end + 1] = True
    return bool(covered[:_FIRST].any()) and float(covered[1:].mean()) >= WITHOUT_GAPS


def _pages_of(work: Work) -> tuple[int, int] | None:
    found = _PAGES.match(work.pages)
    if found is None:
        return None
    begin, end = int(found[1]), int(found[2])
    return (begin, end) if 0 < end - begin + 1 <= _LONGEST else None
