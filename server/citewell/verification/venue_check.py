"""Does the venue that a reference gives fit the record?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.documents.bib.venues import venue_named
from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.identifiers import arxiv_id
from citewell.model.titles import normalise_title
from citewell.model.venues import content_words, venue_ids, work_venues
from citewell.sources.trust import is_preprint as is_preprint_record
from citewell.verification.id_check import doi_says, known_registrant, registrant
from citewell.verification.identify import Match
from citewell.verification.likeness import TitleLike
from citewell.verification.venues import (
    in_journal,
    is_journal,
    is_preprint,
    means_preprint,
    misspelt,
    names_published_venue,
    same_words,
)


def check_venue(claim: Claim, match: Match) -> list[FieldFinding]:
    """A finding when the venue is another than that of every record of the work.

    The entry's own DOI speaks for its venue where its form names one; a preprint, a workshop or a
    later journal version of the same title may be cited with right, and is not accused.
    """
    works = match.works
    if is_preprint(claim.venue):
        return _published(claim, works)
    if not claim.venue or all(is_preprint_record(work) for work in works):
        return []  # a preprint may have been published since
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
    # All the spellings of a venue that is known by name are known: another word is another venue.
    share = 1.0 if known else 0.6
    own = not telling or any(same_words(claim.venue, name, share) for name in telling)
    own = own or any(misspelt(claim.venue, name) for name in full)
    expected = _expected(works)
    if given and known:
        confidence = 0.9
        message = f"It appeared in {expected}, not in {claim.venue}."
    elif given or own or not names_published_venue(claim.venue) or not known:
        return []
    else:
        confidence = 0.8
        message = f"No record of it names “{claim.venue}”: it appeared in {expected}."
    if facts is not None and facts.venues & known:
        confidence = 0.97
        message += " Its DOI confirms this."
    elif match.title is TitleLike.SUBTITLE or may_be_another_version(claim, works, given):
        confidence = 0.5
        message = f"The known record appeared in {expected}; this may be another version."
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
"""Meetings whose papers are printed in a journal, which is cited as often."""
_SEMANTIC = frozenset({"semeval", "starsem"})
"""The shared tasks of one are held at the other."""
_PMLR = frozenset({"icml", "aistats", "colt", "uai", "acml", "corl", "alt", "l4dc"})


def named_version(claim: Claim, works: Sequence[Work]) -> list[Work]:
    """The records of the version that the reference names by its venue."""
    ids = venue_ids(claim.venue)
    if means_preprint(claim):
        return [work for work in works if is_preprint_record(work)]
    return [work for work in works if ids & work_venues(work) and not is_preprint_record(work)]


def is_minor(venue: str) -> bool:
    """True for a workshop, a demonstration or another small part of a meeting."""
    return _MINOR.search(normalise_title(venue)) is not None


def may_be_another_version(claim: Claim, works: Sequence[Work], given: frozenset[str]) -> bool:
    """True when what is cited may be a workshop, journal or demonstration version of the record."""
    words = normalise_title(claim.venue)
    if _MINOR.search(words) or "book" in claim.kind or "thesis" in claim.kind:
        return True
    # The paper may have a demonstration or a talk of the same title, and only that is known.
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
    """True when the reference has a DOI of its own that another publisher has registered."""
    if not claim.doi or not known_registrant(claim.doi) or arxiv_id(claim.doi):
        return False
    own = {registrant(work.doi) for work in works if work.doi}
    return registrant(claim.doi) not in own and not doi_says(claim.doi).venues


def _earlier_or_later(claim: Claim, works: Sequence[Work], given: frozenset[str]) -> bool:
    """True for a journal version a year or more after the meeting, or the other way round."""
    years = [work.year for work in works if work.year]
    journal = is_journal(given) or in_journal(claim)
    if journal and claim.volume and claim.pages:
        return True  # with volume and pages of its own
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
    """A preprint is cited though the work has appeared."""
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
