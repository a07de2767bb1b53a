"""The claims of a reference, and the result of checking them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from citewell.model.document import Span
from citewell.model.identifiers import Identifier
from citewell.model.work import Author, Work


class Verdict(StrEnum):
    """The outcome of a check, from good to bad, then the two that are inconclusive."""

    VERIFIED = "verified"
    """A record agrees with everything that the reference states and the record has."""
    WRONG_DETAIL = "wrong-detail"
    """The work exists; a detail of the reference is wrong."""
    FABRICATED = "fabricated"
    """Evidence contradicts the reference; never the mere absence of a record."""
    NOT_IN_VENUE = "not-in-venue"
    """All papers of the stated proceedings are known, and this is not one of them."""
    NOT_FOUND = "not-found"
    """Every source answered, and none holds the work: no evidence either way."""
    UNCHECKED = "unchecked"
    """Nothing could be looked up, the reference names nothing to look up, or the evidence does not
    suffice."""


INVENTED = frozenset({Verdict.FABRICATED, Verdict.NOT_IN_VENUE})
"""Verdicts by which the work does not exist as written."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FieldFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One difference between a reference and the evidence, or one detail that it lacks."""

    code: str
    """Stable and kebab-case: "year-differs", "doi-other-work" (see docs/diagnostics.md)."""
    field: str
    """The field of the entry: "author", "year", "booktitle", "doi" ..."""
    message: str
    """One sentence for the user."""
    severity: Severity
    given: str = ""
    expected: str = ""
    """The value of the record; empty where the correction is not known."""
    confidence: float = 1.0
    """Probability, 0 to 1, that the reference, not the record, is wrong."""
    url: str = ""
    """Page for verification: that of the record, the DOI or the arXiv identifier."""
    span: Span | None = None
    """Span of the field's value in the source; None if it has none."""


class GivenIdentifier(msgspec.Struct, frozen=True, gc=False):
    """A further identifier of a reference, and the field that holds it."""

    field: str
    identifier: Identifier


class Mark(msgspec.Struct, frozen=True, gc=False):
    """An author's note beside an entry: checked by hand."""

    codes: tuple[str, ...]
    """Codes of the findings that it answers."""
    day: str
    """ISO date."""
    record: str = ""
    """DOI, address or id of the record that the entry was compared with."""

    @property
    def shown(self) -> str:
        """The mark as text: "2026-11-28 against 10.1000/a"."""
        return f"{self.day} against {self.record}" if self.record else self.day


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The fields of one reference, read from an entry, a \\bibitem or a line of text."""

    key: str = ""
    kind: str = "misc"
    """BibTeX entry type in lower case; "misc" for free text."""
    title: str = ""
    authors: tuple[Author, ...] = ()
    others: bool = False
    """The author list ends with "and others" or "et al."."""
    year: int | None = None
    years: tuple[int, ...] = ()
    """Years in other fields: "NIPS '22" as the series, "ICML 2020" as the book title."""
    venue: str = ""
    """Book title, journal, or an equivalent field."""
    venue_field: str = ""
    """The field that `venue` was read from: "booktitle", "journal" ..."""
    volume: str = ""
    pages: str = ""
    doi: str = ""
    """Normalised; empty if the field holds no DOI."""
    arxiv: str = ""
    isbn: str = ""
    """ISBN of a whole book, with 13 digits; empty for a part of a book."""
    url: str = ""
    """The address in the `url` field, or the first one in a free-text reference."""
    identifiers: tuple[GivenIdentifier, ...] = ()
    """Further identifiers: an address of the ACL Anthology, of OpenReview or of proceedings, a
    second DOI or arXiv identifier."""
    raw_doi: str = ""
    """The `doi` field as given, if it holds no DOI."""
    raw_arxiv: str = ""
    """An arXiv identifier that cannot exist, as given ("2305.XXXX")."""
    raw: str = ""
    """The reference as free text, if it is not an entry."""
    trace: str = ""
    """A trace of a chat assistant in the reference ("utm_source=chatgpt.com")."""
    trace_field: str = ""
    unread: str = ""
    """Words in the authors' place of `raw` that could not be read as names with certainty."""
    path: str = ""
    line: int | None = None
    """1-based line on which the reference begins."""
    page: int | None = None
    """1-based page of a PDF on which the reference begins; `key` is then its number or label."""
    span: Span | None = None
    spans: Mapping[str, Span] = msgspec.field(default_factory=dict)
    """Range of each field's value in the source."""
    mark: Mark | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The verdict on one reference, with its evidence."""

    claim: Claim
    verdict: Verdict
    confidence: float = 1.0
    findings: tuple[FieldFinding, ...] = ()
    work: Work | None = None
    """The record that the reference most likely means, without its abstract."""
    evidence: tuple[str, ...] = ()
    """Reasons for the verdict, one sentence each."""
    sources: tuple[str, ...] = ()
    """Sources that were searched and answered: "library"."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes under which it is reported, without duplicates."""
        return tuple(dict.fromkeys((*(one.code for one in self.findings), *self._of_verdict())))

    def _of_verdict(self) -> tuple[str, ...]:
        if self.verdict in INVENTED:
            return (f"reference-{Verdict.FABRICATED}",)
        silent = self.verdict in (Verdict.NOT_FOUND, Verdict.UNCHECKED)
        return (f"reference-{self.verdict}",) if silent else ()

    @property
    def mark(self) -> Mark | None:
        """The author's mark, as long as it answers all findings against the reference."""
        mark = self.claim.mark
        against = [one.code for one in self.findings if one.severity is not Severity.INFO]
        if mark is None or not self.codes:
            return None
        silenced = tuple(f"{code}-" for code in mark.codes)
        against = against or list(self._of_verdict())
        return mark if all(f"{code}-".startswith(silenced) for code in against) else None

    @property
    def severity(self) -> Severity | None:
        """Severity of the report; None for a verified reference without notes."""
        if self.verdict in INVENTED:
            return Severity.ERROR
        if self.verdict is Verdict.WRONG_DETAIL:
            return Severity.WARNING
        if self.verdict is Verdict.VERIFIED and not self.findings:
            return None
        return Severity.INFO


class LabelledReference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reference labelled right or wrong by people, for measuring the check."""

    id: str
    claim: Claim
    valid: bool
    kind: str = ""
    """The kind of error, in the data set's own words: "swapped_authors"; "valid" if there is none.
    """
    tier: int | None = None
    """Difficulty of detecting the error, from 1 to 3, if the data set states it."""
