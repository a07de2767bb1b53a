"""Which work a reference means: among the candidates, the one whose authors, venue and year fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from citewell.model import Work
from citewell.model.check import Claim
from citewell.model.titles import fold, normalise_title, title_key
from citewell.model.venues import venue_ids, work_venues
from citewell.verification.people import (
    Comparison,
    Difference,
    compare_people,
    without_anonymous,
)
from citewell.verification.records import Candidates
from citewell.verification.venues import means_preprint, same_words

_GOOD = frozenset({Difference.SAME, Difference.CUT, Difference.UNKNOWN})
_ALIKE = frozenset({*_GOOD, Difference.ORDER, Difference.MISSING, Difference.ADDED})
_LITTLE = frozenset({"a", "an", "the", "and"})
_SMALL = frozenset(
    "a an the of for in on with to and from by via at as is are how what towards toward".split()
)
_WORD = re.compile(r"[^\W\d_]+")


class TitleLike(StrEnum):
    SAME = "same"
    SUBTITLE = "subtitle"
    """One of them has a subtitle that the other leaves out."""
    SPELLING = "spelling"
    """A letter or two, a plural, a joined word."""
    WORDS = "words"
    """A word or a few replaced, added or dropped: most of the title is the same."""
    OTHER = "other"


class Match(msgspec.Struct, frozen=True):
    """The work that a reference means."""

    work: Work
    works: tuple[Work, ...]
    """All records of it (a preprint, the paper): a detail is right when one of them agrees."""
    people: Comparison
    title: TitleLike
    by: str
    """"title", "doi", "arxiv" or "near"."""


def identify(claim: Claim, found: Candidates) -> Match | None:
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
    people = [compare_authors(claim, work) for work in works]
    ranks = [_fit(claim, work, one) for work, one in zip(works, people, strict=True)]
    place = max(range(len(works)), key=ranks.__getitem__)
    best = people[place]
    same = tuple(
        work
        for work, one in zip(works, people, strict=True)
        if one.difference is best.difference
        or (one.difference in _GOOD and best.difference in _GOOD)
    )
    return Match(works[place], same, best, title_likeness(claim.title, works[place].title), by)


def _fit(claim: Claim, work: Work, people: Comparison) -> tuple[float, ...]:
    quality = {Difference.SAME: 6, Difference.CUT: 5, Difference.ORDER: 4, Difference.MISSING: 4,
               Difference.ADDED: 3, Difference.REPLACED: 2}.get(people.difference, 0)  # fmt: skip
    venue = bool(venue_ids(claim.venue) & work_venues(work))
    years = abs((claim.year or 0) - (work.year or 0)) if claim.year and work.year else 1
    doi = bool(claim.doi) and claim.doi == work.doi
    return (quality + people.shared, doi + venue + max(0, 2 - years) / 2, -years)


def _nearest(claim: Claim, works: Sequence[Work]) -> Match | None:
    for work in works:
        likeness = title_likeness(claim.title, work.title)
        if likeness is TitleLike.OTHER:
            continue
        people = compare_authors(claim, work)
        if _supported(claim, work, people, likeness):
            return Match(work, (work,), people, likeness, "near")
    return None


def _supported(claim: Claim, work: Work, people: Comparison, likeness: TitleLike) -> bool:
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
    if len(claim.authors) < 2 and not claim.others:
        return near_year and same_venue
    # In another place the same people may have written another paper with such a title.
    elsewhere = other_venue or (
        bool(claim.venue) and not same_venue and not _told_alike(claim, work)
    )
    return near_year and (means_preprint(claim) or not elsewhere)


def _told_alike(claim: Claim, work: Work) -> bool:
    names = [name for name in (work.venue, work.booktitle, work.journal) if name]
    return not names or any(same_words(claim.venue, name) for name in names)


def compare_authors(claim: Claim, work: Work) -> Comparison:
    """The claim's names against a record's; names of free text are looked for in the text.

    A list in free text may be parsed wrongly, so a name that stands anywhere in it is not missing.
    """
    result = compare_people(without_anonymous(claim.authors), work.authors, others=claim.others)
    if not claim.raw or not work.authors:
        return result
    words = set(_WORD.findall(fold(claim.raw)))
    present = [
        author for author in work.authors if set(_WORD.findall(fold(author.family))) <= words
    ]
    if len(present) == len(work.authors):
        return Comparison(Difference.SAME, 1.0)
    if present and (claim.others or not claim.authors):
        return Comparison(Difference.SAME if claim.others else Difference.UNKNOWN, 1.0)
    if present and result.difference is Difference.UNRELATED:
        return Comparison(Difference.UNKNOWN)
    return result


def names_author(raw: str, work: Work) -> bool:
    """True when the surname of one of the first authors stands in the text."""
    words = set(_WORD.findall(fold(raw)))
    return any(
        (name := set(_WORD.findall(fold(author.family)))) and name <= words
        for author in work.authors[:4]
    )


def title_likeness(given: str, known: str) -> TitleLike:
    """How much of a title is the other's; numbers must be the same, for a "Part II" is no typo."""
    if not given or title_key(given) == title_key(known):
        return TitleLike.SAME
    return _likeness(given, known) if known else TitleLike.OTHER


