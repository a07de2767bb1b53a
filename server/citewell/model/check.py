"""What a reference claims, and what a check found out about it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from citewell.model.document import Span
from citewell.model.work import Author, Work


class Verdict(StrEnum):
    """The outcome of a check, from good to bad, then the two that say nothing."""

    VERIFIED = "verified"
    """A record agrees with all that the reference says, as far as the record goes."""
    WRONG_DETAIL = "wrong-detail"
    """The work is real; something that the reference says of it is not."""
    FABRICATED = "fabricated"
    """There is positive evidence against the reference; never the mere absence of a record."""
    NOT_FOUND = "not-found"
    """Every place that was asked answered, and none holds the work: no evidence either way."""
    UNCHECKED = "unchecked"
    """Nothing could be looked up, or the reference names nothing to look up."""


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
    raw_doi: str = ""
    """The `doi` field as given, where it is no DOI at all."""
    raw_arxiv: str = ""
    """An arXiv identifier that cannot exist, as given ("2305.XXXX")."""
    raw: str = ""
    """The reference as free text, where it was read from free text."""
    surnames_only: bool = False
    """The names were read from free text, where given names may be cut or lost."""
    path: str = ""
    line: int | None = None
    """1-based line on which the reference begins."""
    page: int | None = None
    """1-based page of a PDF on which the reference begins; `key` is then its number or label."""
    span: Span | None = None
    spans: Mapping[str, Span] = msgspec.field(default_factory=dict)
    """Range of each field's value in the source."""


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
    def severity(self) -> Severity | None:
        """How loudly to say it; None for a verified reference without any note."""
        if self.verdict is Verdict.FABRICATED:
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
