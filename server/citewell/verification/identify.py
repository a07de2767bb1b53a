"""Identification of a reference's work: the candidate with matching authors, venue and year."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec

from citewell.model import Author, Problem, Work
from citewell.model.check import Claim
from citewell.model.identifiers import Identifier, arxiv_id, dois_of, identifier_of
from citewell.model.titles import fold, normalise_title, title_key
from citewell.model.venues import venue_ids, work_venues
from citewell.sources.combine import records_of
from citewell.verification.likeness import (
    TitleLike,
    begins_alike,
    head_of,
    in_journal,
    means_preprint,
    same_words,
    title_likeness,
)
from citewell.verification.people import (
    AuthorComparison,
    Difference,
    author_name,
    compare_people,
    without_anonymous,
)
from citewell.verification.proceedings import Meeting

# Providers of works for the check: a library, memory, or sources, under one contract.


class ClaimCandidates(msgspec.Struct, frozen=True):
    """The candidates for one claim, by how they were found. Abstracts may be left out."""

    by_doi: tuple[Work, ...] = ()
    by_arxiv: tuple[Work, ...] = ()
    by_identifier: tuple[Work, ...] = ()
    """Works with the further identifiers of the claim."""
    by_title: tuple[Work, ...] = ()
    """Works with the claim's normalised title."""
    near: tuple[Work, ...] = ()
    """Works with a similar title, most similar first; looked up only if the rest is empty."""
    meeting: Meeting | None = None
    """The meeting that the claim names; looked up only if the rest is empty."""
    answered: bool = True
    """False when this provider could not be queried: absence then means nothing."""
    problem: Problem | None = None


class Records(Protocol):
    """A provider of works: a scholarly source or a library; several may be combined."""

    name: str
    """Its name in the evidence: "library", "crossref"."""

    def candidates(self, claims: Sequence[Claim]) -> list[ClaimCandidates]:
        """Exact look-ups for many claims at once: by DOI, arXiv identifier and title; no `near`."""
        ...

    def near(self, claims: Sequence[Claim]) -> list[tuple[Work, ...]]:
        """Works with similar titles, most similar first, at most ten."""
        ...


