"""How a finding is made, and how names and addresses are written in one."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.model import Author, Work
from citewell.model.check import Claim, FieldFinding, Severity

SURE = 0.7
"""A finding below this confidence is shown and changes no verdict."""


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
    """A finding on a field of the claim, at the place of its value."""
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
    """Names as a reader writes them."""
    return ", ".join(author.display for author in authors)


def listed(authors: Sequence[Author], most: int = 3) -> str:
    """Names in a sentence, the rest of a long list counted."""
    if not authors:
        return ""
    shown = [author.display for author in authors[:most]]
    if len(authors) > most:
        return ", ".join(shown) + f" and {len(authors) - most} more"
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]


def address(work: Work) -> str:
    """The page of a work, of its DOI or of its preprint; empty where none is known."""
    if work.url.startswith(("https://", "http://")):
        return work.url
    if work.doi:
        return f"https://doi.org/{work.doi}"
    return f"https://arxiv.org/abs/{work.arxiv}" if work.arxiv else ""
