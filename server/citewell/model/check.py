"""What a reference claims, and what a check found out about it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from citewell.model.document import Span
from citewell.model.identifiers import Identifier
from citewell.model.work import Author, Work


class Verdict(StrEnum):
    """The outcome of a check, from good to bad, then the two that say nothing."""

    VERIFIED = "verified"
    """A record agrees with all that the reference says, as far as the record goes."""
    WRONG_DETAIL = "wrong-detail"
    """The work is real; something that the reference says of it is not."""
    FABRICATED = "fabricated"
    """There is positive evidence against the reference; never the mere absence of a record."""
    NOT_IN_VENUE = "not-in-venue"
    """All papers of the proceedings that it names are known, and it is not one of them."""
    NOT_FOUND = "not-found"
    """Every place that was asked answered, and none holds the work: no evidence either way."""
    UNCHECKED = "unchecked"
    """Nothing could be looked up, the reference names nothing to look up, or what is known does not
    suffice for a verdict."""


INVENTED = frozenset({Verdict.FABRICATED, Verdict.NOT_IN_VENUE})
"""Verdicts by which no such work exists as the reference is written."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FieldFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing that a reference says and that the evidence contradicts or completes."""

    code: str
    """Stable and kebab-case: "year-differs", "doi-other-work" (see docs/check.md)."""
    field: str
    """The field of the entry that it is about: "author", "year", "booktitle", "doi" ..."""
    message: str
    """One sentence in words."""
    severity: Severity
    given: str = ""
    expected: str = ""
    """The value of the record; empty where the correction is not known."""
    confidence: float = 1.0
    """From 0 to 1: how sure it is that the reference, not the record, is wrong."""
    url: str = ""
    """Where a reader can see it: the page of the record, of the DOI, of the arXiv identifier."""
    span: Span | None = None
    """Span of the field's value in the source; None if it has none."""


class GivenIdentifier(msgspec.Struct, frozen=True, gc=False):
    """A further identifier of a reference, and the field that holds it."""

    field: str
    identifier: Identifier


class Mark(msgspec.Struct, frozen=True, gc=False):
    """An author's note beside an entry that it was checked by hand."""

    codes: tuple[str, ...]
    """Of the findings that it answers."""
    day: str
    """In ISO form."""
    record: str = ""
    """DOI, address or id of the record that the entry was compared with."""

    @property
    def shown(self) -> str:
        """ "2026-11-28 against 10.1000/a"."""
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
    """Years that other fields name: "NIPS '22" as the series, "ICML 2020" as the book title."""
    venue: str = ""
    """Book title, journal, or an equivalent field."""
    venue_field: str = ""
    """The field that `venue` was read from: "booktitle", "journal" ..."""
    volume: str = ""
    pages: str = ""
    doi: str = ""
    """Normalised; empty for a text that is no DOI."""
    arxiv: str = ""
    isbn: str = ""
    """Of a book as a whole, with 13 digits; empty for a part of a book."""
    url: str = ""
    """The address in the `url` field, or the first one of a reference in words."""
    identifiers: tuple[GivenIdentifier, ...] = ()
    """The others: an address of the ACL Anthology, of OpenReview or of proceedings, a second DOI
    or arXiv identifier."""
    raw_doi: str = ""
    """The `doi` field as given, where it is no DOI at all."""
    raw_arxiv: str = ""
    """An arXiv identifier that cannot exist, as given ("2305.XXXX")."""
    raw: str = ""
    """The reference as free text, where it was read from free text."""
    trace: str = ""
    """A mark that a chat assistant left in the reference ("utm_source=chatgpt.com")."""
    trace_field: str = ""
    unread: str = ""
    """Words of `raw` in the place of the authors that could not be read as names for sure."""
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
    """What speaks for the verdict, one sentence each."""
    sources: tuple[str, ...] = ()
    """Where was looked and an answer came from: "library"."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes under which it is reported, each once."""
        return tuple(dict.fromkeys((*(one.code for one in self.findings), *self._of_verdict())))

    def _of_verdict(self) -> tuple[str, ...]:
        if self.verdict in INVENTED:
            return (f"reference-{Verdict.FABRICATED}",)
        silent = self.verdict in (Verdict.NOT_FOUND, Verdict.UNCHECKED)
        return (f"reference-{self.verdict}",) if silent else ()

    @property
    def mark(self) -> Mark | None:
        """The author's mark, as long as it answers all that speaks against the reference."""
        mark = self.claim.mark
        against = [one.code for one in self.findings if one.severity is not Severity.INFO]
        if mark is None or not self.codes:
            return None
        silenced = tuple(f"{code}-" for code in mark.codes)
        against = against or list(self._of_verdict())
        return mark if all(f"{code}-".startswith(silenced) for code in against) else None

    @property
    def severity(self) -> Severity | None:
        """How loudly to say it; None for a verified reference without any note."""
        if self.verdict in INVENTED:
            return Severity.ERROR
        if self.verdict is Verdict.WRONG_DETAIL:
            return Severity.WARNING
        if self.verdict is Verdict.VERIFIED and not self.findings:
            return None
        return Severity.INFO


class LabelledReference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reference of which people say whether it is right, for measuring the check."""

    id: str
    claim: Claim
    valid: bool
    kind: str = ""
    """What is wrong with it, in the data set's own words: "swapped_authors"; "valid" if nothing."""
    tier: int | None = None
    """How hard it is to see, from 1 to 3, where the data set says so."""
