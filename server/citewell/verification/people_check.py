"""Are the authors that a reference gives those of the record?"""

from __future__ import annotations

from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.venues import work_venues
from citewell.verification.finding import finding, listed, names
from citewell.verification.people import (
    Comparison,
    Difference,
    placeholder_names,
    without_anonymous,
)
from citewell.verification.venues import means_preprint

LONG = 10
"""Lists so long differ between a preprint, its later versions and the proceedings."""
_UNORDERED = 2013
"""Until then the pages of NeurIPS gave the authors in another order than many of the papers."""


def check_people(claim: Claim, people: Comparison, work: Work) -> list[FieldFinding]:
    """Missing, added, replaced and reordered names; initials, accents and particles are none."""
    found = _people(claim, people, work)
    if claim.authors and not without_anonymous(claim.authors):
        message = "The authors are known by now."
        found = ("author-anonymous", message, Severity.WARNING, 0.75)
    if found is None:
        return []
    code, message, severity, sure = found
    fewer = people.difference is Difference.MISSING and not claim.venue
    if means_preprint(claim) and people.shared >= 0.6 and not fewer:
        sure = min(sure, 0.6)  # versions of a preprint differ in names
    if claim.raw and people.difference not in (Difference.UNRELATED, Difference.REPLACED):
        sure = min(sure, 0.6)  # the list may have been read wrongly
    given, expected = names(claim.authors), names(work.authors)
    return [finding(claim, code, "author", message, severity, sure, given=given, expected=expected)]


def _people(
    claim: Claim, people: Comparison, work: Work
) -> tuple[str, str, Severity, float] | None:
    """Code, words, severity and confidence of how the lists differ."""
    added, missing = listed(people.added), listed(people.missing)
    is_added, is_missing = _is(len(people.added)), _is(len(people.missing))
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
        return (
            "author-added",
            message,
            Severity.WARNING,
            0.65 if slip or _versions(people, claim) else 0.8,
        )
    if people.difference is Difference.ORDER:
        message = "The authors stand in another order."
        doubted = (work.year or 0) <= _UNORDERED and "neurips" in work_venues(work)
        return "author-order", message, Severity.WARNING, 0.6 if doubted else 0.8
    return _other_people(claim, people, f"{added} {is_added}", f"{missing} {is_missing}")


def _other_people(
    claim: Claim, people: Comparison, added: str, missing: str
) -> tuple[str, str, Severity, float] | None:
    if people.difference is Difference.REPLACED:
        message = f"{added} not among the record's authors, and {missing} missing."
        if people.renamed or _versions(people, claim):
            return "author-replaced", message, Severity.WARNING, 0.6
        return "author-replaced", message, Severity.WARNING, 0.9
    if people.difference is Difference.UNRELATED:
        message = "None of the authors given is an author of the work."
        return "author-unrelated", message, Severity.ERROR, 0.9
    if people.misspelt:
        ours, theirs = people.misspelt[0]
        message = f"The record spells {ours.display} as {theirs.display}."
        return "author-spelling", message, Severity.INFO, 0.6
    if people.other_given:
        ours, theirs = people.other_given[0]
        message = f"The record has {theirs.display}, not {ours.display}."
        return "author-given", message, Severity.INFO, 0.6
    return None


def _versions(people: Comparison, claim: Claim) -> bool:
    """True for long lists that are mostly the same: another version of the paper has another."""
    return (
        people.known >= LONG
        and people.shared >= 0.75
        and len(people.missing) <= 0.3 * people.known
        and claim.authors[0] not in people.added
    )


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def check_placeholders(claim: Claim) -> list[FieldFinding]:
    """Authors that stand for nobody."""
    nobody = placeholder_names(claim.authors)
    if not nobody:
        return []
    verb = "stands for no person" if len(nobody) == 1 else "stand for no persons"
    return [
        finding(claim, "author-placeholder", "author", f"{listed(nobody)} {verb}.",
                Severity.ERROR, 0.9 if len(nobody) == len(claim.authors) else 0.75,
                given=names(claim.authors))
    ]  # fmt: skip
