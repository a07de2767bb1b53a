"""The check with scholarly sources, for references that the library alone cannot settle.

A source that did not answer leaves a reference unchecked, never "not found". No reference is
reported as wrong on the evidence of a single source: an index that serves a wrong title under a
correct DOI is more common than an invented reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from citewell.model import Problem, Work
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.identifiers import arxiv_id, dois_of, isbn13, literal_url, normalise_doi
from citewell.model.titles import title_key
from citewell.sources.combine import merge, same_works
from citewell.sources.contract import Answer, Failed, Matched, NoMatch, SourceQuery
from citewell.sources.registry import source_titles
from citewell.sources.service import SourceAnswers, failures
from citewell.verification.checker import FOREIGN, Checker, in_parts, judge
from citewell.verification.finding import SURE, finding
from citewell.verification.identify import ClaimCandidates, rank_by_title
from citewell.verification.likeness import TitleLike, title_likeness

# No reference is reported as wrong on the evidence of a single source.
#
# An index that serves a wrong title under a correct DOI is more common than an invented
# reference. The library's record is sufficient; of scholarly sources, two independent ones must
# agree, for every field.

_REGISTRIES = frozenset({"crossref", "datacite", "doi"})
"""doi.org answers with the data of Crossref and DataCite: they are one witness."""
_SELF_EVIDENT = frozenset(
    {
        "year-future", "arxiv-impossible", "doi-impossible", "doi-unregistered", "doi-unlikely",
        "author-placeholder", "retracted", "venue-lacks", "doi-other-work", "arxiv-other-work",
        "url-other-work", "assistant-trace",
    }
)  # fmt: skip
"""Codes that depend only on the reference, or with witnesses counted elsewhere."""
ALONE = 0.6
"""Confidence of evidence from one source alone: a note."""


def corroborated(
    check: Check, found: ClaimCandidates, library: ClaimCandidates, year_now: int
) -> Check:
    """The check with findings that rest on one source's record turned into notes. The library is
    sufficient; of the sources, two independent ones must agree."""
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
    if verdict is Verdict.VERIFIED and any(one.code in FOREIGN for one in findings):
        verdict = Verdict.UNCHECKED
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


def _held(check: Check, found: ClaimCandidates) -> bool:
    """True when the work of the check was identified, not only found under an identifier."""
    return check.work is not None and fits(check.claim, check.work)


def _by_witness(found: ClaimCandidates, library: ClaimCandidates) -> list[ClaimCandidates]:
    """The candidates of each independent source, without the library's own."""
    held = {id(work) for work in (*library.by_title, *library.by_doi, *library.by_arxiv)}
    witnesses = dict.fromkeys(
        witness(work)
        for work in (*found.by_doi, *found.by_arxiv, *found.by_title, *found.near)
        if id(work) not in held
    )

    def of(name: str, works: Sequence[Work]) -> tuple[Work, ...]:
        return tuple(work for work in works if id(work) not in held and witness(work) == name)

    return [
        ClaimCandidates(
            by_doi=of(name, found.by_doi),
            by_arxiv=of(name, found.by_arxiv),
            by_identifier=of(name, found.by_identifier),
            by_title=of(name, found.by_title),
            near=of(name, found.near),
        )
        for name in witnesses
    ]


def _codes_against(claim: Claim, found: ClaimCandidates, year_now: int) -> set[str]:
    """Codes of the significant findings if these were the only candidates."""
    return {
        one.code
        for one in judge(claim, found, year_now, online=True).findings
        if one.severity is not Severity.INFO
    }


def undecided(found: ClaimCandidates) -> Verdict:
    return Verdict.NOT_FOUND if found.answered else Verdict.UNCHECKED


def fits(claim: Claim, work: Work) -> bool:
    return not claim.title or title_likeness(claim.title, work.title) is not TitleLike.OTHER


def witness(work: Work) -> str:
    name = source_of(work)
    return "registry" if name in _REGISTRIES else name


def source_of(work: Work) -> str:
    return work.provenance[0].source if work.provenance else work.id


