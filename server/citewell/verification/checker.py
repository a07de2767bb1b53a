"""The check: claims in, verdicts out. Accuses on positive evidence only."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from citewell.model import Problem, Work
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.titles import title_key
from citewell.model.venues import venue_ids, work_venues
from citewell.model.work import without_abstract
from citewell.sources.combine import is_second_hand
from citewell.sources.registry import source_titles, titles_of_work
from citewell.verification import fields
from citewell.verification.finding import SURE, address, names
from citewell.verification.free_text import stands_alone, title_guesses, with_title
from citewell.verification.identify import ClaimCandidates, Match, Records, identify, names_author
from citewell.verification.likeness import TitleLike, telling_words, title_likeness
from citewell.verification.people import Difference
from citewell.verification.people_check import check_placeholders
from citewell.verification.proceedings import Meeting, Proceedings, meeting_of, retitled
from citewell.verification.version_check import PLACEHOLDER

BATCH = 256
"""Claims looked up together: few enough to show progress and to stop soon."""
FOREIGN = frozenset({"author-added", "author-replaced", "author-unrelated", "author-unread"})
"""Codes for names that no record has: the reference is not verified even if the record may be
wrong."""
_OF_HEARSAY = frozenset({"title-differs", "author-missing", "author-order"})
"""Codes that leave a reference undecided if its record comes from reference lists alone."""
_IMPOSSIBLE = frozenset({"year-future", "arxiv-impossible", "author-placeholder"})


def in_parts(
    claims: Sequence[Claim],
    size: int,
    judged: Callable[[Sequence[Claim]], Iterable[Check]],
    progress: Callable[[int], None] | None,
    cancel: Cancel | None,
) -> list[Check]:
    """Check claims in parts of `size`, in order; `progress(n)` reports n more. Raises `Cancelled`
    between two parts."""
    checks: list[Check] = []
    for start in range(0, len(claims), size):
        if cancel is not None:
            cancel.check()
        part = claims[start : start + size]
        checks += judged(part)
        if progress is not None:
            progress(len(part))
    return checks


class Checker:
    """Checks references against one or more providers of records.

    All providers are queried for all claims and their answers are combined. If one does not answer,
    a reference that the others lack is `unchecked`, never `not-found`.
    """

    def __init__(self, records: Sequence[Records], *, today: datetime.date | None = None) -> None:
        self.records = tuple(records)
        self.year = (today or datetime.datetime.now(datetime.UTC).date()).year

    def check(
        self,
        claims: Sequence[Claim],
        progress: Callable[[int], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Check]:
        """The verdicts in order; `progress(n)` reports n more. Raises only `Cancelled`."""
        return in_parts(claims, BATCH, self._part, progress, cancel)

    def _part(self, part: Sequence[Claim]) -> Iterator[Check]:
        sources = tuple(records.name for records in self.records)
        for claim, candidates in self.find(part):
            yield judge(claim, candidates, self.year, sources)

    def find(self, part: Sequence[Claim]) -> list[tuple[Claim, ClaimCandidates]]:
        """The claims with their candidates; free text may be parsed again in view of these."""
        claims = list(part)
        answers = [records.candidates(claims) for records in self.records]
        found = [_together([answer[n] for answer in answers]) for n in range(len(claims))]
        self._reread(claims, found)
        open_ones = [n for n, claim in enumerate(claims) if _wants_near(claim, found[n])]
        for records in self.records if open_ones else ():
            for n, near in zip(
                open_ones, records.near([claims[n] for n in open_ones]), strict=True
            ):
                found[n] = msgspec.structs.replace(found[n], near=(*found[n].near, *near))
                claims[n], found[n] = with_title_inside(claims[n], found[n], found[n].near)
        self._find_subtitles(claims, found)
        for n in open_ones:
            meeting = self._meeting(claims[n])
            near = found[n].near
            if meeting is not None:
                near = (*near, *(work for work in retitled(claims[n], meeting) if work not in near))
            found[n] = msgspec.structs.replace(found[n], meeting=meeting, near=near)
        return list(zip(claims, found, strict=True))

    def _find_subtitles(self, claims: Sequence[Claim], found: list[ClaimCandidates]) -> None:
        """Add the works with the subtitle that a printed reference has after another title."""
        tails = [
            (n, Claim(title=tail))
            for n, claim in enumerate(claims)
            if (tail := next(filter(None, (fields.added_subtitle(claim, work.title)
                                           for work in found[n].by_title)), ""))
        ]  # fmt: skip
        for records in self.records if tails else ():
            for (n, _), near in zip(tails, records.near([tail for _, tail in tails]), strict=True):
                found[n] = msgspec.structs.replace(found[n], near=(*found[n].near, *near))

    def _reread(self, claims: list[Claim], found: list[ClaimCandidates]) -> None:
        """Parse free text again if another part of it is the title of a known work."""
        for n, claim in enumerate(claims):
            if claim.raw and not found[n].by_title:
                for work in (*found[n].by_doi, *found[n].by_arxiv):
                    claims[n], found[n] = with_title_inside(claims[n], found[n], (work,))
        unsettled = [n for n, claim in enumerate(claims) if claim.raw and not found[n].by_title]
        guesses = [(n, guess) for n in unsettled for guess in title_guesses(claims[n].raw)]
        tries = [Claim(title=guess) for _, guess in guesses]
        for records in self.records if tries else ():
            answers = records.candidates(tries)
            for (n, guess), answer in zip(guesses, answers, strict=True):
                raw = claims[n].raw
                alone = bool(answer.by_title) and stands_alone(guess, raw)
                works = tuple(w for w in answer.by_title if alone or names_author(raw, w))
                if works and not found[n].by_title:
                    claims[n] = with_title(claims[n], guess)
                    found[n] = msgspec.structs.replace(found[n], by_title=works)

    def _meeting(self, claim: Claim) -> Meeting | None:
        """The meeting that the claim names, from the provider with most of its papers."""
        named = meeting_of(claim)
        if named is None:
            return None
        known = [one for one in self.records if isinstance(one, Proceedings)]
        held = [one.meeting(*named, claim.authors) for one in known]
        return max(held, key=lambda one: one.papers, default=None)


def _together(answers: Sequence[ClaimCandidates]) -> ClaimCandidates:
    return ClaimCandidates(
        by_doi=tuple(work for answer in answers for work in answer.by_doi),
        by_arxiv=tuple(work for answer in answers for work in answer.by_arxiv),
        by_identifier=tuple(work for answer in answers for work in answer.by_identifier),
        by_title=tuple(work for answer in answers for work in answer.by_title),
        answered=bool(answers) and all(answer.answered for answer in answers),
        problem=next((answer.problem for answer in answers if answer.problem), None),
    )


def with_title_inside(
    claim: Claim, found: ClaimCandidates, works: Sequence[Work]
) -> tuple[Claim, ClaimCandidates]:
    """Free text with the whole title of one of the works, if another part was parsed as its
    title."""
    if not claim.raw or found.by_title:
        return claim, found
    text = title_key(claim.raw)
    for work in works:
        key = title_key(work.title)
        by_id = work in found.by_doi or work in found.by_arxiv
        if (
            len(key) >= 16
            and key in text
            and (by_id or names_author(claim.raw, work) or stands_alone(work.title, claim.raw))
        ):
            return with_title(claim, work.title), msgspec.structs.replace(found, by_title=(work,))
    return claim, found


def _wants_near(claim: Claim, found: ClaimCandidates) -> bool:
    if found.by_title or not claim.title:
        return False
    by_id = (*found.by_doi, *found.by_arxiv)
    return not any(title_likeness(claim.title, work.title) is not TitleLike.OTHER for work in by_id)


def judge(
    claim: Claim,
    found: ClaimCandidates,
    year_now: int,
    sources: tuple[str, ...] = (),
    *,
    online: bool = False,
) -> Check:
    """The verdict on one claim, given its candidates.

    `online`: scholarly sources were queried, so that an unknown title with the identifier of
    another work is proof; a library alone may lack the work.
    """
    if not (claim.title or claim.doi or claim.arxiv):
        why = "The reference has neither a title nor an identifier."
        return Check(claim=claim, verdict=Verdict.UNCHECKED, evidence=(why,))
    match = identify(claim, found)
    if match is not None and _namesake(claim, match):
        match = None
        found = msgspec.structs.replace(found, by_title=())
    if match is None:
        return _unknown(claim, found, year_now, sources, online=online)
    findings = fields.compare(claim, match, found, year_now) + check_placeholders(claim)
    verdict, sure = _verdict(match, findings)
    return Check(
        claim=claim,
        verdict=verdict,
        confidence=sure,
        findings=tuple(findings),
        work=without_abstract(match.work),
        evidence=(
            *(
                ("The record is not evidence enough to judge the reference by.",)
                if verdict is Verdict.UNCHECKED
                else ()
            ),
            _match_message(match),
            *(one.message for one in findings if one.confidence >= SURE),
        ),
        sources=sources,
    )


def _verdict(match: Match, findings: Sequence[FieldFinding]) -> tuple[Verdict, float]:
    counted = [
        one for one in findings if one.severity is not Severity.INFO and one.confidence >= SURE
    ]
    hearsay = is_second_hand(match.work) and match.by in ("title", "near")
    unsettled = FOREIGN | _OF_HEARSAY if hearsay else FOREIGN
    if not counted and any(one.code in unsettled for one in findings):
        return Verdict.UNCHECKED, 0.5
    if not counted:
        return Verdict.VERIFIED, 0.95 if match.people.difference is Difference.SAME else 0.8
    sure = max(one.confidence for one in counted)
    if any(one.code == "author-unrelated" for one in counted):
        return Verdict.FABRICATED, sure
    return Verdict.WRONG_DETAIL, sure


def _namesake(claim: Claim, match: Match) -> bool:
    """True when the record is probably another work with the same short title. Two papers called
    "Deep Learning" are no evidence against each other."""
    difference = match.people.difference
    if claim.doi and claim.doi in (work.doi for work in match.works):
        return False
    words = telling_words(claim.title)
    years = [work.year for work in match.works if work.year]
    year = bool(claim.year and years) and min(abs(claim.year - y) for y in years) <= 1  # type: ignore[operator]
    venue = any(venue_ids(claim.venue) & work_venues(work) for work in match.works)
    book = any(kind in claim.kind for kind in ("thesis", "book", "report"))
    if difference is Difference.MISSING and len(claim.authors) == 1 and _is_thesis(claim):
        return all("thesis" not in work.kind for work in match.works)  # its author's own paper
    if difference is not Difference.UNRELATED:
        # A book, a tutorial and a survey by the same people may share the title.
        other_people = difference in (Difference.REPLACED, Difference.MISSING, Difference.ADDED)
        paper = all("book" not in work.kind for work in match.works)
        return other_people and words <= 4 and not year and not venue and paper
    if match.title is not TitleLike.SAME or match.by != "title":
        return True
    doubted = len(claim.authors) < 2 and (claim.unread or not claim.authors[0].given)
    if book or (claim.raw and doubted):
        return True  # a thesis and a paper, a book and its review
    return not (
        words >= 6
        or (words >= 4 and (year or venue))
        or (words == 3 and year and venue)
        or (words == 2 and year and venue and len(claim.authors) > 2)
    )


_THESIS = re.compile(r"thesis|dissertation|diplomarbeit", re.IGNORECASE)


def _is_thesis(claim: Claim) -> bool:
    return _THESIS.search(f"{claim.kind} {claim.venue} {claim.raw}") is not None


def _unknown(
    claim: Claim, found: ClaimCandidates, year_now: int, sources: tuple[str, ...], *, online: bool
) -> Check:
    """The check of a claim without a matching record: only its own contradictions count against
    it."""
    findings = fields.check_alone(claim, found, year_now)
    counted = [one for one in findings if one.confidence >= SURE]
    codes = {one.code for one in counted}
    absent = (
        f"No record with this title was found in: {', '.join(source_titles(sources)) or 'nothing'}."
    )
    if not found.answered:
        problem: Problem | None = found.problem
        absent = problem.message if problem else "Not every queried source answered."
    verdict, sure = Verdict.NOT_FOUND if found.answered else Verdict.UNCHECKED, 0.5
    if counted:
        sure = max(one.confidence for one in counted)
        unknown = claim.year is not None and claim.year >= PLACEHOLDER
        proven = codes & (_IMPOSSIBLE - {"year-future"} if unknown else _IMPOSSIBLE)
        # A wrong DOI is a slip as often as a fabrication if the title may exist elsewhere.
        slips = ("assistant-",) if online else ("doi-", "url-", "assistant-")
        telling = {code for code in codes if not code.startswith(slips)}
        proven = proven or telling & {"doi-other-work", "arxiv-other-work"}
        if "venue-lacks" in codes:
            proven = proven or codes & {"doi-other-work", "url-other-work"}
        verdict = Verdict.FABRICATED if proven or len(telling) > 1 else Verdict.WRONG_DETAIL
        if codes - {"assistant-trace"} == {"venue-lacks"}:
            verdict = Verdict.NOT_IN_VENUE
    work = next(iter((*found.by_doi, *found.by_arxiv)), None)
    return Check(
        claim=claim,
        verdict=verdict,
        confidence=sure,
        findings=tuple(findings),
        work=without_abstract(work) if work is not None else None,
        evidence=(absent, *_similar(found), *(one.message for one in counted)),
        sources=sources if found.answered else (),
    )


def _similar(found: ClaimCandidates) -> tuple[str, ...]:
    if not found.near:
        return ()
    work = found.near[0]
    return (f"The most similar title is “{work.title}” ({names(work.authors[:3])}).",)


def _match_message(match: Match) -> str:
    work = match.work
    origin = titles_of_work(work)[0] if work.provenance else work.id
    means = {"title": "The title belongs to", "doi": "The DOI belongs to",
             "arxiv": "The arXiv identifier belongs to",
             "near": "Authors and most of the title match"}[match.by]  # fmt: skip
    year = f", {work.year}" if work.year else ""
    page = address(work)
    return f"{means} “{work.title}”{year} ({origin}{', ' + page if page else ''})."
