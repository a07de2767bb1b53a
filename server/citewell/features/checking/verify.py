"""Whether each entry exists and is correct: what to look up, and how an editor shows the result.

A lookup depends only on an entry's content: entries with the same content share one result, and a
result stays valid when the entry moves or its key changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from citewell.documents.bib.work import mark_of
from citewell.documents.project.paper_project import Project
from citewell.features.checking.check import counts
from citewell.features.checking.lint_rule import shown_diagnostics
from citewell.model.bib import BibEntry, BibFile
from citewell.model.cancel import cooperative
from citewell.model.check import INVENTED, Check, Claim, FieldFinding, Verdict
from citewell.model.display_text import shorten
from citewell.model.document import Diagnostic, Document, KeyUse, Level, RelatedLocation, Span
from citewell.model.fields import BIB_FIELDS, NO_WORKS
from citewell.model.titles import plain_title
from citewell.model.words import VERDICTS, assurance
from citewell.verification.claims import claim_of_entry
from citewell.verification.finding import MEANINGS

NOT_FOUND, UNCHECKED = "reference-not-found", "reference-unchecked"
FABRICATED = "reference-fabricated"
"""Code of a diagnostic where an invented reference is cited; in the .bib, its findings are reported
on its fields."""
NOTES = tuple(code for code, meaning in MEANINGS.items() if meaning.endswith("(note)."))
"""Findings that never change a verdict."""
FINDINGS = tuple(code for code in MEANINGS if code not in NOTES)
CODES = (*FINDINGS, *NOTES, FABRICATED, NOT_FOUND, UNCHECKED)
"""Every code under which a verified entry, or what cites it, may be underlined."""
NAMED = 3
"""Entries that the summary of those without a record names."""
_TITLE = 50
_PARENTS = frozenset({"crossref", "xdata"})


class EntryBytes(msgspec.Struct, frozen=True):
    """The fields of one entry, with the path of its file, without its key and its place there."""

    encoded: bytes
    """The claim as MessagePack: of a large file tens of thousands wait for their answer."""
    digest: bytes
    """Equal for entries that say the same."""

    @property
    def claim(self) -> Claim:
        """What the entry claims; decoded at each call."""
        return msgspec.msgpack.decode(self.encoded, type=Claim)


CheckOf = Callable[[bytes], Check | None]
"""The answer to a question by its digest; None while there is none."""


def question(bib: BibFile, entry: BibEntry) -> EntryBytes | None:
    """What is to be checked of an entry; None for one that is no reference, or too broken."""
    if entry.type in NO_WORKS or not entry.body.names:
        return None
    found = _question(bib, entry)
    if not _depends_on_others(entry):
        entry.body.set_question(found.digest if found is not None else None)
    return found


def question_digest(bib: BibFile, entry: BibEntry) -> bytes | None:
    """The digest of `question`. It is remembered, and the claim is not: of a large file the claims
    would take as much memory as its text."""
    known = entry.body.question
    if known is not msgspec.UNSET:
        return known
    found = question(bib, entry)
    return found.digest if found is not None else None


def marked(check: Check | None, bib: BibFile, entry: BibEntry) -> Check | None:
    """The answer about an entry with the entry's mark, which the question is asked without."""
    mark = mark_of(bib, entry) if check is not None and check.codes else None
    if check is None or mark is None:
        return check
    return msgspec.structs.replace(check, claim=msgspec.structs.replace(check.claim, mark=mark))


def _depends_on_others(entry: BibEntry) -> bool:
    return bool(entry.key) and not _PARENTS.isdisjoint(entry.body.names)


def _question(bib: BibFile, entry: BibEntry) -> EntryBytes | None:
    claim = claim_of_entry(bib, entry)
    bare = msgspec.structs.replace(
        claim, key="", line=None, span=None, spans={}, path="", mark=None
    )
    if not (bare.title or bare.doi or bare.arxiv):
        return None
    digest = blake2b(msgspec.msgpack.encode(bare), digest_size=16).digest()
    # A `.bib` that was added to the library is no evidence for its own entries.
    return EntryBytes(msgspec.msgpack.encode(msgspec.structs.replace(bare, path=bib.path)), digest)


def verified(
    bib: BibFile,
    check_of: CheckOf,
    levels: Mapping[str, str] | None = None,
    *,
    list_not_found: bool = False,
) -> Iterator[Diagnostic]:
    """Diagnostics of the known checks of a file, each with key and title.

    An entry without a record is a hint for `summarised`, unless they are to be listed.
    """
    shows_unchecked = UNCHECKED in (levels or {})
    for entry in cooperative(bib.entries):
        digest = question_digest(bib, entry)
        check = check_of(digest) if digest is not None else None
        if check is None:
            continue
        if check.verdict is Verdict.VERIFIED and not check.findings:
            continue
        for one in check_diagnostics(entry, check):
            if one.code == NOT_FOUND:
                level = Level.INFORMATION if list_not_found else Level.HINT
                yield msgspec.structs.replace(_with_name(one, entry, check), level=level)
            elif one.code != UNCHECKED or shows_unchecked:
                yield _with_name(one, entry, check)


