"""Do the DOI and the arXiv identifier of a reference point to its work, and can they exist?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.identifiers import dois_of
from citewell.model.ids import arxiv_id
from citewell.model.venues import venue_ids, work_venues
from citewell.sources.trust import family
from citewell.sources.variants import statements
from citewell.verification.finding import finding
from citewell.verification.identifiers import (
    IdentifierFacts,
    arxiv_says,
    doi_says,
    fake_registrant,
    impossible_arxiv,
    impossible_doi,
    registrant,
    unlikely_registrant,
)
from citewell.verification.identify import Match
from citewell.verification.likeness import TitleLike, title_likeness
from citewell.verification.people import Difference
from citewell.verification.records import Candidates

Against = tuple[str, str, float]
"""Code, sentence and confidence of what speaks against an identifier."""


def check_doi(claim: Claim, match: Match, found: Candidates) -> list[FieldFinding]:
    """Does the DOI point to this work? By the records, then by what its own form says."""
    if not claim.doi:
        return check_form(claim)
    works = match.works
    known = [doi for work in works for doi in dois_of(work)]
    if claim.doi in known:
        return []
    against = _against_records(claim, match, found, known) or _against_form(claim, works)
    if against is None:
        return []
    code, message, sure = against
    expected = next((doi for doi in known if not arxiv_id(doi)), "")
    return [_of_doi(claim, code, message, sure, expected)]


def _of_doi(claim: Claim, code: str, message: str, sure: float, expected: str = "") -> FieldFinding:
    return finding(claim, code, "doi", message, Severity.WARNING, sure, given=claim.doi,
                   expected=expected, url=f"https://doi.org/{claim.doi}")  # fmt: skip


def _against_records(
    claim: Claim, match: Match, found: Candidates, known: Sequence[str]
) -> Against | None:
    """Findings from the records of this work and of the DOI's work."""
    others = [work for work in found.by_doi if not _same_title(claim, work, match.works)]
    if others and len(others) == len(found.by_doi):
        message = f"The DOI belongs to another work: “{others[0].title}”."
        sibling = any(_same_meeting(other, work) for other in others for work in match.works)
        return "doi-other-work", message, 0.65 if sibling and _one_witness(claim, match) else 0.95
    if impossible_doi(claim.doi):
        return _impossible(claim)
    if doi_says(claim.doi).preprint:
        return _preprint_too_late(claim, match.works)
    same = [doi for doi in known if registrant(doi) == registrant(claim.doi)]
    return _against_own(claim, match, same) if same else None


def _against_own(claim: Claim, match: Match, known: Sequence[str]) -> Against:
    """Another DOI of the same publisher: the work's own is wrong here, or that of a version."""
    message = f"The work's DOI is {known[0]}."
    if any(claim.doi.startswith(f"{doi}/") for doi in known):
        return "doi-differs", f"{message} Something was appended to it.", 0.6
    ids, places = venue_ids(claim.venue), _venues(match.works)
    elsewhere = bool(claim.venue) and not ids & places and not doi_says(claim.doi).venues & places
    if elsewhere or (_one_witness(claim, match) and not _against_form(claim, match.works)):
        return "doi-differs", message, 0.65
    return "doi-differs", message, 0.8


def _one_witness(claim: Claim, match: Match) -> bool:
    """True when all but the DOI agrees, and one record alone says what the DOI should be.

    Collections of records have DOIs that slipped by a line; then the record is as likely to be
    wrong as the reference. An identifier of the ACL Anthology is a part of its DOI, and no slip.
    """
    work = match.work
    if work.id.startswith("acl:") or match.title is not TitleLike.SAME:
        return False
    if len(_sources_of_doi(match)) > 1:
        return False
    return (
        match.people.difference is Difference.SAME
        and claim.year == work.year
        and bool(venue_ids(claim.venue) & work_venues(work))
    )


def _sources_of_doi(match: Match) -> set[str]:
    """Independent sources that give the work the DOI of its merged record."""
    return {
        family(origin.source)
        for record in statements(match.work)
        if record.doi == match.work.doi
        for origin in match.work.provenance
        if origin.source in record.sources
    }


def _same_meeting(one: Work, other: Work) -> bool:
    return one.year == other.year and bool(work_venues(one) & work_venues(other))


def _preprint_too_late(claim: Claim, works: Sequence[Work]) -> Against | None:
    year = doi_says(claim.doi).year
    years = [work.year for work in works if work.year]
    if not year or not years or year <= max(years) + 1:
        return None
    message = f"The DOI belongs to a preprint of {year}; the work is older."
    return "doi-other-year", message, 0.85 if min(years) >= 2016 else 0.5


