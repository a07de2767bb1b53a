"""No reference is reported as wrong on the evidence of a single source.

An index that serves a wrong title under a correct DOI is more common than an invented reference.
The library's record is sufficient; of scholarly sources, two independent ones must agree, for every
field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from citewell.model import Work
from citewell.model.check import Check, Claim, Severity, Verdict
from citewell.verification.checker import judge
from citewell.verification.likeness import TitleLike, title_likeness
from citewell.verification.records import Candidates

_REGISTRIES = frozenset({"crossref", "datacite", "doi"})
"""doi.org answers with what Crossref and DataCite registered: they are one witness."""
_SELF_EVIDENT = frozenset(
    {
        "year-future", "arxiv-impossible", "doi-impossible", "doi-unregistered", "doi-unlikely",
        "author-placeholder", "retracted", "venue-lacks", "doi-other-work", "arxiv-other-work",
    }
)  # fmt: skip
"""Codes that rest on the reference itself, or whose witnesses are counted elsewhere."""
ALONE = 0.6
"""Confidence of what one source alone says against a reference: a note."""


def corroborated(check: Check, found: Candidates, library: Candidates, year_now: int) -> Check:
    """What rests on the record of one source alone becomes a note, whatever the field.

    The library is a judge; of the sources two independent ones must say the same.
    """
    doubted = {
        one.code
        for one in check.findings
        if one.severity is not Severity.INFO and one.code not in _SELF_EVIDENT
    }
    if not doubted:
        return check
    counted = Counter(
        code
        for works in _by_witness(found, library)
        for code in doubted & _codes_against(check.claim, works, year_now)
    )
    alone = {code for code in doubted if counted[code] < 2} - _codes_against(
        check.claim, library, year_now
    )
    if not alone:
        return check
    findings = tuple(
        msgspec.structs.replace(one, severity=Severity.INFO, confidence=min(one.confidence, ALONE))
        if one.code in alone
        else one
        for one in check.findings
    )
    still = [one for one in findings if one.severity is not Severity.INFO]
    verdict = check.verdict if still else Verdict.VERIFIED
    if not still and (check.verdict is Verdict.FABRICATED or not _held(check, found)):
        verdict = undecided(found)
    elif check.verdict is Verdict.FABRICATED and "author-unrelated" in alone:
        verdict = Verdict.WRONG_DETAIL if still else undecided(found)
    only = f"Only {source_of(check.work) if check.work else 'one source'} has such a record, "
    return msgspec.structs.replace(
        check,
        verdict=verdict,
        confidence=max((one.confidence for one in still), default=ALONE),
        findings=findings,
        evidence=(*check.evidence, only + "which is not enough evidence."),
    )


def _held(check: Check, found: Candidates) -> bool:
    """True when the work of the check was identified, not only met under an identifier."""
    return check.work is not None and fits(check.claim, check.work)


def _by_witness(found: Candidates, library: Candidates) -> list[Candidates]:
    """What each independent source has, by itself; the library's own left out."""
    held = {id(work) for work in (*library.by_title, *library.by_doi, *library.by_arxiv)}
    witnesses = dict.fromkeys(
        witness(work)
        for work in (*found.by_doi, *found.by_arxiv, *found.by_title, *found.near)
        if id(work) not in held
    )

    def of(name: str, works: Sequence[Work]) -> tuple[Work, ...]:
        return tuple(work for work in works if id(work) not in held and witness(work) == name)

    return [
        Candidates(
            by_doi=of(name, found.by_doi),
            by_arxiv=of(name, found.by_arxiv),
            by_title=of(name, found.by_title),
            near=of(name, found.near),
        )
        for name in witnesses
    ]


def _codes_against(claim: Claim, found: Candidates, year_now: int) -> set[str]:
    """Codes of the findings that count, were this all that is known."""
    return {
        one.code
        for one in judge(claim, found, year_now, online=True).findings
        if one.severity is not Severity.INFO
    }


def undecided(found: Candidates) -> Verdict:
    return Verdict.NOT_FOUND if found.answered else Verdict.UNCHECKED


def fits(claim: Claim, work: Work) -> bool:
    return not claim.title or title_likeness(claim.title, work.title) is not TitleLike.OTHER


def witness(work: Work) -> str:
    name = source_of(work)
    return "registry" if name in _REGISTRIES else name


def source_of(work: Work) -> str:
    return work.provenance[0].source if work.provenance else work.id
