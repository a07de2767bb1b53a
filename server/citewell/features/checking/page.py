"""A check's results as a standalone page, without script and without requests."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Sequence
from pathlib import Path

from citewell import __version__
from citewell.features.checking.check import ORDER, counts, tally
from citewell.features.checking.report import LocatedDiagnostic, label
from citewell.model.check import Check, FieldFinding, Verdict
from citewell.model.words import VERDICTS, assurance, words_of
from citewell.sources.registry import source_titles

_STYLE = """
:root{color-scheme:light dark;background:Canvas;color:CanvasText}
:root{font-family:system-ui,sans-serif;line-height:1.5}
body{max-width:54rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
article{border-left:.35rem solid #888;padding:.1rem 0 .1rem 1rem;margin:1.4rem 0;break-inside:avoid}
.fabricated,.not-in-venue{border-color:#c0392b}.wrong-detail{border-color:#d68910}
.not-found,.unchecked{border-color:#7f8c8d}.verified{border-color:#1e8449}
h1{line-height:1.2}h3{margin:.2rem 0}p{margin:.3rem 0}
small,.given,.note{opacity:.75}ul{margin:.4rem 0;padding-left:1.2rem}li{margin:.25rem 0}
table{border-collapse:collapse;margin:1rem 0}
td{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
td{overflow-wrap:normal}td:first-child{white-space:nowrap}td:nth-child(2){text-align:right}
del,ins{display:block;padding:.1rem .5rem;margin:.15rem 0;text-decoration:none}
del{background:#c0392b22}ins{background:#1e844922}
del::before{content:"given "}ins::before{content:"record "}
del::before,ins::before{opacity:.65;font-size:.8em}
summary{cursor:pointer;margin:.6rem 0}
@media print{body{margin:0}a{color:inherit}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy of every page that Citewell writes: its own styles, and nothing that
runs, loads or sends."""
_QUIET = frozenset({Verdict.VERIFIED, Verdict.NOT_FOUND})
"""Verdicts that need no attention, folded up."""


def to_html(
    checks: Sequence[Check],
    title: str = "References",
    diagnostics: Sequence[LocatedDiagnostic] = (),
) -> str:
    """The page: counts, then the references by verdict, worst first, then faults of the paper."""
    head = "".join(
        f'<tr><td><a href="#{verdict.value}">{html.escape(words.label)}</a></td><td>{count}</td>'
        f"<td><small>{html.escape(words.meaning)}</small></td></tr>"
        for verdict, count in tally(checks).items()
        for words in (VERDICTS[verdict],)
        if count
    )
    parts = "".join(_section(verdict, checks) for verdict in ORDER) + _paper(diagnostics)
    name = html.escape(title)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    places = sorted(source_titles(source for check in checks for source in check.sources))
    sources = f" Asked: {html.escape(', '.join(places))}." if places else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{name}</h1><p>{len(checks):,} references, checked by Citewell {__version__} "
        f"on {day}.{sources}</p><table>{head}</table>\n{parts}</body></html>\n"
    )


def _paper(diagnostics: Sequence[LocatedDiagnostic]) -> str:
    if not diagnostics:
        return ""
    items = "".join(
        f"<li>{html.escape(Path(one.path).name)}:{one.line}: {html.escape(one.message)} "
        f"<small>{html.escape(one.code)}</small></li>"
        for one in diagnostics
    )
    return f'<h2 id="paper">In the paper ({len(diagnostics)})</h2><ul>{items}</ul>\n'


def _section(verdict: Verdict, checks: Sequence[Check]) -> str:
    members = [check for check in checks if check.verdict is verdict]
    if not members:
        return ""
    name = f"{html.escape(VERDICTS[verdict].label.capitalize())} ({len(members)})"
    loud = [check for check in members if check.findings or verdict not in _QUIET]
    quiet = [check for check in members if not (check.findings or verdict not in _QUIET)]
    rest = ""
    if quiet:
        words = "without a note" if verdict is Verdict.VERIFIED else "without a finding"
        rest = (
            f"<details><summary>{len(quiet)} {words}</summary>"
            f"{''.join(map(_article, quiet))}</details>\n"
        )
    return f'<h2 id="{verdict.value}">{name}</h2>\n{"".join(map(_article, loud))}{rest}'


def _article(check: Check) -> str:
    claim = check.claim
    place = f"{claim.path}:{claim.line}" if claim.line else claim.path
    rows = "".join(_finding(one) for one in check.findings)
    messages = {one.message for one in check.findings}
    evidence = "".join(
        f"<li>{_linked(line)}</li>" for line in check.evidence if line not in messages
    )
    items = f"<ul>{rows}{evidence}</ul>" if rows or evidence else ""
    marked = f"<p>{html.escape(words_of(check).label)}</p>" if check.mark is not None else ""
    return (
        f'<article class="{"" if marked else check.verdict.value}">'
        f"<h3>{html.escape(label(check))}</h3>{marked}"
        f'<p class="given">{html.escape(_facts(check))} <small>{html.escape(place)}</small></p>'
        f"{items}</article>\n"
    )


def _facts(check: Check) -> str:
    claim = check.claim
    given = ", ".join(author.display for author in claim.authors)
    if claim.others:
        given += " et al"
    facts = [given, claim.title, claim.venue, str(claim.year or ""), claim.doi]
    return claim.raw or ". ".join(fact for fact in facts if fact)


def _finding(one: FieldFinding) -> str:
    link = ""
    if one.url.startswith(("https://", "http://")):
        link = f' <a href="{html.escape(one.url, quote=True)}">evidence</a>'
    change = ""
    if one.expected and one.given:
        change = f"<del>{html.escape(one.given)}</del><ins>{html.escape(one.expected)}</ins>"
    kind = "" if counts(one) else ' class="note"'
    return (
        f"<li{kind}>{html.escape(one.message)} <small>{html.escape(one.code)}, "
        f"{assurance(one.confidence)}</small>{link}{change}</li>"
    )


def _linked(line: str) -> str:
    found = re.search(r"https?://[^\s)]+", line)
    if found is None:
        return html.escape(line)
    address = html.escape(found.group(), quote=True)
    before, after = html.escape(line[: found.start()]), html.escape(line[found.end() :])
    return f'{before}<a href="{address}">{address}</a>{after}'
