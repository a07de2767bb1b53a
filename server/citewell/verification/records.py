"""Where the check looks for works: one contract for a library, for memory, and for sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec

from citewell.model import Problem, Work
from citewell.model.check import Claim
from citewell.model.identifiers import Identifier, arxiv_id, dois_of, identifier_of
from citewell.model.titles import normalise_title, title_key
from citewell.verification.likeness import head_of
from citewell.verification.proceedings import Meeting


class ClaimCandidates(msgspec.Struct, frozen=True):
    """What one claim brought up, by how it was found. Abstracts may be left out."""

    by_doi: tuple[Work, ...] = ()
    by_arxiv: tuple[Work, ...] = ()
    by_identifier: tuple[Work, ...] = ()
    """By the further identifiers of the claim."""
    by_title: tuple[Work, ...] = ()
    """Works whose normalised title is the claim's."""
    near: tuple[Work, ...] = ()
    """Works with a similar title, most similar first; sought only where the rest is empty."""
    meeting: Meeting | None = None
    """What is known of the meeting that the claim names; sought only where the rest is empty."""
    answered: bool = True
    """False when this place could not be asked: then absence means nothing."""
    problem: Problem | None = None


class Records(Protocol):
    """A provider of works: a scholarly source or a library; several may be combined."""

    name: str
    """How the evidence calls it: "library", "crossref"."""

    def candidates(self, claims: Sequence[Claim]) -> list[ClaimCandidates]:
        """Exact look-ups for many claims at once: by DOI, arXiv identifier and title; no `near`."""
        ...

    def near(self, claims: Sequence[Claim]) -> list[tuple[Work, ...]]:
        """Works with similar titles, most similar first, ten at most."""
        ...


class MemoryRecords:
    """A few thousand works in memory, such as what the sources answered or a trusted .bib."""

    def __init__(self, works: Iterable[Work], name: str = "records") -> None:
        self.name = name
        self._works = list(works)
        self._doi: dict[str, list[int]] = {}
        self._arxiv: dict[str, list[int]] = {}
        self._address: dict[tuple[str, str], list[int]] = {}
        self._title: dict[str, list[int]] = {}
        self._words: dict[str, list[int]] = {}
        for number, work in enumerate(self._works):
            for doi in dois_of(work):
                self._doi.setdefault(doi, []).append(number)
            if arxiv := work.arxiv or arxiv_id(work.doi):
                self._arxiv.setdefault(arxiv, []).append(number)
            if (named := identifier_of(work.url)) is not None:
                self._address.setdefault((named.kind, named.key), []).append(number)
            for key in title_keys(work):
                self._title.setdefault(key, []).append(number)
            for word in set(normalise_title(work.title).split()):
                self._words.setdefault(word, []).append(number)

    def candidates(self, claims: Sequence[Claim]) -> list[ClaimCandidates]:
        """Exact look-ups."""
        return [
            ClaimCandidates(
                by_doi=self._take(self._doi.get(claim.doi)),
                by_identifier=tuple(
                    work for one in claim.identifiers for work in self._identified(one.identifier)
                ),
                by_arxiv=self._take(self._arxiv.get(claim.arxiv)),
                by_title=self._take(self._title.get(title_key(claim.title))),
            )
            for claim in claims
        ]

    def near(self, claims: Sequence[Claim]) -> list[tuple[Work, ...]]:
        """By the rarest words of the title, then by edit distance."""
        return [self._near(claim) for claim in claims]

    def _near(self, claim: Claim) -> tuple[Work, ...]:
        words = set(normalise_title(claim.title).split())
        known = sorted(
            (w for w in words if w in self._words),
            key=lambda w: (len(self._words[w]), -len(w), w),
        )
        found = {number for word in known[:6] for number in self._words[word][:2000]}
        return rank_by_title(claim.title, [self._works[number] for number in sorted(found)])

    def _identified(self, one: Identifier) -> tuple[Work, ...]:
        numbers = (
            *self._address.get((one.kind, one.key), ()),
            *self._doi.get(one.doi, ()),
            *self._arxiv.get(one.arxiv, ()),
        )
        return self._take(list(dict.fromkeys(numbers)))

    def _take(self, numbers: list[int] | None) -> tuple[Work, ...]:
        return tuple(self._works[number] for number in numbers or ())


def title_keys(work: Work) -> set[str]:
    """The `title_key` of every record of the work, empty ones left out."""
    titles = (work.title, *(variant.title for variant in work.variants))
    return {key for title in titles if (key := title_key(title))}


def rank_by_title(title: str, works: Sequence[Work]) -> tuple[Work, ...]:
    """The ten works with the most similar titles (see `most_similar`)."""
    known = [normalise_title(work.title) for work in works]
    return tuple(works[place] for place in most_similar(title, known))


def most_similar(title: str, titles: Sequence[str]) -> list[int]:
    """Places of the ten most similar normalised titles, best first; edit ratio of at least 60 of
    100. A few that begin with the same words before the colon follow."""
    from rapidfuzz import fuzz, process

    wanted = normalise_title(title)
    found = process.extract(wanted, titles, scorer=fuzz.ratio, limit=10, score_cutoff=60.0)
    places = [place for _, _, place in found]
    if head := head_of(title):
        alike = [n for n, known in enumerate(titles) if known.startswith(f"{head} ")]
        places += [place for place in alike[:_BY_HEAD] if place not in places]
    return places


_BY_HEAD = 5
"""Titles with the same words before the colon that are compared, too."""


# A reference is no evidence for itself.
#
# A `.bib` may be a part of the library (`citewell library add refs.bib`). When it is checked, the
# records that it alone gave are its own entries: they would verify every invention, and hide what
# other records say.

_BIB = "bibtex:"
"""Before the path of a `.bib`, in the name of a source."""


def is_from_own_bib(claim: Claim, work: Work) -> bool:
    """True for a record that comes from nothing but the `.bib` that is checked."""
    if not claim.path or not work.provenance:
        return False
    return all(
        origin.source.startswith(_BIB)
        and _real(origin.source.removeprefix(_BIB)) == _real(claim.path)
        for origin in work.provenance
    )


def without_own_bib(claim: Claim, found: ClaimCandidates) -> ClaimCandidates:
    """The candidates of a claim without the records that its own `.bib` gave."""

    def others(works: tuple[Work, ...]) -> tuple[Work, ...]:
        return tuple(work for work in works if not is_from_own_bib(claim, work))

    return ClaimCandidates(
        by_doi=others(found.by_doi),
        by_arxiv=others(found.by_arxiv),
        by_identifier=others(found.by_identifier),
        by_title=others(found.by_title),
    )


@lru_cache(maxsize=256)
def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