class MemoryRecords:
    """A few thousand works in memory, such as answers of sources or a trusted .bib."""

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
        """Works that share the title's rarest words, ordered by edit distance."""
        return [self._near(claim) for claim in claims]

    def _near(self, claim: Claim) -> tuple[Work, ...]:
        words = set(normalise_title(claim.title).split())
        known = sorted(
            (w for w in words if w in self._words), key=lambda w: (len(self._words[w]), -len(w), w)
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
    """The `title_key` of every record of the work, without empty ones."""
    titles = (work.title, *(variant.title for variant in work.variants))
    return {key for title in titles if (key := title_key(title))}


def rank_by_title(title: str, works: Sequence[Work]) -> tuple[Work, ...]:
    """The ten works with the most similar titles (see `most_similar`)."""
    known = [normalise_title(work.title) for work in works]
    return tuple(works[place] for place in most_similar(title, known))


def most_similar(title: str, titles: Sequence[str]) -> list[int]:
    """Indices of the ten most similar normalised titles, best first, with an edit ratio of at least
    60 of 100. A few with the same words before the colon follow."""
    from rapidfuzz import fuzz, process

    wanted = normalise_title(title)
    found = process.extract(wanted, titles, scorer=fuzz.ratio, limit=10, score_cutoff=60.0)
    places = [place for _, _, place in found]
    if head := head_of(title):
        alike = [n for n, known in enumerate(titles) if known.startswith(f"{head} ")]
        places += [place for place in alike[:_BY_HEAD] if place not in places]
    return places


_BY_HEAD = 5
"""Number of titles with the same words before the colon that are also compared."""


# A reference is no evidence for itself.
#
# A `.bib` may be a part of the library (`citewell library add refs.bib`). When it is checked, its
# own records must be ignored: they would verify every fabrication, and hide other records.

_BIB = "bibtex:"
"""Prefix of the path of a `.bib` in the name of a source."""


def is_from_own_bib(claim: Claim, work: Work) -> bool:
    """True for a record that comes only from the checked `.bib`."""
    if not claim.path or not work.provenance:
        return False
    return all(
        origin.source.startswith(_BIB)
        and _real(origin.source.removeprefix(_BIB)) == _real(claim.path)
        for origin in work.provenance
    )


def without_own_bib(claim: Claim, found: ClaimCandidates) -> ClaimCandidates:
    """The candidates of a claim without the records from its own `.bib`."""

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


_GOOD = frozenset({Difference.SAME, Difference.CUT, Difference.UNKNOWN})
_ALIKE = frozenset({*_GOOD, Difference.ORDER, Difference.MISSING, Difference.ADDED})
_WORD = re.compile(r"[^\W\d_]+")


class Match(msgspec.Struct, frozen=True):
    """The work identified for a reference."""

    work: Work
    """The merged record."""
    record: Work
    """Its record that fits the claim best; `people` and `title` are compared with this one."""
    works: tuple[Work, ...]
    """All its records (a preprint, the paper): a detail is right when one of them agrees."""
    people: AuthorComparison
    title: TitleLike
    by: str
    """"title", "doi", "arxiv" or "near"."""


def identify(claim: Claim, found: ClaimCandidates) -> Match | None:
    """The work of a claim, or None if no candidate matches.

    An equal title decides, then an identifier with a matching title or authors, then a similar
    title with the same authors and no contradiction.
    """
    if found.by_title:
        return _best(claim, found.by_title, "title")
    for works, by in ((found.by_doi, "doi"), (found.by_arxiv, "arxiv")):
        match = _best(claim, works, by) if works else None
        if match is not None and (
            match.title is not TitleLike.OTHER
            or (match.people.difference in _ALIKE and match.people.shared >= 0.6 and claim.authors)
            or not claim.title
        ):
            return match
    return _nearest(claim, found.near)


def _best(claim: Claim, works: Sequence[Work], by: str) -> Match:
    records = [(work, record) for work in works for record in records_of(work)]
    # Most records have the same names.
    compared: dict[tuple[tuple[Author, ...], bool], AuthorComparison] = {}
    for _, record in records:
        if (record.authors, record.others) not in compared:
            compared[record.authors, record.others] = compare_authors(claim, record)
    people = [compared[record.authors, record.others] for _, record in records]
    ranks = [_fit(claim, record, one) for (_, record), one in zip(records, people, strict=True)]
    place = max(range(len(records)), key=ranks.__getitem__)
    (work, record), best = records[place], people[place]
    alike = {
        id(other)
        for (other, _), one in zip(records, people, strict=True)
        if one.difference is best.difference
        or (one.difference in _GOOD and best.difference in _GOOD)
    }
    same = tuple(one for other, one in records if id(other) in alike)
    title = min(
        (title_likeness(claim.title, one.title) for other, one in records if other is work),
        key=tuple(TitleLike).index,
    )
    return Match(work, record, same, best, title, by)


def _fit(claim: Claim, work: Work, people: AuthorComparison) -> tuple[float, ...]:
    quality = {Difference.SAME: 6, Difference.CUT: 5, Difference.ORDER: 4, Difference.MISSING: 4,
               Difference.ADDED: 3, Difference.REPLACED: 2}.get(people.difference, 0)  # fmt: skip
    venue = bool(venue_ids(claim.venue) & work_venues(work))
    years = abs((claim.year or 0) - (work.year or 0)) if claim.year and work.year else 1
    doi = bool(claim.doi) and claim.doi == work.doi
    return (quality + people.shared, doi + venue + max(0, 2 - years) / 2, -years)


def _nearest(claim: Claim, works: Sequence[Work]) -> Match | None:
    for work in works:
        records = records_of(work)
        for record in records:
            likeness = begins_alike(claim.title, record.title)
            if likeness is TitleLike.OTHER:
                continue
            people = compare_authors(claim, record)
            if _supported(claim, record, people, likeness):
                return Match(work, record, records, people, likeness, "near")
    return None


def _supported(claim: Claim, work: Work, people: AuthorComparison, likeness: TitleLike) -> bool:
    """True when a similar title is this work's, not that of another work by the same authors."""
    if people.difference not in {Difference.SAME, Difference.CUT, Difference.MISSING}:
        # A misspelt title may come with a slip in the names, but then everything else must match.
        alike = people.difference in {Difference.ADDED, Difference.ORDER, Difference.REPLACED}
        same = bool(venue_ids(claim.venue) & work_venues(work))
        if not (alike and same and people.shared >= 0.6 and len(claim.authors) >= 3):
            return False
    near_year = claim.year is None or work.year is None or abs(claim.year - work.year) <= 1
    ids, known = venue_ids(claim.venue), work_venues(work)
    same_venue = bool(ids & known)
    other_venue = bool(ids and known) and not same_venue
    if likeness in (TitleLike.SUBTITLE, TitleLike.SPELLING):
        return near_year or same_venue
    if likeness is TitleLike.HEAD or (len(claim.authors) < 2 and not claim.others):
        return near_year and same_venue
    # At another venue, the same people may have a paper with a similar title.
    journal = in_journal(claim) and work.kind == "inproceedings"
    elsewhere = other_venue or (
        bool(claim.venue) and not same_venue and (journal or not _similar_venue_name(claim, work))
    )
    return near_year and (means_preprint(claim) or not elsewhere)


def _similar_venue_name(claim: Claim, work: Work) -> bool:
    names = [name for name in (work.venue, work.booktitle, work.journal) if name]
    return not names or any(same_words(claim.venue, name) for name in names)


def compare_authors(claim: Claim, work: Work) -> AuthorComparison:
    """Compare the claim's names with a record's.

    If the names of free text are uncertain, the record's surnames are searched in the words before
    the title: the people match if all occur, and if there are no fewer names than words.
    """
    result = compare_people(
        without_anonymous(claim.authors), work.authors, others=claim.others, more=work.others
    )
    if not claim.unread or not work.authors:
        return result
    words = set(_WORD.findall(fold(claim.unread)))
    present = [
        author for author in work.authors if set(_WORD.findall(fold(author.family))) <= words
    ]
    telling = [author for author in present if not author_name(author).is_common]
    if len(present) == len(work.authors) and len(words) <= 6 * len(present):
        return AuthorComparison(Difference.SAME, 1.0, known=len(work.authors))
    if telling and 2 * len(present) >= min(len(work.authors), max(1, len(claim.authors))):
        return AuthorComparison(Difference.UNKNOWN)
    return result


def names_author(raw: str, work: Work) -> bool:
    """True when the text contains the surname of one of the first authors."""
    words = set(_WORD.findall(fold(raw)))
    return any(
        (name := set(_WORD.findall(fold(author.family)))) and name <= words
        for author in work.authors[:4]
    )
