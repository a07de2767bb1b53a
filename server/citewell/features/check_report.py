"""A check's results for machines and for a supervisor: JSON, SARIF 2.1.0, GitHub, HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from citewell import __version__
from citewell.features.check import ORDER, counts, tally
from citewell.model.check import Check, FieldFinding, Severity, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
WORDS = {
    Verdict.FABRICATED: "likely fabricated",
    Verdict.WRONG_DETAIL: "wrong in a detail",
    Verdict.NOT_FOUND: "not found",
    Verdict.UNCHECKED: "not checked",
    Verdict.VERIFIED: "verified",
}
"""The verdicts as a reader sees them."""
MEANINGS = {
    Verdict.FABRICATED: "There is positive evidence against the reference.",
    Verdict.WRONG_DETAIL: "The work is real; something that the reference says of it is not.",
    Verdict.NOT_FOUND: "No place that was asked holds the work. That is no evidence either way.",
    Verdict.UNCHECKED: "Nothing could be looked up.",
    Verdict.VERIFIED: "A record agrees with the reference.",
}


def label(check: Check) -> str:
    """How a report calls a reference: by its key, else by its title or its first words."""
    return check.claim.key or check.claim.title or check.claim.raw[:80] or "(no key)"


def headline(check: Check) -> str:
    """One sentence: the verdict and its strongest reason."""
    reasons = [one for one in check.findings if counts(one)]
    reason = max(reasons, key=lambda one: one.confidence).message if reasons else ""
    words = WORDS[check.verdict]
    return f"{label(check)}: {words}. {reason}".rstrip()


def to_json(checks: Sequence[Check]) -> dict[str, Any]:
    """The whole result as JSON-ready data; see docs/check.md for its shape."""
    return {
        "version": __version__,
        "counts": {verdict.value: count for verdict, count in tally(checks).items()},
        "checks": msgspec.to_builtins(checks, str_keys=True),
    }


def to_sarif(checks: Sequence[Check], root: Path | None = None) -> dict[str, Any]:
    """A SARIF 2.1.0 log: one result per finding, or per verdict that has none."""
    rows = [row for check in checks for row in _sarif_rows(check)]
    rules = sorted({rule for rule, *_ in rows})
    results = []
    for rule, level, message, check in rows:
        result: dict[str, Any] = {
            "ruleId": rule,
            "ruleIndex": rules.index(rule),
            "level": level,
            "message": {"text": message},
            "properties": {"verdict": check.verdict.value, "confidence": check.confidence},
        }
        if check.claim.path:
            place: dict[str, Any] = {"artifactLocation": {"uri": _uri(check.claim.path, root)}}
            if check.claim.line:
                place["region"] = {"startLine": check.claim.line}
            result["locations"] = [{"physicalLocation": place}]
        results.append(result)
    driver = {
        "name": "citewell",
        "version": __version__,
        "semanticVersion": __version__ if __version__.count(".") == 2 else "0.0.0",
        "rules": [
            {"id": rule, "shortDescription": {"text": rule.replace("-", " ").capitalize() + "."}}
            for rule in rules
        ],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_rows(check: Check) -> Iterator[tuple[str, str, str, Check]]:
    for one in check.findings:
        level = _LEVELS[one.severity] if counts(one) else "note"
        yield one.code, level, f"{label(check)}: {_with_cure(one)}", check
    if not check.findings and check.verdict in (Verdict.NOT_FOUND, Verdict.UNCHECKED):
        yield f"reference-{check.verdict.value}", "note", headline(check), check


def _with_cure(finding: FieldFinding) -> str:
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


def to_github(checks: Sequence[Check]) -> Iterator[str]:
    """Workflow commands that GitHub shows beside the lines of a pull request."""
    for check in checks:
        for one in check.findings:
            kind = {"error": "error", "warning": "warning"}.get(
                _LEVELS[one.severity] if counts(one) else "note", "notice"
            )
            place = f"file={_escaped(check.claim.path, True)}"
            if check.claim.line:
                place += f",line={check.claim.line}"
            title = _escaped(f"{label(check)}: {WORDS[check.verdict]}", True)
            yield f"::{kind} {place},title={title}::{_escaped(_with_cure(one))}"


def _escaped(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


_STYLE = """
:root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.45}
body{max-width:56rem;margin:2rem auto;padding:0 1rem}
article{border-left:.35rem solid #888;padding:.2rem 1rem;margin:1.2rem 0}
.fabricated{border-color:#c0392b}.wrong-detail{border-color:#d68910}
.not-found,.unchecked{border-color:#7f8c8d}.verified{border-color:#1e8449}
h3{margin:.2rem 0}small,.given{opacity:.75}table{border-collapse:collapse}
td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
del{background:#c0392b33}ins{background:#1e844933;text-decoration:none}
"""


def to_html(checks: Sequence[Check], title: str = "References") -> str:
    """A page of its own, without script and without a request to anybody."""
    counted = tally(checks)
    head = "".join(
        f'<tr><td><a href="#{v.value}">{html.escape(WORDS[v])}</a></td><td>{n}</td>'
        f"<td><small>{html.escape(MEANINGS[v])}</small></td></tr>"
        for v, n in counted.items()
        if n
    )
    parts = []
    for verdict in ORDER:
        members = [check for check in checks if check.verdict is verdict]
        if members:
            name = WORDS[verdict].capitalize()
            parts.append(f'<h2 id="{verdict.value}">{html.escape(name)} ({len(members)})</h2>')
            parts += [_article(check) for check in members]
    name = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{name}</h1><p>{len(checks)} references, checked by Citewell {__version__}."
        f"</p><table>{head}</table>\n{''.join(parts)}</body></html>\n"
    )


def _article(check: Check) -> str:
    claim = check.claim
    given = ", ".join(author.display for author in claim.authors)
    if claim.others:
        given += " et al."
    facts = [given, claim.title, claim.venue, str(claim.year or ""), claim.doi]
    text = ". ".join(fact for fact in facts if fact) or claim.raw
    place = f"{claim.path}:{claim.line}" if claim.line else claim.path
    rows = "".join(
        f"<li>{html.escape(one.message)}{_change(one)} "
        f"<small>{html.escape(one.code)}, {one.confidence:.0%} sure</small></li>"
        for one in check.findings
    )
    evidence = "".join(
        f"<li>{_linked(line)}</li>"
        for line in check.evidence
        if line not in {one.message for one in check.findings}
    )
    return (
        f'<article class="{check.verdict.value}"><h3>{html.escape(label(check))}</h3>'
        f'<p class="given">{html.escape(text)} <small>{html.escape(place)}</small></p>'
        f"<ul>{rows}{evidence}</ul></article>\n"
    )


def _change(finding: FieldFinding) -> str:
    if not finding.expected or not finding.given:
        return ""
    return f"<br><del>{html.escape(finding.given)}</del> <ins>{html.escape(finding.expected)}</ins>"


def _linked(line: str) -> str:
    found = re.search(r"https?://[^\s)]+", line)
    if found is None:
        return html.escape(line)
    address = html.escape(found.group(), quote=True)
    before, after = html.escape(line[: found.start()]), html.escape(line[found.end() :])
    return f'{before}<a href="{address}">{address}</a>{after}'
