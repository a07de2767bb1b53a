"""Field by field: what an identified reference says against what the records of its work say."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from citewell.model import Author, Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.verification.identifiers import (
    arxiv_says,
    doi_says,
    impossible_arxiv,
    impossible_doi,
    registrant,
    unlikely_registrant,
)
from citewell.verification.identify import Match, TitleLike, same_english, title_likeness
from citewell.verification.people import (
    Comparison,
    Difference,
    placeholder_names,
    without_anonymous,
)
from citewell.verification.records import Candidates
from citewell.verification.venue_check import check_venue
from citewell.verification.venues import is_preprint, venue_ids, work_venues

_NUMBER = re.compile(r"\d+")
_BOOKS = frozenset({"book", "inbook", "incollection", "collection", "mvbook"})


def compare(claim: Claim, match: Match, found: Candidates, year_now: int) -> list[FieldFinding]:
    """Every finding on a reference whose work is known, in the order of a reference's fields."""
    venue = check_venue(claim, match.works)
    people = check_people(claim, match.people, match.work)
    added = match.people.difference is Difference.ADDED
    if venue and people and (added or venue[0].confidence < 0.7):
        # Other people and another venue: likely another version of the work, unknown here.
        people = [_doubted(one) for one in people if one.code != "author-unrelated"] or people
        venue = [_doubted(one) for one in venue]
    findings = [
        *check_title(claim, match),
        *people,
        *check_year(claim, match.works, year_now),
        *venue,
        *check_doi(claim, match.works, found),
        *check_arxiv(claim, match.works, found, year_now),
        *_check_pages(claim, match.works),
    ]
    if any(work.retracted for work in match.works):
        findings.append(
            _finding(
                claim, "retracted", "title", "The work has been retracted or withdrawn.",
                Severity.WARNING, 0.95, given=claim.title,
            )
        )  # fmt: skip
    return findings


def _doubted(finding: FieldFinding) -> FieldFinding:
    return msgspec.structs.replace(
        finding, severity=Severity.INFO, confidence=min(0.6, finding.confidence)
    )


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
        code, words = "title-spelling", f"The record spells the title “{expected}”."
        severity = (
            Severity.WARNING
            if sure >= 0.7 and not same_english(claim.title, expected)
            else Severity.INFO
        )
    elif match.title is TitleLike.OTHER and (claim.raw or len(claim.title.split()) < 3):
        return []  # a piece of the title, cut out of the text or lost with its markup
    else:
        code, words, severity, sure = (
            "title-differs", f"The work is titled “{expected}”.", Severity.WARNING, 0.85
        )  # fmt: skip
        if is_preprint(claim.venue) and match.title is TitleLike.WORDS:
            severity, sure = Severity.INFO, 0.6  # the preprint may have had this title
    return [
        _finding(claim, code, "title", words, severity, sure, given=claim.title, expected=expected)
    ]


def check_people(claim: Claim, people: Comparison, work: Work) -> list[FieldFinding]:
    """Missing, added, replaced and reordered names; initials, accents and particles are none."""
    found = _people(claim, people, work)
    if claim.authors and not without_anonymous(claim.authors):
        message = "The authors are known by now."
        found = ("author-anonymous", message, Severity.WARNING, 0.75)
    if found is None:
        return []
    code, message, severity, sure = found
    if is_preprint(claim.venue) and people.shared >= 0.6:
        severity, sure = Severity.INFO, min(sure, 0.6)  # versions of a preprint differ in names
    if claim.raw and people.difference not in (Difference.UNRELATED, Difference.REPLACED):
        severity, sure = Severity.INFO, min(sure, 0.6)  # the list may have been read wrongly
    given, expected = names(claim.authors), names(work.authors)
    return [
        _finding(claim, code, "author", message, severity, sure, given=given, expected=expected)
    ]


