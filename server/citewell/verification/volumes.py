"""Whether all papers of a meeting's main volume are held, judged by their numbering.

Publishers number the papers of a volume, in the identifier, in the DOI or by their pages. A volume
without a gap is held completely; with a gap, or without numbers, this cannot be determined.
"""

from __future__ import annotations

import msgspec
import numpy as np

from citewell.corpus.volumes import Places, volume_key

LEAST_PAPERS = 40
"""With fewer papers, the absence of a paper is no evidence that it does not exist."""
WITHOUT_GAPS = 0.985
"""Least share of the numbers from the first to the last that must be held; some are withdrawn."""
_FIRST = 20
"""Front matter takes the numbers and pages before this one."""
WITH_FINDINGS = frozenset({"acl", "emnlp", "naacl", "eacl", "aacl"})
"""Meetings of the ACL print further papers in their Findings."""
FIRST_FINDINGS = 2020


class MainVolume(msgspec.Struct, frozen=True):
    """The papers of a meeting that are held, workshops, demonstrations and the like left out."""

    papers: int = 0
    whole: bool = False
    """No number between the first and the last paper is missing."""


def main_volume(places: Places) -> MainVolume:
    """The main volume among the papers of one meeting and year."""
    main = places.take(~places.minor)
    papers = _distinct(main)
    if papers < LEAST_PAPERS:
        return MainVolume(papers)
    return MainVolume(papers, _numbers_whole(main) or _pages_whole(main))


def _distinct(places: Places) -> int:
    """Number of papers, each once: a library and the one below it may both hold a paper."""
    numbered, paged = places.volume != 0, places.last_page > 0
    columns = (
        (places.volume[numbered], places.number[numbered]),
        (places.first_page[paged & ~numbered], places.last_page[paged & ~numbered]),
    )
    several = sum(len(set(zip(*(part.tolist() for part in pair), strict=True))) for pair in columns)
    return several + int((~numbered & ~paged).sum())


def volume_is_whole(places: Places, volume: str) -> bool:
    """True when the papers hold one volume of the ACL Anthology ("2021.findings-acl") whole."""
    numbers = set(places.number[places.volume == np.uint64(volume_key(volume))].tolist())
    return len(numbers) >= LEAST_PAPERS and _without_gaps(numbers)


def _numbers_whole(places: Places) -> bool:
    """True when the identifiers of nearly all papers are numbered without a gap."""
    volumes: dict[int, set[int]] = {}
    numbered = places.take(places.volume != 0)
    for volume, number in zip(numbered.volume.tolist(), numbered.number.tolist(), strict=True):
        volumes.setdefault(volume, set()).add(number)
    # A few papers whose identifier slipped form volumes of their own.
    large = [numbers for numbers in volumes.values() if len(numbers) >= LEAST_PAPERS // 2]
    if len(numbered) < 0.95 * len(places) or not large:
        return False
    return all(_without_gaps(numbers) for numbers in large)


def _without_gaps(numbers: set[int]) -> bool:
    first, last = min(numbers), max(numbers)
    return first <= _FIRST and len(numbers) >= WITHOUT_GAPS * (last - first + 1)


def _pages_whole(places: Places) -> bool:
    """True when the papers' pages cover one volume from its beginning to its end."""
    paged = places.take(places.last_page > 0)
    if len(paged) < 0.95 * len(places):
        return False
    last = int(paged.last_page.max())
    if last < 4 * len(places):
        return False  # several volumes, each with pages of its own
    covered = np.zeros(last + 1, np.bool_)
    for begin, end in zip(paged.first_page.tolist(), paged.last_page.tolist(), strict=True):
        covered[begin : end + 1] = True
    return bool(covered[:_FIRST].any()) and float(covered[1:].mean()) >= WITHOUT_GAPS
