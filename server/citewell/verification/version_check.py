"""Checks of a reference's venue and year against the version that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.documents.bib.work import venue_named
from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.identifiers import arxiv_id
from citewell.model.titles import normalise_title
from citewell.model.venues import content_words, short_venue, venue_ids, work_venues
from citewell.sources.combine import is_preprint, is_second_hand
from citewell.verification.finding import SURE, finding
from citewell.verification.id_check import arxiv_says, doi_says, known_registrant, registrant
from citewell.verification.identify import Match
from citewell.verification.likeness import (
    TitleLike,
    in_journal,
    is_journal,
    means_preprint,
    misspelt,
    names_preprint,
    names_published_venue,
    same_words,
)


def check_venue(claim: Claim, match: Match) -> list[FieldFinding]:
    """A finding when the venue differs from that of every record of the work.

    The entry's own DOI supports its venue if it names one. A preprint, a workshop or a later
    journal version with the same title is a legitimate citation, and not reported.
    """
    works = match.works
    if names_preprint(claim.venue):
        return _published(claim, works)
    if not claim.venue or all(is_preprint(work) for work in works):
        return []  # the preprint may have been published
    names = [name for work in works for name in (work.venue, work.booktitle, work.journal) if name]
    known = frozenset[str]().union(*(work_venues(work) for work in works))
    given = venue_ids(claim.venue)
    known = known.union(*(both for both in _PRINTED_IN if known & both))
    if not names or given & known or (claim.raw and venue_ids(claim.raw) & known):
        return []
    facts = doi_says(claim.doi) if claim.doi else None
    if facts is not None and given & facts.venues:
        return []
    full = [venue.name for work in works if (venue := venue_named(work.venue))]
    telling = [name for name in names if content_words(name)]
    # All spellings of a known venue are known: another word is another venue.
    share = 1.0 if known else 0.6
    own = not telling or any(same_words(claim.venue, name, share) for name in telling)
    own = own or any(misspelt(claim.venue, name) for name in full)
    expected = _expected(works)
    shown = short_venue(expected, venue_ids(expected)) or expected
    if given and known:
        confidence = 0.9
        message = f"It appeared in {shown}, not in {claim.venue}."
    elif given or own or not names_published_venue(claim.venue) or not known:
        return []
    else:
        confidence = 0.8
        message = f"No record of it names “{claim.venue}”: it appeared in {shown}."
    if facts is not None and facts.venues & known:
        confidence = 0.97
        message += " Its DOI confirms this."
    elif match.title is TitleLike.SUBTITLE or may_be_another_version(claim, works, given):
        confidence = 0.5
        message = f"The known record appeared in {shown}; this may be another version."
    return [
        FieldFinding(
            code="venue-differs" if given else "venue-unknown",
            field=claim.venue_field or "venue",
            message=message,
            severity=Severity.WARNING if confidence >= 0.7 else Severity.INFO,
            given=claim.venue,
            expected=expected,
            confidence=confidence,
            span=claim.spans.get(claim.venue_field),
        )
    ]


_MINOR = re.compile(
    r"\b(?:workshops?|demos?|demonstrations?|student|companion|abstracts?|tutorials?)\b"
)
_PRINTED_IN = tuple(map(frozenset, (("siggraph", "tog"), ("icra", "ral"), ("iros", "ral"))))
"""Meetings with papers printed in a journal, which is cited as often."""
_SEMANTIC = frozenset({"semeval", "starsem"})
"""The shared tasks of one are held at the other."""
_PMLR = frozenset({"icml", "aistats", "colt", "uai", "acml", "corl", "alt", "l4dc"})


def named_version(claim: Claim, works: Sequence[Work]) -> list[Work]:
    """The records of the version that the reference names by its venue."""
    ids = venue_ids(claim.venue)
    if means_preprint(claim):
        return [work for work in works if is_preprint(work)]
    return [work for work in works if ids & work_venues(work) and not is_preprint(work)]


def is_minor(venue: str) -> bool:
    """True for a workshop, a demonstration or another minor part of a meeting."""
    return _MINOR.search(normalise_title(venue)) is not None


def may_be_another_version(claim: Claim, works: Sequence[Work], given: frozenset[str]) -> bool:
    """True when a workshop, journal or demonstration version of the record may be cited."""
    words = normalise_title(claim.venue)
    if _MINOR.search(words) or "book" in claim.kind or "thesis" in claim.kind:
        return True
    # The known record may be a demonstration or a talk with the paper's title.
    if all(_minor(work) or _is_abstract(work) for work in works):
        return True
    if _other_publisher(claim, works):
        return True
    if given <= _SEMANTIC and frozenset[str]().union(*map(work_venues, works)) & _SEMANTIC:
        return True
    if given == {"acl"} and words.endswith("association for computational linguistics"):
        return "meeting" not in words  # the publisher
    return _earlier_or_later(claim, works, given)


def _other_publisher(claim: Claim, works: Sequence[Work]) -> bool:
    """True when the reference has its own DOI, registered by another publisher."""
    if not claim.doi or not known_registrant(claim.doi) or arxiv_id(claim.doi):
        return False
    own = {registrant(work.doi) for work in works if work.doi}
    return registrant(claim.doi) not in own and not doi_says(claim.doi).venues


def _earlier_or_later(claim: Claim, works: Sequence[Work], given: frozenset[str]) -> bool:
    """True for a journal version at least a year after the meeting, or the reverse."""
    years = [work.year for work in works if work.year]
    journal = is_journal(given) or in_journal(claim)
    if journal and claim.volume and claim.pages:
        return True  # with its own volume and pages
    known = frozenset[str]().union(*(work_venues(work) for work in works))
    if given == {"jmlr"} and known & _PMLR:
        return True  # the proceedings series of the journal
    if is_journal(known):
        return not claim.year or not years or claim.year < max(years)
    return journal and not (claim.year and years and claim.year <= min(years))


def _is_abstract(work: Work) -> bool:
    """True for the abstract of a talk, on a single page; the ACM numbers articles, not pages."""
    return work.pages.isdigit() and not work.doi.startswith("10.1145/")


def _minor(work: Work) -> bool:
    text = normalise_title(f"{work.booktitle} {work.venue}")
    names = venue_ids(work.venue) or venue_ids(work.booktitle)
    return _MINOR.search(text) is not None or (not names and work.id.startswith("acl:"))


def _published(claim: Claim, works: Sequence[Work]) -> list[FieldFinding]:
    """A finding for a cited preprint that has been published."""
    known = [work for work in works if work_venues(work) - {"arxiv"}]
    if not known or len(known) < len(works):
        return []
    expected = _expected(known)
    return [
        FieldFinding(
            code="preprint-published",
            field=claim.venue_field or "venue",
            message=f"The preprint is cited; the paper appeared in {expected}"
            + (f" in {known[0].year}." if known[0].year else "."),
            severity=Severity.INFO,
            given=claim.venue,
            expected=expected,
            confidence=0.9,
            span=claim.spans.get(claim.venue_field),
        )
    ]


def _expected(works: Sequence[Work]) -> str:
    for work in works:
        if name := work.booktitle or work.journal:
            return name
        if work.venue:
            venue = venue_named(work.venue)
            return venue.name if venue else work.venue
    return ""


_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
BOOKS = frozenset({"book", "inbook", "incollection", "collection", "mvbook"})
_PRINTED = 3
"""Years after the meeting within which its proceedings may be published."""
PLACEHOLDER = 2100
"""Least placeholder year: programs write one (9999) for an unknown year."""


def check_year(
    claim: Claim, works: Sequence[Work], year_now: int, venue: Sequence[FieldFinding] = ()
) -> list[FieldFinding]:
    """A finding for a difference of two years or more, a note for a year adjacent to a meeting's.

    `venue` holds the findings on the venue: a version missing from the records has its own year,
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
    """Findings on the year, against the version that the reference names."""
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
    """True when a text has the record's year elsewhere, or the identifier the preprint's."""
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
    """True for a book, and for a free-text reference with a publisher and no known venue."""
    written = bool(claim.raw) and not venue_ids(claim.raw)
    return claim.kind in BOOKS or (written and _PUBLISHER.search(claim.raw) is not None)


def _counts(one: FieldFinding) -> bool:
    return one.severity is not Severity.INFO and one.confidence >= SURE


_OTHER_KIND = re.compile(
    r"thesis|dissertation|diplomarbeit|techreport|technical report|working paper|unpublished",
    re.IGNORECASE,
)
"""Words for a thesis or a report; papers with the same title may be known."""


def _is_of_version_unknown(claim: Claim, works: Sequence[Work]) -> bool:
    """True when the reference names a venue that no record has and a version of the work may have:
    a journal, a book or a workshop at any time, a meeting in about the same years."""
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
    """A note on a year adjacent to that of a named meeting, which has only one."""
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
    """True when the venue differs from the record's: a longer version, a reprint, a workshop."""
    known = [work.year for work in works if work.year]
    journal = in_journal(claim)
    if venue:
        other = venue[0].code != "preprint-published" and venue[0].confidence < SURE
        near = min(abs((claim.year or 0) - year) for year in known) <= 3
        return other and (near or journal or is_minor(claim.venue))
    ids = frozenset[str]().union(*(work_venues(work) for work in works))
    return bool(claim.venue) and journal and not venue_ids(claim.venue) & ids
