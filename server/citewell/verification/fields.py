"""Field by field: what an identified reference says against what the records of its work say."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.venues import venue_ids, work_venues
from citewell.sources.trust import is_preprint
from citewell.verification.finding import SURE, address, finding
from citewell.verification.id_check import check_arxiv, check_doi, check_doi_alone
from citewell.verification.identifiers import arxiv_says, doi_says
from citewell.verification.identify import Match
from citewell.verification.likeness import TitleLike, same_english
from citewell.verification.people import Difference
from citewell.verification.people_check import (
    check_people,
    check_placeholders,
    sources_of,
)
from citewell.verification.proceedings import check_meeting
from citewell.verification.records import Candidates
from citewell.verification.venue_check import check_venue, is_minor
from citewell.verification.venues import in_journal, means_preprint

_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_NUMBER = re.compile(r"\d+")
_BOOKS = frozenset({"book", "inbook", "incollection", "collection", "mvbook"})
_PAPERS = frozenset({"article", "inproceedings"})


def compare(claim: Claim, match: Match, found: Candidates, year_now: int) -> list[FieldFinding]:
    """Every finding on a reference whose work is known, in the order of a reference's fields."""
    venue = check_venue(claim, match)
    people = check_people(claim, match)
    added = match.people.difference is Difference.ADDED
    if venue and people and (added or venue[0].confidence < 0.7):
        # Other people and another venue: likely another version of the work, unknown here.
        people = [_doubted(one) for one in people if one.code != "author-unrelated"] or people
        venue = [_doubted(one) for one in venue]
    findings = [
        *check_title(claim, match),
        *people,
        *check_year(claim, match.works, year_now, venue),
        *venue,
        *check_doi(claim, match, found),
        *check_arxiv(claim, match.works, found, year_now),
        *_check_pages(claim, match.works),
        *_check_kind(claim, match.work),
    ]
    if any(work.retracted for work in match.works):
        findings.append(_retracted(claim, match.works))
    page = address(match.work)
    findings = [_with_sources(one, match.works) for one in findings]
    return [one if one.url else msgspec.structs.replace(one, url=page) for one in findings]


_OF_RECORDS = {"title": "title", "author": "authors", "year": "year", "venue": "venue"}
"""By the beginning of a code: the field of the records that disagree."""


def _with_sources(one: FieldFinding, works: Sequence[Work]) -> FieldFinding:
    """The finding with the names of the sources whose records disagree, where it has none yet."""
    field = _OF_RECORDS.get(one.code.partition("-")[0])
    if field is None or not one.expected:
        return one
    says = [work for work in works if getattr(work, field) or (field == "venue" and work.booktitle)]
    names = sources_of(says)
    if not names or f"({names[0]}" in one.message:
        return one
    noun = "Source" if len(names) == 1 else "Sources"
    message = f"{one.message} {noun}: {', '.join(names)}."
    return msgspec.structs.replace(one, message=message)


def _retracted(claim: Claim, works: Sequence[Work]) -> FieldFinding:
    notice = next((work.notice for work in works if work.retracted and work.notice), "")
    page = f"https://doi.org/{notice}" if notice.startswith("10.") else notice
    message = "The work has been retracted or withdrawn" + (f": see {page}." if page else ".")
    return finding(
        claim, "retracted", "title", message, Severity.WARNING, 0.95, given=claim.title, url=page
    )


def _doubted(one: FieldFinding) -> FieldFinding:
    return msgspec.structs.replace(one, severity=Severity.INFO, confidence=min(0.6, one.confidence))


def check_title(claim: Claim, match: Match) -> list[FieldFinding]:
    """Silent on case, punctuation, accents and markup."""
    if match.title is TitleLike.SAME or not claim.title:
        return []
    expected = match.work.title
    if match.title is TitleLike.SUBTITLE:
        code, words, severity, sure = (
            "title-subtitle", "The record's title has another subtitle.", Severity.INFO, 0.6
        )  # fmt: skip
    elif match.title is TitleLike.SPELLING:
        sure = 0.75 if match.people.difference in (Difference.SAME, Difference.CUT) else 0.6
        preprint = means_preprint(claim) or _on_arxiv_alone(match.works)
        if preprint or same_english(claim.title, expected):
            sure = 0.6
        code, words = "title-spelling", f"The record spells the title “{expected}”."
        severity = Severity.WARNING
    elif match.title is TitleLike.OTHER and (claim.raw or len(claim.title.split()) < 3):
        return []  # a piece of the title, cut out of the text or lost with its markup
    else:
        code, words, severity, sure = (
            "title-differs", f"The work is titled “{expected}”.", Severity.WARNING, 0.85
        )  # fmt: skip
        if means_preprint(claim) and (
            match.title is TitleLike.WORDS or _same_preprint(claim, match)
        ):
            sure = 0.6  # the preprint may have had this title
        if _on_arxiv_alone(match.works):
            sure = 0.6
    return [
        finding(claim, code, "title", words, severity, sure, given=claim.title, expected=expected)
    ]


def _same_preprint(claim: Claim, match: Match) -> bool:
    """True when the arXiv identifier and all authors are those of the work."""
    same = match.people.difference is Difference.SAME and not claim.others
    return same and match.by == "arxiv"


