"""Is the year that a reference gives that of the version which it names?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.venues import venue_ids, work_venues
from citewell.sources.trust import is_preprint, is_second_hand
from citewell.verification.finding import SURE, finding
from citewell.verification.id_check import arxiv_says, doi_says
from citewell.verification.venue_check import is_minor, named_version
from citewell.verification.venues import in_journal, means_preprint, same_words

_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
BOOKS = frozenset({"book", "inbook", "incollection", "collection", "mvbook"})
_PRINTED = 3
"""Years after the meeting in which its proceedings may be published."""
PLACEHOLDER = 2100
"""Programs write such a year (9999) where they know none."""


def check_year(
    claim: Claim, works: Sequence[Work], year_now: int, venue: Sequence[FieldFinding] = ()
) -> list[FieldFinding]:
    """A finding for two years and more, a note for the year beside that of a meeting.

    `venue` are the findings on the venue: a version that the records do not hold has its own year,
    and is not judged.
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
    return _against_records(claim, works, years, venue)


def _against_records(
    claim: Claim, works: Sequence[Work], years: Sequence[int], venue: Sequence[FieldFinding]
) -> list[FieldFinding]:
    """The year against that of the version which the reference names."""
    assert claim.year is not None
    own = named_version(claim, works)
    if not own and not any(map(_counts, venue)) and _is_of_version_unknown(claim, works):
        return []
    if own and not in_journal(claim) and not means_preprint(claim):
        years = sorted({work.year for work in own if work.year}) or years
    if not years or claim.year in years:
        return []
    if min(abs(claim.year - year) for year in years) == 1:
        return _year_beside(claim, own, years)
    if _is_another_number(claim, years):
        return []
    nearest = min(years, key=lambda year: abs(year - claim.year))  # type: ignore[operator]
    sure = 0.5 if _may_be_right(claim, works, venue, nearest) else 0.9
    message = f"The work is from {nearest}, not from {claim.year}."
    return [
        finding(claim, "year-differs", "year", message, Severity.WARNING, sure,
                given=str(claim.year), expected=str(nearest))
    ]  # fmt: skip


def _is_another_number(claim: Claim, years: Sequence[int]) -> bool:
    """True when a text has the record's year elsewhere, or the identifier that of the preprint."""
    assert claim.year is not None
    written = [int(text) for text in _YEAR.findall(claim.raw)]
    if any(abs(one - year) <= 1 for one in written for year in years):
        return True
    if not claim.arxiv or not means_preprint(claim):
        return False
    return arxiv_says(claim.arxiv).year in (claim.year, claim.year - 1)


def _may_be_right(
    claim: Claim, works: Sequence[Work], venue: Sequence[FieldFinding], nearest: int
) -> bool:
    """True where editions, revisions and other versions have years of their own."""
    assert claim.year is not None
    facts = doi_says(claim.doi) if claim.doi else None
    return bool(
        (facts and facts.year is not None and abs(facts.year - claim.year) <= facts.slack)
        or _is_book(claim)  # editions
        or any(work.kind == "book" for work in works)
        or means_preprint(claim)  # exports give the year of the last revision
        or (claim.venue and all(is_preprint(work) for work in works))  # of other versions
        or _another_version(claim, works, venue)
        or (nearest < claim.year <= nearest + _PRINTED and nearest in claim.years)
    )


_PUBLISHER = re.compile(
    r"\b(?:press|wiley|springer|publish\w+|mcgraw|prentice|addison|o.reilly|verlag|pearson|chapman|"
    r"kaufmann|athena|birkh\w+|dover)\b",
    re.IGNORECASE,
)


def _is_book(claim: Claim) -> bool:
    """True for a book, and for a written reference that names a publisher and no known venue."""
    written = bool(claim.raw) and not venue_ids(claim.raw)
    return claim.kind in BOOKS or (written and _PUBLISHER.search(claim.raw) is not None)


def _counts(one: FieldFinding) -> bool:
    return one.severity is not Severity.INFO and one.confidence >= SURE


_OTHER_KIND = re.compile(
    r"thesis|dissertation|diplomarbeit|techreport|technical report|working paper|unpublished",
    re.IGNORECASE,
)
"""What a thesis or a report calls itself, of which papers with its title may be known."""


def _is_of_version_unknown(claim: Claim, works: Sequence[Work]) -> bool:
    """True when the reference names a venue that no record has, as a version of the work may have:
    in a journal, a book or a workshop at any time, at a meeting in about the same years."""
    if _OTHER_KIND.search(f"{claim.kind} {claim.venue} {claim.raw}"):
        return not any(_OTHER_KIND.search(f"{work.kind} {work.booktitle}") for work in works)
    if not claim.venue or means_preprint(claim):
        return False
    names = [name for work in works for name in (work.venue, work.booktitle, work.journal) if name]
    if any(same_words(claim.venue, name) for name in names):
        return False
    if not names:
        return all(is_second_hand(work) for work in works)
    years = [abs((claim.year or 0) - work.year) for work in works if work.year]
    late = in_journal(claim) or claim.kind in BOOKS or is_minor(claim.venue)
    return late or min(years, default=0) <= _PRINTED


def _year_beside(claim: Claim, own: Sequence[Work], years: Sequence[int]) -> list[FieldFinding]:
    """A note on the year before or after that of a named meeting, which is held in one year."""
    assert claim.year is not None
    journal = in_journal(claim) or any(work.journal or is_preprint(work) for work in own)
    named = {*claim.years, *(int(text) for text in _YEAR.findall(claim.raw))}
    if not own or journal or means_preprint(claim) or named & set(years):
        return []
    message = f"The work is from {years[0]}, not from {claim.year}."
    return [
        finding(claim, "year-differs", "year", message, Severity.INFO, 0.5,
                given=str(claim.year), expected=str(years[0]))
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
