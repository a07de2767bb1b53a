"""Is each entry real, and right? What to ask, and how an editor shows the answer.

An entry is asked about by what it says: entries that say the same share one answer, and an answer
stays true when the entry moves or its key changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b

import msgspec

from citewell.features.check import counts
from citewell.model.bib import BibEntry, BibFile
from citewell.model.check import Check, Claim, FieldFinding, Verdict
from citewell.model.diagnostic import Diagnostic, Level
from citewell.model.document import Span
from citewell.model.unhurried import unhurried
from citewell.verification.claims import claim_of_entry
from citewell.verification.codes import MEANINGS

NOT_FOUND, UNCHECKED = "reference-not-found", "reference-unchecked"
NOTES = tuple(code for code, meaning in MEANINGS.items() if meaning.endswith("(note)."))
"""Findings that never change a verdict."""
FINDINGS = tuple(code for code in MEANINGS if code not in NOTES)
CODES = (*FINDINGS, *NOTES, NOT_FOUND, UNCHECKED)
"""Every code under which a verified entry may be underlined."""
_SKIPPED = frozenset({"comment", "set", "xdata"})
_PARENTS = frozenset({"crossref", "xdata"})
_INSTEAD = {"booktitle": ("journal", "journaltitle", "maintitle", "howpublished"),
            "journal": ("booktitle", "journaltitle", "howpublished"),
            "year": ("date",), "eprint": ("arxivid", "url", "journal"), "doi": ("url",),
            "author": ("editor",), "number": ("issue",)}  # fmt: skip
"""Where a finding is shown when the field that it names is not in the entry."""


class Question(msgspec.Struct, frozen=True):
    """What one entry says, without its place and its key."""

    claim: Claim
    digest: bytes
    """Equal for entries that say the same."""


CheckOf = Callable[[bytes], Check | None]
"""The answer to a question by its digest; None while there is none."""


def question(bib: BibFile, entry: BibEntry) -> Question | None:
    """What is to be checked of an entry; None for one that is no reference, or too broken."""
    if entry.type in _SKIPPED or not entry.body.names:
        return None
    found = _question(bib, entry)
    if not _depends_on_others(entry):
        entry.body.notes["question"] = found.digest if found is not None else None
    return found


def question_digest(bib: BibFile, entry: BibEntry) -> bytes | None:
    """The digest of `question`. It is remembered, and the claim is not: of a large file the claims
    would take as much memory as its text."""
    notes = entry.body.notes
    if "question" in notes:
        known: bytes | None = notes["question"]
        return known
    asked = question(bib, entry)
    return asked.digest if asked is not None else None


def _depends_on_others(entry: BibEntry) -> bool:
    return bool(entry.key) and not _PARENTS.isdisjoint(entry.body.names)


def _question(bib: BibFile, entry: BibEntry) -> Question | None:
    claim = claim_of_entry(bib, entry)
    bare = msgspec.structs.replace(claim, key="", line=None, span=None, spans={}, path="")
    if not (bare.title or bare.doi or bare.arxiv):
        return None
    return Question(bare, blake2b(msgspec.msgpack.encode(bare), digest_size=16).digest())


def verified(
    bib: BibFile, check_of: CheckOf, levels: Mapping[str, str] | None = None
) -> Iterator[Diagnostic]:
    """What the answers that are known say about the entries of a file."""
    tells_unchecked = UNCHECKED in (levels or {})
    for entry in unhurried(bib.entries):
        digest = question_digest(bib, entry)
        check = check_of(digest) if digest is not None else None
        if check is None:
            continue
        if check.verdict is Verdict.VERIFIED and not check.findings:
            continue
        for one in said(entry, check):
            if one.code != UNCHECKED or tells_unchecked:
                yield one


def said(entry: BibEntry, check: Check) -> Iterator[Diagnostic]:
    """The answer about one entry: each finding on its field, else a word on the key."""
    spans = {field.name: field.value_span for field in reversed(entry.fields)}
    why = "" if not check.evidence else check.evidence[0]
    for finding in check.findings:
        field = place_of(finding, spans)
        yield Diagnostic(
            code=finding.code,
            span=spans.get(field) or _elsewhere(finding, entry),
            message=_words(finding, check, why),
            level=_level(finding, check.verdict),
            data={"key": entry.key, "field": field, "expected": finding.expected},
        )
    if check.verdict is Verdict.NOT_FOUND:
        yield _on_key(entry, NOT_FOUND, " ".join(check.evidence[:2]) or "No record was found.")
    elif check.verdict is Verdict.UNCHECKED:
        yield _on_key(entry, UNCHECKED, why or "This reference could not be looked up.")


def place_of(finding: FieldFinding, fields: Mapping[str, Span]) -> str:
    """The field of the entry that a finding speaks of; empty when it has none of them."""
    names = (finding.field, *_INSTEAD.get(finding.field, ()))
    return next((name for name in names if name in fields), "")


def _elsewhere(finding: FieldFinding, entry: BibEntry) -> Span:
    if finding.code == "type-differs":
        return Span(entry.start, entry.start + 1 + len(entry.type))
    return entry.key_span


def _on_key(entry: BibEntry, code: str, message: str) -> Diagnostic:
    return Diagnostic(
        code=code,
        span=entry.key_span,
        message=message,
        level=Level.INFORMATION,
        data={"key": entry.key},
    )


def _level(finding: FieldFinding, verdict: Verdict) -> Level:
    if not counts(finding):
        return Level.HINT
    return Level.ERROR if verdict is Verdict.FABRICATED else Level.WARNING


def shortened(text: str, most: int = 160) -> str:
    """The text, cut at a word where it is long."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def _words(finding: FieldFinding, check: Check, why: str) -> str:
    text = finding.message
    if finding.expected and finding.expected not in text:
        text += f" The record has “{shortened(finding.expected)}”."
    if counts(finding) and check.verdict is Verdict.FABRICATED:
        text = f"Likely fabricated: {text}"
    text += f" ({finding.confidence:.0%} sure)"
    return f"{text}\n{why}" if why and why not in text else text
