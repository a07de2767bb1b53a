"""Construction of a finding, and the wording of names and addresses in it."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.model import Author, Work
from citewell.model.check import Claim, FieldFinding, Severity

SURE = 0.7
"""A finding below this confidence is shown without changing the verdict."""


def finding(  # noqa: PLR0917 - called in one shape only
    claim: Claim,
    code: str,
    field: str,
    message: str,
    severity: Severity,
    confidence: float,
    *,
    given: str = "",
    expected: str = "",
    url: str = "",
) -> FieldFinding:
    """A finding on a field of the claim, at the range of its value."""
    return FieldFinding(
        code=code,
        field=field,
        message=message,
        severity=severity if confidence >= SURE else Severity.INFO,
        given=given,
        expected=expected,
        confidence=confidence,
        url=url,
        span=claim.spans.get(field),
    )


def names(authors: Sequence[Author]) -> str:
    """Names in the usual display form."""
    return ", ".join(author.display for author in authors)


def listed(authors: Sequence[Author], most: int = 3) -> str:
    """Names in a sentence; the rest of a long list is counted."""
    if not authors:
        return ""
    shown = [author.display for author in authors[:most]]
    if len(authors) > most:
        return ", ".join(shown) + f" and {len(authors) - most} more"
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]


def address(work: Work) -> str:
    """The page of a work, of its DOI or of its preprint; empty if none is known."""
    if work.url.startswith(("https://", "http://")):
        return work.url
    if work.doi:
        return f"https://doi.org/{work.doi}"
    return f"https://arxiv.org/abs/{work.arxiv}" if work.arxiv else ""


# The meaning of each finding in one sentence: for reports, hovers and the manual.

# ruff: noqa: E501 - one line each

MEANINGS = {
    "title-differs": "The title has words that differ from the record's.",
    "title-spelling": "The title is spelled differently; a note if only British versus American.",
    "title-subtitle": "One of the titles has a subtitle, or an article, that the other lacks (note).",
    "author-missing": "Authors are missing without “and others”.",
    "author-added": "A name is not among the record's authors; a note when it is one of several.",
    "author-replaced": "Some names match, others are not in the record.",
    "author-order": "The authors are in a different order, or “and others” follows names "
    "without the first author; a note unless the first author differs or two "
    "independent records agree.",
    "author-unrelated": "None of the names is an author of the work.",
    "author-placeholder": "A name is a placeholder: “John Doe”, “Firstname Lastname”.",
    "author-anonymous": "“Anonymous”, although the authors are known.",
    "author-cut": "A long list stops without “and others” (note).",
    "author-unread": "The words in the place of the authors could not be read as names (note).",
    "author-spelling": "A name is spelled differently (note).",
    "author-given": "Given names differ while the surnames are right; a note when it is only one.",
    "author-swapped": "Given and family names are swapped; a note when it is only one.",
    "year-differs": "The year is off by more than one; a note if it is off by one from that of a "
    "named meeting.",
    "year-future": "The year is in the future.",
    "venue-differs": "The work appeared in another venue.",
    "venue-unknown": "No record of the work names such a venue.",
    "venue-lacks": "The library has the complete proceedings, and this paper is not in them; a "
    "note if it may be a workshop paper.",
    "preprint-published": "The preprint is cited although the paper has been published (note).",
    "doi-other-work": "The DOI belongs to another work.",
    "doi-differs": "The record has another DOI of the same publisher.",
    "doi-impossible": "The DOI is impossible.",
    "doi-other-venue": "The form of the DOI indicates another venue.",
    "doi-other-year": "The form of the DOI indicates another year.",
    "doi-unlikely": "The DOI prefix belongs to neither the work's publisher nor a known "
    "archive, or looks invented.",
    "doi-unregistered": "doi.org does not know the DOI (--online); a note until a second "
    "source agrees.",
    "doi-malformed": "The doi field does not contain a DOI (note).",
    "arxiv-other-work": "The arXiv identifier belongs to another work.",
    "arxiv-impossible": "The arXiv identifier is impossible.",
    "arxiv-later": "The arXiv identifier was assigned years after the work appeared.",
    "url-gone": "The page of the address does not exist any more (note).",
    "url-other-work": "The address belongs to another work.",
    "pages-differ": "The first page differs (note).",
    "volume-differs": "The volume differs (note).",
    "type-differs": "A conference paper is entered as a journal article, or vice versa (note).",
    "assistant-trace": "A mark of a chat assistant, such as utm_source=chatgpt.com.",
    "retracted": "The work has been retracted or withdrawn.",
}
"""By code, in the order of the manual (docs/diagnostics.md)."""