def _people(
    claim: Claim, people: Comparison, work: Work
) -> tuple[str, str, Severity, float] | None:
    """Code, words, severity and confidence of how the lists differ."""
    added, missing = _listed(people.added), _listed(people.missing)
    is_added, is_missing = _is(people.added), _is(people.missing)
    if people.difference is Difference.MISSING:
        message = f"{missing} of the record {is_missing} left out without “and others”."
        return "author-missing", message, Severity.WARNING, 0.9
    if people.difference is Difference.CUT:
        count = f"{len(claim.authors)} of {len(work.authors)}"
        message = f"The list stops after {count} names without “and others”."
        return "author-cut", message, Severity.INFO, 0.9
    if people.difference is Difference.ADDED:
        # One name more than the record has: the record may be the one that lacks it.
        slip = len(people.added) == 1 and people.shared >= 0.6
        message = f"{added} {is_added} not among the record's authors."
        if slip:
            return "author-added", message, Severity.INFO, 0.65
        return "author-added", message, Severity.WARNING, 0.8
    return _other_people(people, f"{added} {is_added}", f"{missing} {is_missing}")


def _other_people(
    people: Comparison, added: str, missing: str
) -> tuple[str, str, Severity, float] | None:
    if people.difference is Difference.ORDER:
        return "author-order", "The authors stand in another order.", Severity.WARNING, 0.8
    if people.difference is Difference.REPLACED:
        message = f"{added} not among the record's authors, and {missing} missing."
        return "author-replaced", message, Severity.WARNING, 0.9
    if people.difference is Difference.UNRELATED:
        message = "None of the authors given is an author of the work."
        return "author-unrelated", message, Severity.ERROR, 0.9
    if people.misspelt:
        ours, theirs = people.misspelt[0]
        message = f"The record spells {ours.display} as {theirs.display}."
        return "author-spelling", message, Severity.INFO, 0.6
    return None


def _is(authors: Sequence[Author]) -> str:
    return "is" if len(authors) == 1 else "are"


def check_year(claim: Claim, works: Sequence[Work], year_now: int) -> list[FieldFinding]:
    """Silent on a year more or less: a preprint, its paper and its proceedings disagree by that."""
    if claim.year is None:
        return []
    years = sorted({work.year for work in works if work.year})
    if claim.year > year_now + 1:
        expected = str(years[0]) if years else ""
        return [
            _finding(claim, "year-future", "year", f"{claim.year} has not come yet.",
                     Severity.ERROR, 0.95, given=str(claim.year), expected=expected)
        ]  # fmt: skip
    if not years or min(abs(claim.year - year) for year in years) <= 1:
        return []
    nearest = min(years, key=lambda year: abs(year - claim.year))  # type: ignore[operator]
    sure = 0.9
    said = doi_says(claim.doi) if claim.doi else None
    preprint = is_preprint(claim.venue) or (not claim.venue and bool(claim.arxiv))
    if claim.arxiv and preprint and arxiv_says(claim.arxiv).year in (claim.year, claim.year - 1):
        return []  # the preprint's own year
    if said is not None and said.year is not None and abs(said.year - claim.year) <= said.slack:
        sure = 0.5
    if claim.kind in _BOOKS or any(work.kind == "book" for work in works):
        sure = 0.5  # editions
    elif preprint and claim.year < nearest:
        sure = 0.5  # a preprint long before its paper
    elif claim.venue and 0 < claim.year - nearest <= 3 and _another_version(claim, works):
        sure = 0.5
    return [
        _finding(
            claim, "year-differs", "year", f"The work is of {nearest}, not of {claim.year}.",
            Severity.WARNING if sure >= 0.7 else Severity.INFO, sure,
            given=str(claim.year), expected=str(nearest),
        )
    ]  # fmt: skip