PART = 40
"""Number of references looked up together: few enough to show progress."""
_LIBRARY = "library"
_TELLING = frozenset({"title", "authors", "year", "retracted"})
"""Fields with reported contradictions; a preprint has its own DOI, pages and volume."""


class Asker(Protocol):
    """The allowed sources, as the engine provides them."""

    names: tuple[str, ...]

    def by_ids(
        self, wanted: Sequence[SourceQuery], cancel: Cancel | None = None
    ) -> list[SourceAnswers]: ...

    def notices(
        self, dois: Sequence[str], cancel: Cancel | None = None
    ) -> list[tuple[Answer, ...]]: ...

    def match(
        self,
        wanted: Sequence[SourceQuery],
        done: Callable[[int], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[SourceAnswers]: ...


class OnlineChecker:
    """Checks with the library first; then identifiers at the sources; then titles. Raises only
    `Cancelled`."""

    def __init__(self, checker: Checker, asker: Asker) -> None:
        self._checker = checker
        self._asker = asker

    def check(
        self,
        claims: Sequence[Claim],
        progress: Callable[[int], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Check]:
        """The verdicts in order; `progress(n)` reports n more."""
        return in_parts(claims, PART, lambda part: self._part(part, cancel), progress, cancel)

    def _part(self, part: Sequence[Claim], cancel: Cancel | None) -> list[Check]:
        checker = self._checker
        names = tuple(one.name for one in checker.records if one.name)
        year = checker.year
        read = checker.find(part)
        claims, known = [claim for claim, _ in read], [found for _, found in read]
        checks = [judge(c, k, year, names) for c, k in zip(claims, known, strict=True)]
        received = [SourceAnswers() for _ in claims]

        unsettled = [n for n, check in enumerate(checks) if not _settled(check) and _asks(check)]
        settled = [n for n, check in enumerate(checks) if _settled(check) and claims[n].doi]
        notices = self._asker.notices([claims[n].doi for n in settled], cancel) if settled else []
        for n, answers in zip(settled, notices, strict=True):
            checks[n] = with_notice(checks[n], answers)
        # Verified by the library, which lacks their identifiers: these may be dead, or another
        # work's.
        strange = [n for n in settled_ids(checks) if n not in unsettled]
        if strange:
            wanted = [_wanted(claims[n]) for n in strange]
            for n, answer in zip(strange, self._asker.by_ids(wanted, cancel), strict=True):
                checks[n] = judge_online(claims[n], known[n], answer, year, names)
        for question in (self._asker.by_ids, self._match):
            if not unsettled:
                break
            wanted = [_wanted(claims[n]) for n in unsettled]
            for n, answer in zip(unsettled, question(wanted, cancel), strict=True):
                received[n] = _both(received[n], answer)
                checks[n] = judge_online(claims[n], known[n], received[n], year, names)
            unsettled = [n for n in unsettled if not _settled(checks[n]) and claims[n].title]
        return checks

    def _match(
        self, wanted: Sequence[SourceQuery], cancel: Cancel | None = None
    ) -> list[SourceAnswers]:
        return self._asker.match(wanted, None, cancel)


def _settled(check: Check) -> bool:
    return check.verdict is Verdict.VERIFIED


def settled_ids(checks: Sequence[Check]) -> list[int]:
    """Indices of the verified references with an identifier that their record lacks."""
    return [
        n
        for n, check in enumerate(checks)
        if _settled(check) and check.work is not None and _has_strange_id(check.claim, check.work)
    ]


def _has_strange_id(claim: Claim, work: Work) -> bool:
    strange_doi = bool(claim.doi) and claim.doi not in dois_of(work) and not arxiv_id(claim.doi)
    return strange_doi or bool(claim.arxiv and work.arxiv and claim.arxiv != work.arxiv)


def _asks(check: Check) -> bool:
    claim = check.claim
    return bool(claim.title or claim.doi or claim.arxiv or claim.isbn)


def _wanted(claim: Claim) -> SourceQuery:
    families = tuple(author.family for author in claim.authors[:3])
    return SourceQuery(
        doi=claim.doi, arxiv=claim.arxiv, isbn=claim.isbn or isbn13(claim.raw),
        title=claim.title[:300], authors=families, year=claim.year,
    )  # fmt: skip


def _both(one: SourceAnswers, other: SourceAnswers) -> SourceAnswers:
    return SourceAnswers(
        doi=(*one.doi, *other.doi),
        arxiv=(*one.arxiv, *other.arxiv),
        isbn=(*one.isbn, *other.isbn),
        title=(*one.title, *other.title),
    )


def judge_online(
    claim: Claim,
    library: ClaimCandidates,
    answers: SourceAnswers,
    year_now: int,
    places: tuple[str, ...],
) -> Check:
    """The verdict on a claim, given the candidates of the library and the answers of the
    sources."""
    failed = failures(answers.all)
    silent = {one.source for one in failed}
    names = [answer.source for answer in answers.all if isinstance(answer, Matched | NoMatch)]
    answered = (*places, *dict.fromkeys(name for name in names if name not in silent))
    doi_works = _credible(claim, library.by_doi, _works(answers.doi), answers.title)
    arxiv_works = _credible(claim, library.by_arxiv, _works(answers.arxiv), answers.title)
    offered = [work for one in (answers.title, answers.isbn, answers.doi, answers.arxiv)
               for work in _works(one)]  # fmt: skip
    wanted = title_key(claim.title)
    same = [work for work in offered if wanted and title_key(work.title) == wanted]
    by_title = (*library.by_title, *_distinct(same))
    near: tuple[Work, ...] = ()
    if not by_title and claim.title:
        near = rank_by_title(claim.title, [*library.near, *_distinct(offered)])
    found = ClaimCandidates(
        by_doi=doi_works,
        by_arxiv=arxiv_works,
        by_identifier=library.by_identifier,
        by_title=by_title,
        near=near,
        answered=library.answered and not failed,
        problem=library.problem or _silence(failed),
        meeting=None if by_title else library.meeting,
    )
    titled = {answer.source for answer in answers.title if isinstance(answer, Matched | NoMatch)}
    looked = tuple(name for name in answered if name in places or not titled or name in titled)
    check = msgspec.structs.replace(
        judge(claim, found, year_now, looked, online=True), sources=answered
    )
    check = corroborated(check, found, library, year_now)
    check = _with_dead_doi(check, answers)
    return msgspec.structs.replace(check, evidence=(*check.evidence, *_disagreements(check, found)))


def _disagreements(check: Check, found: ClaimCandidates) -> list[str]:
    """The fields in which the records disagree, with the sources of each value."""
    if check.work is None:
        return []
    records = _distinct((check.work, *found.by_title, *found.by_doi, *found.by_arxiv))
    conflicts = merge(same_works(records)[0]).conflicts
    return [
        f"Sources disagree on the {name}: "
        + "; ".join(
            f"{value.text[:120]} ({', '.join(source_titles(value.sources))})" for value in values
        )
        + "."
        for name, values in conflicts.items()
        if name in _TELLING
    ]


def with_notice(check: Check, answers: Iterable[Answer]) -> Check:
    """A verified reference with the finding that its work was retracted, if a source says so."""
    works = [work for work in _works(answers) if work.retracted]
    same = [
        work
        for work in works
        if title_likeness(check.claim.title, work.title) is not TitleLike.OTHER
    ]
    if not same or any(one.code == "retracted" for one in check.findings):
        return check
    work = same[0]
    page = f"https://doi.org/{work.notice}" if work.notice.startswith("10.") else work.notice
    message = f"The work has been retracted or withdrawn, says {source_of(work)}"
    one = finding(
        check.claim, "retracted", "title", message + (f": see {page}." if page else "."),
        Severity.WARNING, 0.95, given=check.claim.title, url=page,
    )  # fmt: skip
    return msgspec.structs.replace(
        check,
        verdict=Verdict.WRONG_DETAIL,
        confidence=one.confidence,
        findings=(*check.findings, one),
        evidence=(*check.evidence, one.message),
        sources=tuple(dict.fromkeys((*check.sources, source_of(work)))),
    )


def address_of(claim: Claim) -> str:
    """The web address in a reference; empty for a DOI or arXiv address, which is looked up
    otherwise."""
    url = literal_url(claim.url) or literal_url(claim.raw)
    return "" if normalise_doi(url) or arxiv_id(url) else url


def with_address(check: Check, gone: Mapping[str, int]) -> Check:
    """The check with a note if the reference's address is among the dead ones."""
    url = address_of(check.claim)
    if url not in gone:
        return check
    one = finding(
        check.claim, "url-gone", "url",
        f"The address answers {gone[url]}: there is no such page any more.",
        Severity.INFO, 0.9, given=url, url=url,
    )  # fmt: skip
    return msgspec.structs.replace(
        check, findings=(*check.findings, one), evidence=(*check.evidence, one.message)
    )


def _works(answers: Iterable[Answer]) -> list[Work]:
    return [work for answer in answers if isinstance(answer, Matched) for work in answer.works]


def _distinct(works: Iterable[Work]) -> list[Work]:
    """The record of each source once."""
    return list({work.id: work for work in works}.values())


def _silence(failed: Sequence[Failed]) -> Problem | None:
    if not failed:
        return None
    messages = " ".join(dict.fromkeys(one.message for one in failed))
    return Problem(
        "source-unanswered",
        f"Not every source answered: {messages}",
        "Check again later; received answers are cached.",
    )


def _credible(
    claim: Claim, library: Sequence[Work], found: Sequence[Work], titles: Sequence[Answer]
) -> tuple[Work, ...]:
    """The works of an identifier that count as evidence: for the claim always, against it only if
    corroborated.

    A record with another title counts when the library or a second, independent source has the same
    title under the identifier, or when the registry has it and two sources searched for the claim's
    title found none.
    """
    agreeing = [work for work in found if fits(claim, work)]
    if agreeing or any(fits(claim, work) for work in library):
        return (*(work for work in library if fits(claim, work)), *agreeing)
    against = [work for work in found if not fits(claim, work)]
    unknown = {answer.source for answer in titles if isinstance(answer, NoMatch)}
    credible = list(library)
    for work in against:
        key = title_key(work.title)
        witnesses = {witness(other) for other in against if title_key(other.title) == key}
        witnesses |= {_LIBRARY for other in library if title_key(other.title) == key}
        if len(witnesses) > 1 or (witness(work) in ("registry", "arxiv") and len(unknown) > 1):
            credible.append(work)
    return tuple(credible)


def _with_dead_doi(check: Check, answers: SourceAnswers) -> Check:
    """The check with a finding for a DOI unknown to doi.org: proof only if a second source agrees.

    Only the status "does not exist" counts. A source knows nothing of another registry's DOIs: only
    doi.org starts this.
    """
    none = {answer.source for answer in answers.doi if isinstance(answer, NoMatch)}
    known = any(isinstance(answer, Matched) for answer in answers.doi)
    if "doi" not in none or known or any(one.field == "doi" for one in check.findings):
        return check
    agreed = len(none) > 1
    one: FieldFinding = finding(
        check.claim, "doi-unregistered", "doi",
        f"The DOI {check.claim.doi} is not registered, says doi.org"
        + (", and no other source knows it." if agreed else "."),
        Severity.WARNING, 0.9 if agreed else ALONE, given=check.claim.doi,
        expected=check.work.doi if check.work is not None else "",
    )  # fmt: skip
    verdict = check.verdict
    if one.confidence >= SURE:
        unknown = {answer.source for answer in answers.title if isinstance(answer, NoMatch)}
        alone = check.work is None
        if alone and len(unknown) > 1 and verdict in (Verdict.NOT_FOUND, Verdict.WRONG_DETAIL):
            # Two signals: the identifier is not registered, and no source knows the title.
            verdict = Verdict.FABRICATED
        elif verdict is not Verdict.FABRICATED:
            verdict = Verdict.WRONG_DETAIL
    return msgspec.structs.replace(
        check,
        verdict=verdict,
        confidence=max(one.confidence, 0.5),
        findings=(*check.findings, one),
        evidence=(*check.evidence, one.message),
    )