def _likeness(given: str, known: str) -> TitleLike:
    ours, theirs = title_key(given), title_key(known)
    a, b = normalise_title(given).split(), normalise_title(known).split()
    if _subtitle(given, known, a, b) or _cut(ours, theirs):
        return TitleLike.SUBTITLE
    if {w for w in a if w.isdigit()} != {w for w in b if w.isdigit()}:
        return TitleLike.OTHER
    from rapidfuzz import fuzz
    from rapidfuzz.distance import OSA, Levenshtein

    if [w for w in a if w not in _LITTLE] == [w for w in b if w not in _LITTLE]:
        return TitleLike.SUBTITLE
    letters = OSA.distance(ours, theirs, score_cutoff=3)
    if _without_acronyms(given, known):
        return TitleLike.SUBTITLE
    if letters <= max(1, min(3, len(theirs) // 20)) and _same_words_spelt(a, b):
        return TitleLike.SPELLING
    ratio = fuzz.ratio(" ".join(a), " ".join(b))
    changed = Levenshtein.distance(a, b, score_cutoff=4)
    shorter = min(len(a), len(b))
    few = (changed <= 1 and shorter >= 4) or (changed <= 2 and shorter >= 6)
    few = few or (ratio >= 72 and changed <= 3 and shorter >= 7)
    return TitleLike.WORDS if ratio >= 82 or few else TitleLike.OTHER


def _same_words_spelt(a: Sequence[str], b: Sequence[str]) -> bool:
    """True when the words that differ are the same words: a plural, a typo, a hyphen."""
    from rapidfuzz.distance import OSA

    ours, theirs = [w for w in a if w not in b], [w for w in b if w not in a]
    if len(ours) != len(theirs):
        return "".join(ours) == "".join(theirs)
    return all(
        max(len(x), len(y)) >= 5 and OSA.distance(x, y, score_cutoff=2) <= 2
        for x, y in zip(ours, theirs, strict=True)
    )


_BRITISH = (("our", "or"), ("ise", "ize"), ("isa", "iza"), ("isi", "izi"), ("yse", "yze"),
            ("ll", "l"), ("tre", "ter"), ("ogue", "og"), ("ence", "ense"))  # fmt: skip


def same_english(a: str, b: str) -> bool:
    """True when two titles differ as British and American spelling do, or by a double letter."""

    def plain(text: str) -> str:
        key = title_key(text)
        for british, american in _BRITISH:
            key = key.replace(british, american)
        return key

    return plain(a) == plain(b)


_TAIL = re.compile(r"\s*\([^()]{2,12}\)\s*$")
_ACRONYM = re.compile(r"\b[A-Z]{2,6}\b")


def _without_acronyms(given: str, known: str) -> bool:
    """True when the titles differ by acronyms alone: "(GPCA)" at the end, "WSD" for its words."""
    short, long = _TAIL.sub("", given), _TAIL.sub("", known)
    if (short, long) != (given, known) and title_key(short) == title_key(long):
        return True
    for one, other in ((given, known), (known, given)):
        for acronym in _ACRONYM.findall(one):
            words = normalise_title(other).split()
            size = len(acronym)
            for start in range(len(words) - size + 1):
                run = words[start : start + size]
                if "".join(word[0] for word in run) == acronym.lower():
                    whole = one.replace(acronym, " ".join(run), 1)
                    if title_key(whole) == title_key(other):
                        return True
    return False


def _cut(ours: str, theirs: str) -> bool:
    """True when one title is the long beginning of the other: cut, or with something appended."""
    short, long = sorted((ours, theirs), key=len)
    # A letter or two more is a plural.
    return len(short) >= 36 and long.startswith(short) and len(long) - len(short) > 2


def _subtitle(given: str, known: str, a: Sequence[str], b: Sequence[str]) -> bool:
    short, whole = (a, known) if len(a) < len(b) else (b, given)
    if len(short) < 3:
        return False
    head, _, tail = whole.partition(":")
    if not tail:
        head, _, tail = whole.partition(" - ")
    if not tail:
        return False
    return list(short) in (normalise_title(head).split(), normalise_title(tail).split())


def telling_words(title: str) -> int:
    """How many words of a title say something: a few may be shared by chance."""
    return sum(word not in _SMALL for word in normalise_title(title).split())