def _against_form(claim: Claim, works: Sequence[Work]) -> Against | None:
    """Findings of the form of the DOI against venue, year and publisher of the records."""
    facts, venues = doi_says(claim.doi), _venues(works)
    if facts.preprint:
        return None
    years = [work.year for work in works if work.year]
    if facts.venues and venues and not facts.venues & (venues | venue_ids(claim.venue)):
        message = f"The DOI belongs to a paper of {_named(facts.venues)}."
        return "doi-other-venue", message, 0.85
    wide = msgspec.structs.replace(facts, slack=facts.slack + 1)
    if facts.year and years and not any(wide.allows(year) for year in years):
        return "doi-other-year", f"The DOI belongs to a paper of {facts.year}.", 0.8
    if unlikely_registrant(claim.doi, venues):
        message = (
            f"The DOI prefix 10.{registrant(claim.doi)} belongs to neither the work's publisher "
            "nor a known archive."
        )
        return "doi-unlikely", message, 0.75
    return _fake(claim)


def _fake(claim: Claim) -> Against | None:
    if not fake_registrant(claim.doi):
        return None
    message = f"The DOI prefix 10.{registrant(claim.doi)} looks invented."
    return "doi-unlikely", message, 0.75


def _impossible(claim: Claim) -> Against:
    message = f"{claim.doi} is not a possible DOI: no such prefix or number has been assigned."
    return "doi-impossible", message, 0.85


def check_form(claim: Claim) -> list[FieldFinding]:
    """A `doi` field that holds no DOI."""
    if claim.doi or not claim.raw_doi:
        return []
    return [
        finding(claim, "doi-malformed", "doi", f"“{claim.raw_doi}” is not a DOI.",
                Severity.INFO, 0.6,
                given=claim.raw_doi)
    ]  # fmt: skip


def check_doi_alone(claim: Claim, found: Candidates) -> list[FieldFinding]:
    """Findings of the DOI against a reference whose work is not known."""
    if not claim.doi:
        return check_form(claim)
    facts, given = doi_says(claim.doi), venue_ids(claim.venue)
    verdict: Against | None = None
    if found.by_doi:
        message = f"The DOI belongs to another work: “{found.by_doi[0].title}”."
        verdict = "doi-other-work", message, 0.9
    elif impossible_doi(claim.doi):
        verdict = _impossible(claim)
    elif facts.venues and given and not facts.venues & given:
        message = f"The DOI belongs to a paper of {_named(facts.venues)}, not of {claim.venue}."
        verdict = "doi-other-venue", message, 0.8
    elif facts.year and claim.year and _contradicts(facts, claim.year):
        what = "preprint" if facts.preprint else "paper"
        verdict = "doi-other-year", f"The DOI belongs to a {what} of {facts.year}.", 0.75
    else:
        verdict = _fake(claim)
    return [] if verdict is None else [_of_doi(claim, *verdict)]


def check_arxiv(
    claim: Claim, works: Sequence[Work], found: Candidates, year_now: int
) -> list[FieldFinding]:
    """Does the arXiv identifier point to this work, and can it exist?"""
    if claim.raw_arxiv and impossible_arxiv(claim.raw_arxiv, year_now):
        message = f"{claim.raw_arxiv} is not a possible arXiv identifier."
        return [
            finding(claim, "arxiv-impossible", "eprint", message, Severity.WARNING, 0.9,
                    given=claim.raw_arxiv)
        ]  # fmt: skip
    if not claim.arxiv or arxiv_id(claim.doi):
        return []
    known = {work.arxiv for work in works if work.arxiv}
    if claim.arxiv in known:
        return []
    others = [work for work in found.by_arxiv if not _same_title(claim, work, works)]
    facts = arxiv_says(claim.arxiv)
    years = [work.year for work in works if work.year]
    if others and len(others) == len(found.by_arxiv):
        code, sure = "arxiv-other-work", 0.95
        message = f"The arXiv identifier belongs to another work: “{others[0].title}”."
    elif facts.year and years and facts.year > max(years) + 2:
        # Whole old proceedings were put there years later.
        code, sure = "arxiv-later", 0.75 if min(years) >= 2016 else 0.5
        message = f"The arXiv identifier is from {facts.year}, after the work appeared."
    else:
        return []
    return [
        finding(claim, code, "eprint", message, Severity.WARNING, sure, given=claim.arxiv,
                expected=next(iter(sorted(known)), ""),
                url=f"https://arxiv.org/abs/{claim.arxiv}")
    ]  # fmt: skip


def _contradicts(facts: IdentifierFacts, year: int) -> bool:
    """True when a work of that year cannot have the identifier, a year of tolerance added."""
    assert facts.year is not None
    if facts.preprint:
        return facts.year > year + 1  # it may be much older than its paper, but not younger
    return not msgspec.structs.replace(facts, slack=facts.slack + 1).allows(year)


def _same_title(claim: Claim, work: Work, works: Sequence[Work]) -> bool:
    titles = [claim.title, *(one.title for one in works)]
    return any(title_likeness(title, work.title) is not TitleLike.OTHER for title in titles)


def _venues(works: Sequence[Work]) -> frozenset[str]:
    return frozenset[str]().union(*(work_venues(work) for work in works))


def _named(venues: frozenset[str]) -> str:
    return " or ".join(sorted(venue.upper() for venue in venues))
