"""Comparison of an identified reference with the records of its work, field by field."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.identifiers import arxiv_ids, dois_of
from citewell.model.titles import fold, normalise_title, title_key
from citewell.model.venues import venue_ids, work_venues
from citewell.sources.combine import is_second_hand
from citewell.sources.registry import source_titles
from citewell.verification.finding import address, finding
from citewell.verification.id_check import check_arxiv, check_doi, check_doi_alone, check_further
from citewell.verification.identify import ClaimCandidates, Match
from citewell.verification.likeness import TitleLike, means_preprint, same_english
from citewell.verification.people import Difference
from citewell.verification.people_check import check_people, check_placeholders, sources_of
from citewell.verification.proceedings import check_meeting
from citewell.verification.version_check import BOOKS, check_venue, check_year, named_version

_NUMBER = re.compile(r"\d+")
_PAPERS = frozenset({"article", "inproceedings"})


def compare(
    claim: Claim, match: Match, found: ClaimCandidates, year_now: int
) -> list[FieldFinding]:
    """Every finding on a reference whose work is known, in the order of a reference's fields."""
    venue = check_venue(claim, match)
    people = check_people(claim, match)
    added = match.people.difference is Difference.ADDED
    if venue and people and (added or venue[0].confidence < 0.7):
        # Other people and another venue: probably another version of the work, unknown here.
        people = [_doubted(one) for one in people if one.code != "author-unrelated"] or people
        venue = [_doubted(one) for one in venue]
    findings = [
        *check_title(claim, match, found.near),
        *people,
        *check_year(claim, match.works, year_now, venue),
        *venue,
        *check_doi(claim, match, found),
        *check_arxiv(claim, match.works, found, year_now),
        *check_further(claim, match.works, found),
        *_check_pages(claim, match.works),
        *_check_kind(claim, match.work),
        *_check_trace(claim),
    ]
    if is_second_hand(match.work):
        findings = [_by_hearsay(one, claim, match) for one in findings]
    elif named_version(claim, match.works) and not _on_arxiv_alone(match.works):
        findings = _together(findings, match)
    if any(work.retracted for work in match.works):
        findings.append(_retracted(claim, match.works))
    page = address(match.work)
    findings = [_with_sources(one, match.works) for one in findings]
    return [one if one.url else msgspec.structs.replace(one, url=page) for one in findings]


_OF_ITSELF = frozenset(
    {"year-future", "doi-other-work", "doi-impossible", "doi-unlikely", "doi-malformed",
     "arxiv-other-work", "arxiv-impossible", "url-other-work", "assistant-trace"}
)  # fmt: skip
"""Codes that depend only on the reference, or on the owner of an identifier."""


def _by_hearsay(one: FieldFinding, claim: Claim, match: Match) -> FieldFinding:
    """The finding as far as reference lists of other papers support it: authors copy errors.

    The reference's own identifier, if it is the record's, is the second witness, except for the
    authors of a work with a truncated list.
    """
    edition = one.code == "doi-differs" and (claim.kind in BOOKS or match.work.kind == "book")
    if edition or one.code == "year-differs":
        return _doubted(one)
    own = claim.doi in dois_of(match.work) or claim.arxiv in arxiv_ids(match.work)
    if one.code in _OF_ITSELF:
        return one
    cut = one.field == "author" and match.record.others
    return one if own and not cut else _doubted(one)


_SMALL = frozenset(
    {"author-added", "author-given", "author-order", "year-differs", "pages-differ",
     "volume-differs", "doi-differs", "title-spelling"}
)  # fmt: skip
"""Differences that are a slip of the record as often as of the reference, each taken alone."""


def _together(findings: Sequence[FieldFinding], match: Match) -> list[FieldFinding]:
    """The findings, with small differences in two fields of one version counted as one finding."""
    pairs = (*match.people.other_given, *match.people.misspelt)
    other_given = any(fold(given.family) == fold(known.family) for given, known in pairs)
    codes = _SMALL | {"author-spelling"} if other_given else _SMALL
    if match.people.renamed:
        codes |= {"author-replaced"}  # one name, partly the record's
    small = {_PLACES.get(one.field, one.field) for one in findings if one.code in codes}
    if any(one.code == "author-order" for one in findings):
        small -= {"pages"}  # an index may have the order and pages of another version
    if len(small) < 2:
        return list(findings)
    return [
        msgspec.structs.replace(
            one, severity=Severity.WARNING, confidence=max(one.confidence, TOGETHER)
        )
        if one.code in codes
        else one
        for one in findings
    ]