def _with_name(one: Diagnostic, entry: BibEntry, check: Check) -> Diagnostic:
    words = f" is {VERDICTS[check.verdict].label}:" if one.level is Level.ERROR else ":"
    return msgspec.structs.replace(one, message=f"{named(entry)}{words} {one.message}")


def summarised(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The diagnostics, with one for all entries of the file that have no record: hundreds of
    them would hide what is wrong."""
    first: Diagnostic | None = None
    keys: list[str] = []
    for one in found:
        if one.code != NOT_FOUND:
            yield one
            continue
        keys.append(one.data["key"])
        first = one if first is None or one.span < first.span else first
    if first is None:
        return
    if len(keys) == 1:
        yield first
        return
    more = f" and {len(keys) - NAMED:,} more" if len(keys) > NAMED else ""
    yield msgspec.structs.replace(
        first,
        message=f"No records found for {len(keys):,} references in this file, which is no "
        f"evidence against them: {', '.join(keys[:NAMED])}{more}. A source that you allow may know "
        "them (`citewell sources`).",
    )


def cited_inventions(
    document: Document,
    projects: Sequence[Project],
    check_of: CheckOf,
    levels: Mapping[str, str] | None = None,
) -> Iterator[Diagnostic]:
    """Where a document cites an entry that was found invented, with the entry as the related place.

    Silent where a comment in the .bib, or the settings, silence what speaks against the entry.
    """
    for use, bib, entry, check in _inventions(document, projects, check_of):
        shown = shown_diagnostics(check_diagnostics(entry, check), bib, levels or {})
        why = next((one for one in shown if one.code in FINDINGS and "key" in one.data), None)
        if why is None:
            continue
        yield Diagnostic(
            code=FABRICATED,
            span=use.span,
            message=f"{named(entry)} is {VERDICTS[check.verdict].label}: {why.message}",
            level=why.level,
            related=(RelatedLocation(Path(bib.path), entry.key_span, f"The entry {entry.key}"),),
            data={"key": entry.key},
        )


def _inventions(
    document: Document, projects: Sequence[Project], check_of: CheckOf
) -> Iterator[tuple[KeyUse, BibFile, BibEntry, Check]]:
    known: dict[str, tuple[BibFile, BibEntry, Check] | None] = {}
    for citation in document.citations:
        for use in citation.keys:
            if use.key not in known:
                known[use.key] = _invention(use.key, projects, check_of)
            found = known[use.key]
            if found is not None:
                yield use, *found


def _invention(
    key: str, projects: Sequence[Project], check_of: CheckOf
) -> tuple[BibFile, BibEntry, Check] | None:
    for project in projects:
        place = project.entry(key)
        if place is None:
            continue
        bib, entry = project.bibs[place[0]], place[1]
        digest = question_digest(bib, entry)
        check = check_of(digest) if digest is not None else None
        invented = check is not None and check.verdict in INVENTED
        return (bib, entry, check) if check is not None and invented else None
    return None


def named(entry: BibEntry) -> str:
    """ "vaswani2017 (“Attention Is All You Need”)"."""
    title = plain_title(entry.get("title"))
    return f"{entry.key} (“{shorten(title, _TITLE)}”)" if title else entry.key


def check_diagnostics(entry: BibEntry, check: Check) -> Iterator[Diagnostic]:
    """The answer about one entry: each finding on its field, those that bear on the verdict first,
    else a word on the key."""
    spans = {field.name: field.value_span for field in reversed(entry.fields)}
    why = "" if not check.evidence else check.evidence[0]
    for finding in sorted(check.findings, key=lambda one: not counts(one)):
        field = place_of(finding, spans)
        yield Diagnostic(
            code=finding.code,
            span=spans.get(field) or _elsewhere(finding, entry),
            message=_words(finding, why),
            level=_level(finding, check.verdict),
            data={"key": entry.key, "field": field, "expected": finding.expected},
        )
    if check.verdict is Verdict.NOT_FOUND:
        yield _on_key(entry, NOT_FOUND, " ".join(check.evidence[:2]) or "No record found.")
    elif check.verdict is Verdict.UNCHECKED:
        yield _on_key(entry, UNCHECKED, why or "This reference could not be looked up.")


def place_of(finding: FieldFinding, fields: Mapping[str, Span]) -> str:
    """The field of the entry that a finding is about; empty when the entry has none that fits."""
    known = BIB_FIELDS.get(finding.field)
    names = (finding.field, *(known.shown_at.split() if known is not None else ()))
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
    return Level.ERROR if verdict in INVENTED else Level.WARNING


def _words(finding: FieldFinding, why: str) -> str:
    text = finding.message
    if finding.expected and finding.expected not in text:
        text += f" The record has “{shorten(finding.expected, 160)}”."
    text += f" ({assurance(finding.confidence)})"
    return f"{text}\n{why}" if why and why not in text else text