_ICLR_PROCEEDINGS = 2017
"""Before, the papers of ICLR appeared on arXiv alone, and indices have the title of any version."""


def _on_arxiv_alone(works: Sequence[Work]) -> bool:
    return any(
        (work.year or _ICLR_PROCEEDINGS) < _ICLR_PROCEEDINGS and "iclr" in work_venues(work)
        for work in works
    )


_PRINTED = 3
"""Years after the meeting in which its proceedings may be published."""
PLACEHOLDER = 2100
"""Programs write such a year (9999) where they know none."""


def check_year(
    claim: Claim, works: Sequence[Work], year_now: int, venue: Sequence[FieldFinding] = ()
) -> list[FieldFinding]:
    """Silent on a year more or less: a preprint, its paper and its proceedings disagree by that.

    `venue` are the findings on the venue: a version that the records do not hold has its own year.
    """
    if claim.year is None:
        return []
    years = sorted({work.year for work in works if work.year})
    if claim.year > year_now + 1:
        expected = str(years[0]) if years else ""
        severity = Severity.WARNING if claim.year >= PLACEHOLDER else Severity.ERROR
        return [
            finding(claim, "year-future", "year", f"{claim.year} is in the future.",
                    severity, 0.95, given=str(claim.year), expected=expected)
        ]  # fmt: skip
    if not years or min(abs(claim.year - year) for year in years) <= 1:
        return []
    if claim.raw and any(abs(int(text) - year) <= 1 for text in _YEAR.findall(claim.raw)
                         for year in years):  # fmt: skip
        return []  # another number was read as the year
    nearest = min(years, key=lambda year: abs(year - claim.year))  # type: ignore[operator]
    preprint = means_preprint(claim)
    if claim.arxiv and preprint and arxiv_says(claim.arxiv).year in (claim.year, claim.year - 1):
        return []  # the preprint's own year
    facts = doi_says(claim.doi) if claim.doi else None
    sure = 0.9
    if (
        (facts and facts.year is not None and abs(facts.year - claim.year) <= facts.slack)
        or claim.kind in _BOOKS  # editions
        or any(work.kind == "book" for work in works)
        or preprint  # exports give the year of the last revision
        or (claim.venue and all(is_preprint(work) for work in works))  # of other versions
        or _another_version(claim, works, venue)
        or (nearest < claim.year <= nearest + _PRINTED and nearest in claim.years)
    ):
        sure = 0.5
    message = f"The work is from {nearest}, not from {claim.year}."
    return [
        finding(claim, "year-differs", "year", message, Severity.WARNING, sure,
                given=str(claim.year), expected=str(nearest))
    ]  # fmt: skip


def _another_version(claim: Claim, works: Sequence[Work], venue: Sequence[FieldFinding]) -> bool:
    """True when the venue is another than the record's: a longer version, a reprint, a workshop."""
    known = [work.year for work in works if work.year]
    journal = in_journal(claim)
    if venue:
        other = venue[0].code != "preprint-published" and venue[0].confidence < SURE
        near = min(abs((claim.year or 0) - year) for year in known) <= 3
        return other and (near or journal or is_minor(claim.venue))
    ids = frozenset[str]().union(*(work_venues(work) for work in works))
    return bool(claim.venue) and journal and not venue_ids(claim.venue) & ids


def check_alone(claim: Claim, found: Candidates, year_now: int) -> list[FieldFinding]:
    """What speaks against a reference whose work is not known: its own contradictions."""
    return [
        *check_placeholders(claim),
        *check_year(claim, (), year_now),
        *check_arxiv(claim, (), found, year_now),
        *check_doi_alone(claim, found),
        *check_meeting(claim, found.meeting, found.near),
    ]


def _check_pages(claim: Claim, works: Sequence[Work]) -> list[FieldFinding]:
    """First page or volume other than the record's, where the venue is the record's."""
    ids = venue_ids(claim.venue)
    same = [work for work in works if ids & work_venues(work)]
    findings = []
    for field, given in (("pages", claim.pages), ("volume", claim.volume)):
        known = [value for work in same if (value := getattr(work, field))]
        ours = _NUMBER.search(given)
        firsts = {found.group() for value in known if (found := _NUMBER.search(value))}
        if ours is not None and firsts and ours.group() not in firsts:
            findings.append(
                finding(claim, f"{field}-differs" if field == "volume" else "pages-differ", field,
                         f"The record has {known[0]}.", Severity.INFO, 0.6, given=given,
                         expected=known[0])
            )  # fmt: skip
    return findings


def _check_kind(claim: Claim, work: Work) -> list[FieldFinding]:
    """An article that is a paper of a meeting, or the other way round, where the venue is right."""
    if not {claim.kind, work.kind} <= _PAPERS or claim.kind == work.kind:
        return []
    if not venue_ids(claim.venue) & work_venues(work):
        return []
    message = f"The record is of type @{work.kind}, not @{claim.kind}."
    return [
        finding(claim, "type-differs", "type", message, Severity.INFO, 0.5, given=claim.kind,
                expected=work.kind)
    ]  # fmt: skip