_PLACES = {"volume": "pages"}
"""Fields that count as one difference."""
TOGETHER = 0.72
"""Confidence of two small differences."""


_OF_RECORDS = {"title": "title", "author": "authors", "year": "year", "venue": "venue"}
"""From the prefix of a code to the field of the disagreeing records."""


def _with_sources(one: FieldFinding, works: Sequence[Work]) -> FieldFinding:
    """The finding with the names of the disagreeing sources, if it has none."""
    field = _OF_RECORDS.get(one.code.partition("-")[0])
    if field is None or not one.expected:
        return one
    says = [work for work in works if getattr(work, field) or (field == "venue" and work.booktitle)]
    names = source_titles(sources_of(says))
    if not names or f"({names[0]}" in one.message:
        return one
    noun = "Source" if len(names) == 1 else "Sources"
    message = f"{one.message} {noun}: {', '.join(names)}."
    return msgspec.structs.replace(one, message=message)


def _retracted(claim: Claim, works: Sequence[Work]) -> FieldFinding:
    notice = next((work.notice for work in works if work.retracted and work.notice), "")
    page = f"https://doi.org/{notice}" if notice.startswith("10.") else notice
    message = "The work has been retracted or withdrawn" + (f": see {page}." if page else ".")
    return finding(
        claim, "retracted", "title", message, Severity.WARNING, 0.95, given=claim.title, url=page
    )


def _doubted(one: FieldFinding) -> FieldFinding:
    return msgspec.structs.replace(one, severity=Severity.INFO, confidence=min(0.6, one.confidence))


def check_title(claim: Claim, match: Match, near: Sequence[Work] = ()) -> list[FieldFinding]:
    """Findings on the title; case, punctuation, accents and markup are ignored."""
    expected = match.work.title
    given = claim.title
    if added := added_subtitle(claim, expected):
        given = f"{given.partition(':')[0]}: {added}"
    if (match.title is TitleLike.SAME and not added) or not claim.title:
        return []
    if (joined := _joined(claim, match, near)) is not None:
        code, severity, sure = "title-differs", Severity.WARNING, 0.85
        words = f"The work is titled “{expected}”; the subtitle is that of “{joined.title}”."
    elif match.title is TitleLike.SUBTITLE or added:
        code, words, severity, sure = (
            "title-subtitle", "The record's title has another subtitle.", Severity.INFO, 0.6
        )  # fmt: skip
    elif match.title is TitleLike.SPELLING:
        sure = 0.75 if match.people.difference in (Difference.SAME, Difference.CUT) else 0.6
        early = not claim.venue and (claim.year or 0) < min(w.year or 0 for w in match.works)
        preprint = means_preprint(claim) or _on_arxiv_alone(match.works) or early
        if preprint or same_english(claim.title, expected):
            sure = 0.6
        code, words = "title-spelling", f"The record spells the title “{expected}”."
        severity = Severity.WARNING
    elif match.title is TitleLike.OTHER and _is_piece(claim, match.work):
        return []  # truncated, or lost with its markup
    else:
        code, words, severity, sure = (
            "title-differs", f"The work is titled “{expected}”.", Severity.WARNING, 0.85
        )  # fmt: skip
        if means_preprint(claim) and (
            match.title is TitleLike.WORDS
            or _same_preprint(claim, match)
            or title_key(claim.title)[:_SAME_START] == title_key(expected)[:_SAME_START]
        ):
            sure = 0.6  # the preprint may have had this title
        if _on_arxiv_alone(match.works):
            sure = 0.6
    return [finding(claim, code, "title", words, severity, sure, given=given, expected=expected)]


_LEAST_TAIL = 4
"""Minimum number of words of a subtitle that two works do not share by chance."""


_TITLE_END = re.compile(r"[.“”\"]|,[”’\"']|, (?:in:?|In:?) ")