def _another_version(claim: Claim, works: Sequence[Work]) -> bool:
    """True when the venue is a journal other than the record's: a later, longer version."""
    findings = check_venue(claim, works)
    ids = venue_ids(claim.venue)
    known = frozenset[str]().union(*(work_venues(work) for work in works))
    return any(one.confidence < 0.7 for one in findings) or (
        not findings and not ids & known and claim.venue_field in ("journal", "journaltitle")
    )


def check_doi(claim: Claim, works: Sequence[Work], found: Candidates) -> list[FieldFinding]:
    """Does the DOI point to this work? By the records, then by what its own form says."""
    if not claim.doi:
        return []
    known = [doi for work in works for doi in _dois(work)]
    if claim.doi in known:
        return []
    expected = next((doi for doi in known if not arxiv_id(doi)), "")
    said = doi_says(claim.doi)
    others = [work for work in found.by_doi if not _same_title(claim, work, works)]
    code, message, sure = "", "", 0.0
    venues = frozenset[str]().union(*(work_venues(work) for work in works))
    years = [work.year for work in works if work.year]
    if others and len(others) == len(found.by_doi):
        code, sure = "doi-other-work", 0.95
        message = f"The DOI is that of another work: “{others[0].title}”."
    elif impossible_doi(claim.doi):
        code, sure = "doi-impossible", 0.85
        message = f"There can be no DOI {claim.doi}: nobody has been given such a prefix or number."
    elif said.preprint:
        if said.year and years and said.year > max(years) + 1:
            code, sure = "doi-other-year", 0.85 if min(years) >= 2016 else 0.5
            message = f"The DOI is that of a preprint of {said.year}; the work is older."
    elif any(registrant(doi) == registrant(claim.doi) for doi in known):
        code, sure = "doi-differs", 0.8
        message = f"The work's DOI is {expected}."
    elif said.venues and venues and not said.venues & (venues | venue_ids(claim.venue)):
        code, sure = "doi-other-venue", 0.85
        message = f"The DOI is that of a paper of {_names(said.venues)}."
    elif said.year and years and min(abs(said.year - year) for year in years) > said.slack + 1:
        code, sure = "doi-other-year", 0.8
        message = f"The DOI is that of a paper of {said.year}."
    elif unlikely_registrant(claim.doi, venues):
        code, sure = "doi-unlikely", 0.75
        message = (
            f"The DOI prefix 10.{registrant(claim.doi)} is neither that of the work's publisher "
            "nor of an archive that is known."
        )
    if not code:
        return []
    return [
        _finding(claim, code, "doi", message, Severity.WARNING, sure, given=claim.doi,
                 expected=expected)
    ]  # fmt: skip


def check_arxiv(
    claim: Claim, works: Sequence[Work], found: Candidates, year_now: int
) -> list[FieldFinding]:
    """Does the arXiv identifier point to this work, and can it exist?"""
    if claim.raw_arxiv and impossible_arxiv(claim.raw_arxiv, year_now):
        return [
            _finding(claim, "arxiv-impossible", "eprint",
                     f"There can be no arXiv identifier {claim.raw_arxiv}.", Severity.WARNING, 0.9,
                     given=claim.raw_arxiv)
        ]  # fmt: skip
    if not claim.arxiv or arxiv_id(claim.doi):
        return []
    known = {work.arxiv for work in works if work.arxiv}
    if claim.arxiv in known:
        return []
    others = [work for work in found.by_arxiv if not _same_title(claim, work, works)]
    said = arxiv_says(claim.arxiv)
    years = [work.year for work in works if work.year]
    if others and len(others) == len(found.by_arxiv):
        code, sure = "arxiv-other-work", 0.95
        message = f"The arXiv identifier is that of another work: “{others[0].title}”."
    elif said.year and years and said.year > max(years) + 2:
        # Whole old proceedings were put there years later.
        code, sure = "arxiv-later", 0.75 if min(years) >= 2016 else 0.5
        message = f"The arXiv identifier is of {said.year}, after the work had appeared."
    else:
        return []
    return [
        _finding(claim, code, "eprint", message, Severity.WARNING if sure >= 0.7 else Severity.INFO,
                 sure, given=claim.arxiv, expected=next(iter(sorted(known)), ""))
    ]  # fmt: skip


