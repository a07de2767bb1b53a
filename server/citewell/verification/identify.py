"""Which work a reference means: among the candidates, the one whose authors, venue and year fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from citewell.model import Author, Work
from citewell.model.check import Claim
from citewell.model.titles import fold
from citewell.model.venues import venue_ids, work_venues
from citewell.sources.variants import records_of
from citewell.verification.likeness import TitleLike, begins_alike, title_likeness
from citewell.verification.people import (
    AuthorComparison,
    Difference,
    author_name,
    compare_people,
    without_anonymous,
)
from citewell.verification.records import ClaimCandidates
from citewell.verification.venues import in_journal, means_preprint, same_words

_GOOD = frozenset({Difference.SAME, Difference.CUT, Difference.UNKNOWN})
_ALIKE = frozenset({*_GOOD, Difference.ORDER, Difference.MISSING, Difference.ADDED})
_WORD = re.compile(r"[^\W\d_]+")


class Match(msgspec.Struct, frozen=True):
    """The work that a reference means."""

    work: Work
    """The merged record."""
    record: Work
    """The record of it that fits the claim best; `people` and `title` compare with this one."""
    works: tuple[Work, ...]
    """All records of it (a preprint, the paper): a detail is right when one of them agrees."""
    people: AuthorComparison
    title: TitleLike
    by: str
    """"title", "doi", "arxiv" or "near"."""


def identify(claim: Claim, found: ClaimCandidates) -> Match | None:
    """The work of a claim, or None when no candidate is it.

    An equal title decides, then an identifier with a title or authors that fit, then a similar
    title with the same authors and nothing that speaks against it.
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
    # Records have the same names for the most part.
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
    """True when a similar title is this work's, and not a sibling's by the same authors."""
    if people.difference not in {Difference.SAME, Difference.CUT, Difference.MISSING}:
        # A misspelt title may be cited with a slip in the names too, but then all else must fit.
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
    # In another place the same people may have written another paper with such a title.
    journal = in_journal(claim) and work.kind == "inproceedings"
    elsewhere = other_venue or (
        bool(claim.venue) and not same_venue and (journal or not _similar_venue_name(claim, work))
    )
    return near_year and (means_preprint(claim) or not elsewhere)


def _similar_venue_name(claim: Claim, work: Work) -> bool:
    names = [name for name in (work.venue, work.booktitle, work.journal) if name]
    return not names or any(same_words(claim.venue, name) for name in names)


def compare_authors(claim: Claim, work: Work) -> AuthorComparison:
    """The claim's names against a record's.

    Where the names of free text are not read for sure, the record's surnames are looked for in the
    words before the title: all of them, and no fewer names than words, are the same people.
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