def added_subtitle(claim: Claim, known: str) -> str:
    """Return the words that a printed reference has after the known title and a colon, if any."""
    head, colon, tail = claim.title.partition(":")
    if not colon:
        head = claim.title
        behind = claim.raw.partition(claim.title)[2]
        tail = _TITLE_END.split(behind[1:], maxsplit=1)[0] if behind.startswith(":") else ""
    longer = len(tail.split()) >= _LEAST_TAIL and title_key(head) == title_key(known)
    return tail.strip(" ,") if claim.raw and longer else ""


def _joined(claim: Claim, match: Match, near: Sequence[Work]) -> Work | None:
    """Return the other work whose subtitle follows this work's title, if there is one."""
    added = added_subtitle(claim, match.work.title)
    tail = normalise_title(added or claim.title.partition(":")[2])
    own = {title_key(work.title) for work in match.works}
    if len(tail.split()) < _LEAST_TAIL or any(title_key(tail) in key for key in own):
        return None
    ending = [work for work in near if normalise_title(work.title).endswith(tail)]
    return next((work for work in ending if title_key(work.title) not in own), None)


_SAME_START = 30
"""Letters at the start of two titles of one preprint if one of them has an abbreviation."""


def _is_piece(claim: Claim, work: Work) -> bool:
    """True for a partly read title, or for a text with the work's title elsewhere in it."""
    given, known = title_key(claim.title), title_key(work.title)
    return len(claim.title.split()) < 3 or (
        bool(claim.raw) and (given in known or known in title_key(claim.raw))
    )


def _same_preprint(claim: Claim, match: Match) -> bool:
    """True when the arXiv identifier and all authors match the work."""
    same = match.people.difference is Difference.SAME and not claim.others
    return same and match.by == "arxiv"


_ICLR_PROCEEDINGS = 2017
"""The first year with proceedings: before, ICLR papers appeared only on arXiv, and indexes have the
title of any version."""


def _on_arxiv_alone(works: Sequence[Work]) -> bool:
    return any(
        (work.year or _ICLR_PROCEEDINGS) < _ICLR_PROCEEDINGS and "iclr" in work_venues(work)
        for work in works
    )


def check_alone(claim: Claim, found: ClaimCandidates, year_now: int) -> list[FieldFinding]:
    """Findings against a reference of an unknown work: its own contradictions."""
    return [
        *check_placeholders(claim),
        *check_year(claim, (), year_now),
        *check_arxiv(claim, (), found, year_now),
        *check_doi_alone(claim, found),
        *check_further(claim, (), found),
        *_check_trace(claim),
        *check_meeting(claim, found.meeting, found.near),
    ]


def _check_trace(claim: Claim) -> list[FieldFinding]:
    """A finding for a trace of a chat assistant: the reference was copied from one, and may be
    fabricated."""
    if not claim.trace:
        return []
    mark = claim.trace if claim.trace.isprintable() else f"U+{ord(claim.trace[0]):04X}"
    message = f"“{mark}” is a mark of a chat assistant: check every field."
    return [
        finding(claim, "assistant-trace", claim.trace_field, message, Severity.WARNING, 0.9,
                given=mark)
    ]  # fmt: skip


def _check_pages(claim: Claim, works: Sequence[Work]) -> list[FieldFinding]:
    """Findings on first page and volume, if the venue matches the record's."""
    ids = venue_ids(claim.venue)
    same = [work for work in works if ids & work_venues(work)]
    findings = []
    for field, given in (("pages", claim.pages), ("volume", claim.volume)):
        known = [value for work in same if (value := getattr(work, field))]
        ours = _NUMBER.search(given)
        firsts = {found.group() for value in known if (found := _NUMBER.search(value))}
        if ours is not None and firsts and ours.group() not in firsts:
            findings.append(
                finding(claim, f"{field}-differs" if field == "volume" else "pages-differ", field,
                         f"The record has {known[0]}.", Severity.INFO, 0.6, given=given,
                         expected=known[0])
            )  # fmt: skip
    return findings


def _check_kind(claim: Claim, work: Work) -> list[FieldFinding]:
    """A finding on an article that is a conference paper, or the reverse, if the venue matches."""
    if not {claim.kind, work.kind} <= _PAPERS or claim.kind == work.kind:
        return []
    if not venue_ids(claim.venue) & work_venues(work):
        return []
    message = f"The record is of type @{work.kind}, not @{claim.kind}."
    return [
        finding(claim, "type-differs", "type", message, Severity.INFO, 0.5, given=claim.kind,
                expected=work.kind)
    ]  # fmt: skip
