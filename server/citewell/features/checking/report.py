"""A check's results for machines and for a supervisor: JSON, SARIF 2.1.0, GitHub, HTML."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from citewell import __version__
from citewell.features.checking.check import counts, tally
from citewell.model import Problem
from citewell.model.check import Check, FieldFinding, Severity, Verdict
from citewell.verification.codes import MEANINGS as CODES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
WORDS = {
    Verdict.FABRICATED: "likely fabricated",
    Verdict.WRONG_DETAIL: "wrong detail",
    Verdict.NOT_FOUND: "not found",
    Verdict.UNCHECKED: "not checked",
    Verdict.VERIFIED: "verified",
}
"""The verdicts as a reader sees them."""
MEANINGS = {
    Verdict.FABRICATED: "Evidence contradicts the reference.",
    Verdict.WRONG_DETAIL: "The work exists; a detail of the reference is wrong.",
    Verdict.NOT_FOUND: "No queried source has the work; this is no evidence against it.",
    Verdict.UNCHECKED: "Nothing could be looked up.",
    Verdict.VERIFIED: "A record matches the reference.",
}


def label(check: Check) -> str:
    """How a report calls a reference: by its key, else by its title or its first words; one of a
    PDF by its number and page."""
    if check.claim.page:
        return f"Reference {check.claim.key} (page {check.claim.page})"
    return check.claim.key or check.claim.title or check.claim.raw[:80] or "(no key)"


def headline(check: Check) -> str:
    """One sentence: the verdict and its strongest reason."""
    reasons = [one for one in check.findings if counts(one)]
    reason = max(reasons, key=lambda one: one.confidence).message if reasons else ""
    words = WORDS[check.verdict]
    return f"{label(check)}: {words}. {reason}".rstrip()


def to_json(checks: Sequence[Check], problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """The whole result as JSON-ready data; see docs/check.md for its shape."""
    return {
        "version": __version__,
        "counts": {verdict.value: count for verdict, count in tally(checks).items()},
        "checks": msgspec.to_builtins(checks, str_keys=True),
        "problems": msgspec.to_builtins(problems),
    }


def to_sarif(
    checks: Sequence[Check], root: Path | None = None, *, every: bool = False
) -> dict[str, Any]:
    """A SARIF 2.1.0 log: one result per finding; the counts of the verdicts are properties.

    With `every` also one per reference that was not found, or not looked up.
    Paths below `root` are written relative to it. The fingerprints are of what the entry says and
    not of its place, so that a viewer knows a finding again when lines move.
    """
    rows = [row for check in checks for row in _sarif_rows(check, every)]
    rules = sorted({rule for rule, *_ in rows})
    seen: Counter[str] = Counter()
    results = []
    for rule, level, message, check in rows:
        result: dict[str, Any] = {
            "ruleId": rule,
            "ruleIndex": rules.index(rule),
            "level": level,
            "message": {"text": message},
            "properties": {"verdict": check.verdict.value, "confidence": check.confidence},
        }
        if check.claim.page:
            result["properties"] |= {"page": check.claim.page, "reference": check.claim.key}
        if check.claim.path:
            place: dict[str, Any] = {"artifactLocation": {"uri": _uri(check.claim.path, root)}}
            if check.claim.line:
                place["region"] = {"startLine": check.claim.line}
            result["locations"] = [{"physicalLocation": place}]
        print_ = _fingerprint(rule, check)
        seen[print_] += 1
        result["partialFingerprints"] = {"finding/v1": f"{print_}:{seen[print_]}"}
        results.append(result)
    driver = {
        "name": "citewell",
        "version": __version__,
        "semanticVersion": __version__ if __version__.count(".") == 2 else "0.0.0",
        "rules": [{"id": rule, "shortDescription": {"text": _meaning(rule)}} for rule in rules],
    }
    counted = {verdict.value: count for verdict, count in tally(checks).items()}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results,
           "properties": {"counts": counted}}  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _meaning(rule: str) -> str:
    verdict = rule.removeprefix("reference-")
    return MEANINGS[Verdict(verdict)] if verdict != rule else CODES.get(rule, rule)


def _fingerprint(rule: str, check: Check) -> str:
    claim = check.claim
    content = "\n".join((rule, claim.key, claim.title or claim.raw, PurePath(claim.path).name))
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _sarif_rows(check: Check, every: bool) -> Iterator[tuple[str, str, str, Check]]:
    for one in check.findings:
        level = _LEVELS[one.severity] if counts(one) else "note"
        link = f" {one.url}" if one.url else ""
        yield one.code, level, f"{label(check)}: {_with_hint(one)}{link}", check
    if every and _unsettled(check):
        yield f"reference-{check.verdict.value}", "note", headline(check), check


def _unsettled(check: Check) -> bool:
    return not check.findings and check.verdict in (Verdict.NOT_FOUND, Verdict.UNCHECKED)


def _with_hint(finding: FieldFinding) -> str:
    if finding.expected and finding.expected not in finding.message:
        return f"{finding.message} The record has: {finding.expected}"
    return finding.message


def _uri(path: str, root: Path | None) -> str:
    place = Path(path)
    if root is not None:
        try:
            place = place.resolve().relative_to(root.resolve())
        except ValueError:
            return Path(path).resolve().as_uri()
    if place.is_absolute():
        return place.as_uri()
    from urllib.parse import quote

    return quote(PurePath(place).as_posix())


def in_words(checks: Sequence[Check]) -> str:
    """How many references have each verdict: "3 references: 1 not found, 2 verified."."""
    noun = "reference" if len(checks) == 1 else "references"
    words = [f"{n:,} {WORDS[verdict]}" for verdict, n in tally(checks).items() if n]
    return f"{len(checks):,} {noun}{': ' if words else ''}{', '.join(words)}."


def to_github(checks: Sequence[Check], *, every: bool = False) -> Iterator[str]:
    """Workflow commands that GitHub shows beside the lines of a pull request; the last one counts.

    With `every` also a notice per reference that was not found, or not looked up.
    """
    for check in checks:
        if every and _unsettled(check):
            title = _escaped(f"{label(check)}: {WORDS[check.verdict]}", True)
            yield f"::notice {_place(check)},title={title}::{_escaped(MEANINGS[check.verdict])}"
        for one in check.findings:
            kind = {"error": "error", "warning": "warning"}.get(
                _LEVELS[one.severity] if counts(one) else "note", "notice"
            )
            title = _escaped(f"{label(check)}: {WORDS[check.verdict]}", True)
            yield f"::{kind} {_place(check)},title={title}::{_escaped(_with_hint(one))}"
    yield f"::notice title=References::{_escaped(in_words(checks))}"


def _place(check: Check) -> str:
    place = f"file={_escaped(check.claim.path, True)}"
    return f"{place},line={check.claim.line}" if check.claim.line else place


def _escaped(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