def check_alone(claim: Claim, found: Candidates, year_now: int) -> list[FieldFinding]:
    """What speaks against a reference whose work is not known: its own contradictions."""
    findings = list(check_placeholders(claim))
    findings += check_year(claim, (), year_now)
    findings += check_arxiv(claim, (), found, year_now)
    if not claim.doi:
        return findings
    said, given = doi_says(claim.doi), venue_ids(claim.venue)
    code, message, sure = "", "", 0.0
    if found.by_doi:
        code, sure = "doi-other-work", 0.9
        message = f"The DOI is that of another work: “{found.by_doi[0].title}”."
    elif impossible_doi(claim.doi):
        code, sure = "doi-impossible", 0.85
        message = f"There can be no DOI {claim.doi}: nobody has been given such a prefix or number."
    elif said.venues and given and not said.venues & given:
        code, sure = "doi-other-venue", 0.8
        message = f"The DOI is that of a paper of {_names(said.venues)}, not of {claim.venue}."
    elif (
        said.year and claim.year and _contradicts(said.year, claim.year, said.slack, said.preprint)
    ):
        code, sure = "doi-other-year", 0.75
        message = f"The DOI is that of a {'preprint' if said.preprint else 'paper'} of {said.year}."
    if code:
        findings.append(
            _finding(claim, code, "doi", message, Severity.WARNING, sure, given=claim.doi)
        )
    return findings


def check_placeholders(claim: Claim) -> list[FieldFinding]:
    """Authors that stand for nobody."""
    nobody = placeholder_names(claim.authors)
    if not nobody:
        return []
    return [
        _finding(claim, "author-placeholder", "author", f"{_listed(nobody)} stands for no person.",
                 Severity.ERROR, 0.9 if len(nobody) == len(claim.authors) else 0.75,
                 given=names(claim.authors))
    ]  # fmt: skip


def _contradicts(said: int, year: int, slack: int, preprint: bool) -> bool:
    # A preprint may be much older than its paper, but not younger.
    return said > year + 1 if preprint else abs(said - year) > slack + 1


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
                _finding(claim, f"{field}-differs" if field == "volume" else "pages-differ", field,
                         f"The record has {known[0]}.", Severity.INFO, 0.6, given=given,
                         expected=known[0])
            )  # fmt: skip
    return findings


def _same_title(claim: Claim, work: Work, works: Sequence[Work]) -> bool:
    titles = [claim.title, *(one.title for one in works)]
    return any(title_likeness(title, work.title) is not TitleLike.OTHER for title in titles)


def _dois(work: Work) -> list[str]:
    found = [normalise_doi(work.doi), *(s[4:] for s in work.same_as if s.startswith("doi:"))]
    return [doi for doi in found if doi]


def names(authors: Sequence[Author]) -> str:
    """Names as a reader writes them."""
    return ", ".join(author.display for author in authors)


def _listed(authors: Sequence[Author], most: int = 3) -> str:
    if not authors:
        return ""
    shown = [author.display for author in authors[:most]]
    if len(authors) > most:
        return ", ".join(shown) + f" and {len(authors) - most} more"
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]


def _names(venues: frozenset[str]) -> str:
    return " or ".join(sorted(venue.upper() for venue in venues))


def _finding(  # noqa: PLR0917 - called in one shape only
    claim: Claim,
    code: str,
    field: str,
    message: str,
    severity: Severity,
    confidence: float,
    *,
    given: str = "",
    expected: str = "",
) -> FieldFinding:
    return FieldFinding(
        code=code,
        field=field,
        message=message,
        severity=severity,
        given=given,
        expected=expected,
        confidence=confidence,
        span=claim.spans.get(field),
    )
