"""A check's results for programs and readers (JSON, SARIF 2.1.0, GitHub, RIS), by policy."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import msgspec

from citewell import __version__
from citewell.documents.project.files import FileCache, SourceFiles, format_of
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.textfile import is_stream
from citewell.features.checking.check import ORDER, counts, tally
from citewell.features.checking.lint import CODES as LINT_CODES
from citewell.features.checking.lint import SYNTAX, lint
from citewell.features.text.reference import ris_of_work
from citewell.model import CitewellError, Problem, Work
from citewell.model.bib import BibFile
from citewell.model.check import INVENTED, Check, FieldFinding, Severity, Verdict
from citewell.model.document import Diagnostic, Format, Level
from citewell.model.fields import JOURNAL_FIELDS
from citewell.model.system.files import FileError
from citewell.model.words import MARKED, VERDICTS, words_of
from citewell.options.tree import DocumentOptions
from citewell.verification.finding import MEANINGS
from citewell.verification.finding import MEANINGS as CODES

# Policies: what blocks a submission, what is to be corrected, and what is a note (`check
# --policy`).

# The lint of whole papers, for commands and reports: the editors' diagnostics with line numbers.


class LocatedDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A diagnostic with its position for a person or another program."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in characters."""
    code: str
    level: Level
    message: str


def lint_papers(
    paths: Sequence[Path],
    options: DocumentOptions | None = None,
    levels: Mapping[str, str] | None = None,
) -> list[LocatedDiagnostic]:
    """All diagnostics of the papers, their parts and their .bib files, file by file.

    `levels` are the settings' `diagnostics.severity`. Hints are left out. Files other than papers
    and folders have none; an unreadable file is a problem of the check.
    """
    found: dict[LocatedDiagnostic, None] = {}
    for path in paths:
        try:
            for project in _projects_of(path, options or DocumentOptions()):
                found |= dict.fromkeys(lint_project(project, levels or {}))
        except FileError:
            continue
    return list(found)


def _projects_of(path: Path, options: DocumentOptions) -> Sequence[Project]:
    if path.is_dir():
        roots = [absolute(path)]
        workspace = Workspace(FileCache(options), roots=roots)
        workspace.refresh(lambda path: None, opened=SourceFiles(roots).list())
        return workspace.projects
    if is_stream(path) or format_of(path) not in (Format.LATEX, Format.MARKDOWN):
        return ()
    return [Project.open(path, options)]


def lint_project(project: Project, levels: Mapping[str, str]) -> Iterator[LocatedDiagnostic]:
    """The diagnostics of a paper, its parts and its .bib files; hints are left out."""
    for document in project.documents.values():
        yield from _located(lint(document, [project], levels), document.path, document.text)
    for bib in project.bibliographies:
        yield from lint_one_bib(bib, levels, [project])


def lint_one_bib(
    bib: BibFile, levels: Mapping[str, str], projects: Sequence[Project] = ()
) -> Iterator[LocatedDiagnostic]:
    """The diagnostics of a .bib used by these papers; hints are left out."""
    return _located(lint(bib, projects, levels), bib.path, bib.text)


def _located(
    diagnostics: Sequence[Diagnostic], path: str, text: str
) -> Iterator[LocatedDiagnostic]:
    for one in diagnostics:
        if one.level is Level.HINT:
            continue
        begins = text.rfind("\n", 0, one.span.start) + 1
        yield LocatedDiagnostic(
            path=str(path),
            line=text.count("\n", 0, one.span.start) + 1,
            column=one.span.start - begins + 1,
            code=one.code,
            level=one.level,
            message=one.message,
        )


class Weight(StrEnum):
    """The consequence of a finding for a submission."""

    BLOCKING = "blocking"
    CORRECT = "to correct"
    NOTE = "note"


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of verdicts, findings and diagnostics by weight; any other is a note."""

    name: str = "custom"
    blocking: frozenset[str] = frozenset()
    correct: frozenset[str] = frozenset()

    def weight_of(self, names: Iterable[str]) -> Weight:
        """The heaviest weight of some names."""
        given = set(names)
        if given & self.blocking:
            return Weight.BLOCKING
        return Weight.CORRECT if given & self.correct else Weight.NOTE

    def weight_of_check(self, check: Check) -> Weight:
        """The weight of a reference by its verdict and the findings that affect it; a marked one is
        a note."""
        if check.mark is not None:
            return Weight.NOTE
        codes = (one.code for one in check.findings if counts(one))
        return self.weight_of((check.verdict.value, *codes))

    def weight_of_diagnostic(self, one: LocatedDiagnostic) -> Weight:
        """The weight of a diagnostic of a paper."""
        return self.weight_of((one.code,))


_FAULTS = frozenset(code for code, level in SYNTAX.items() if level is Level.ERROR)
_BROKEN_PAPER = _FAULTS | {"undefined-key", "bib-duplicate-key", "bib-missing"}
_UNTIDY_PAPER = frozenset(SYNTAX) - _FAULTS | {"unresolved-placeholder", "duplicate-work"}
POLICIES = {
    "default": Policy(
        name="default",
        blocking=_BROKEN_PAPER | {verdict.value for verdict in INVENTED},
        correct=_UNTIDY_PAPER | {Verdict.WRONG_DETAIL.value},
    ),
    # In the chairs' words: a title that cannot be found, a badly wrong list of authors, or a venue
    # without evidence make a reference a fabrication; small errors do not.
    "neurips-2026": Policy(
        name="neurips-2026",
        blocking=frozenset(
            {
                *(verdict.value for verdict in INVENTED),
                Verdict.NOT_FOUND.value,
                "author-unrelated",
                "author-replaced",
                "author-placeholder",
                "venue-unknown",
                "venue-lacks",
                "undefined-key",
            }
        ),
        correct=_BROKEN_PAPER | _UNTIDY_PAPER | {Verdict.WRONG_DETAIL.value},
    ),
}
NAMES = frozenset({*(verdict.value for verdict in Verdict), *MEANINGS, *LINT_CODES})
"""All names allowed in a policy."""


def failing_from(verdict: str) -> Policy:
    """The default policy, with this verdict and the worse ones blocking; none with "never"."""
    default = POLICIES["default"]
    if verdict == "never":
        return msgspec.structs.replace(default, blocking=frozenset())
    bad = {one.value for one in ORDER[: ORDER.index(Verdict(verdict)) + 1]}
    return msgspec.structs.replace(default, blocking=default.blocking | bad)


def policy_named(name: str) -> Policy:
    """A shipped policy, or the one in a TOML file. Raises `CitewellError`."""
    if name in POLICIES:
        return POLICIES[name]
    path = Path(name)
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        policy = msgspec.convert(found, Policy)
    except FileNotFoundError:
        raise CitewellError(
            Problem(
                "policy-unknown",
                f"There is no policy {name!r}, and no such file.",
                f"Policies: {', '.join(POLICIES)}; or the path of a TOML file.",
            )
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CitewellError(_unreadable(name, str(error))) from None
    for one in sorted(policy.blocking | policy.correct):
        if one not in NAMES:
            near = get_close_matches(one, NAMES, 1, 0.6)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise CitewellError(_unreadable(name, f"no verdict or code is called {one!r}.{hint}"))
    return policy if "name" in found else msgspec.structs.replace(policy, name=path.stem)


def _unreadable(name: str, reason: str) -> Problem:
    return Problem(
        "policy-unreadable",
        f"The policy {name} cannot be used: {reason}",
        'Write `blocking = ["fabricated", ...]` and `correct = [...]`, with the names of '
        "docs/check.md.",
        path=name,
    )


def weighed(
    policy: Policy, checks: Sequence[Check], diagnostics: Sequence[LocatedDiagnostic]
) -> Counter[Weight]:
    """Number of references and diagnostics with each weight; verified ones have none."""
    found = Counter(
        policy.weight_of_check(check)
        for check in checks
        if check.findings or check.verdict is not Verdict.VERIFIED
    )
    found.update(policy.weight_of_diagnostic(one) for one in diagnostics)
    return found


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def label(check: Check) -> str:
    """The label of a reference in a report: its key, else its title or its first words; for a PDF
    its number and page."""
    if check.claim.page:
        return f"Reference {check.claim.key} (page {check.claim.page})"
    return check.claim.key or check.claim.title or check.claim.raw[:80] or "(no key)"


def headline(check: Check) -> str:
    """One sentence: the verdict and its strongest reason."""
    reasons = [one for one in check.findings if counts(one)]
    reason = max(reasons, key=lambda one: one.confidence).message if reasons else ""
    return f"{label(check)}: {words_of(check).label}. {reason}".rstrip()


def to_json(
    checks: Sequence[Check],
    problems: Sequence[Problem] = (),
    diagnostics: Sequence[LocatedDiagnostic] = (),
    policy: Policy | None = None,
) -> dict[str, Any]:
    """The whole result as JSON-ready data; see docs/check.md for its shape."""
    policy = policy or POLICIES["default"]
    counts = weighed(policy, checks, diagnostics)
    return {
        "version": __version__,
        "counts": {verdict.value: count for verdict, count in tally(checks).items()},
        "policy": {"name": policy.name, **{weight.value: counts[weight] for weight in Weight}},
        "checks": [
            {"weight": policy.weight_of_check(one).value, **msgspec.to_builtins(one, str_keys=True)}
            for one in checks
        ],
        "diagnostics": [
            {"weight": policy.weight_of_diagnostic(one).value, **msgspec.to_builtins(one)}
            for one in diagnostics
        ],
        "problems": msgspec.to_builtins(problems),
    }


def to_ris(checks: Sequence[Check]) -> str:
    """The references in RIS: the record of each, if found, else its own fields.

    The verdict is a note (`N1`). Likely fabricated references are left out: a reference manager
    would keep them without the note.
    """
    return "".join(
        ris_of_work(_work_of(check), key=check.claim.key, note=headline(check))
        for check in checks
        if check.verdict is not Verdict.FABRICATED
    )


def _work_of(check: Check) -> Work:
    if check.work is not None:
        return check.work
    claim = check.claim
    in_journal = claim.venue_field in JOURNAL_FIELDS
    return Work(
        id=claim.key,
        title=claim.title or claim.raw,
        authors=claim.authors,
        others=claim.others,
        year=claim.year,
        kind=claim.kind,
        journal=claim.venue if in_journal else "",
        booktitle="" if in_journal else claim.venue,
        volume=claim.volume,
        pages=claim.pages,
        doi=claim.doi,
        arxiv=claim.arxiv,
    )


def to_sarif(
    checks: Sequence[Check],
    root: Path | None = None,
    diagnostics: Sequence[LocatedDiagnostic] = (),
    *,
    every: bool = False,
) -> dict[str, Any]:
    """A SARIF 2.1.0 log: one result per finding and per diagnostic; the counts of the verdicts are
    properties.

    With `every` also one per reference that was not found, or not looked up. Paths below `root` are
    written relative to it. Fingerprints cover the entry's content and not its position, so that a
    viewer recognises a finding when lines move.
    """
    rows = [row for check in checks for row in _sarif_rows(check, every)]
    rules = sorted({rule for rule, *_ in rows} | {one.code for one in diagnostics})
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
        if check.mark is not None:
            result["suppressions"] = [
                {"kind": "inSource", "justification": f"{MARKED.label} on {check.mark.shown}"}
            ]
        print_ = _fingerprint(rule, check)
        seen[print_] += 1
        result["partialFingerprints"] = {"finding/v1": f"{print_}:{seen[print_]}"}
        results.append(result)
    for fault in diagnostics:
        print_ = _digest(fault.code, fault.message, PurePath(fault.path).name)
        seen[print_] += 1
        region = {"startLine": fault.line, "startColumn": fault.column}
        place = {"artifactLocation": {"uri": _uri(fault.path, root)}, "region": region}
        results.append({
            "ruleId": fault.code,
            "ruleIndex": rules.index(fault.code),
            "level": fault.level.value if fault.level is not Level.INFORMATION else "note",
            "message": {"text": fault.message},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {"finding/v1": f"{print_}:{seen[print_]}"},
        })  # fmt: skip
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
    return VERDICTS[Verdict(verdict)].meaning if verdict != rule else CODES.get(rule, rule)


def _fingerprint(rule: str, check: Check) -> str:
    claim = check.claim
    return _digest(rule, claim.key, claim.title or claim.raw, PurePath(claim.path).name)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _sarif_rows(check: Check, every: bool) -> Iterator[tuple[str, str, str, Check]]:
    for one in check.findings:
        level = _level(check, one)
        link = f" {one.url}" if one.url else ""
        yield one.code, level, f"{label(check)}: {_with_hint(one)}{link}", check
    if every and _unsettled(check):
        yield f"reference-{check.verdict.value}", "note", headline(check), check


def _level(check: Check, finding: FieldFinding) -> str:
    return _LEVELS[finding.severity] if counts(finding) and check.mark is None else "note"


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
    return quote(PurePath(place).as_posix())


def in_words(checks: Sequence[Check]) -> str:
    """The counts of the verdicts: "3 references: 1 not found, 2 verified."."""
    noun = "reference" if len(checks) == 1 else "references"
    words = [f"{n:,} {VERDICTS[verdict].label}" for verdict, n in tally(checks).items() if n]
    if marked := sum(check.mark is not None for check in checks):
        words[-1] += f"; {marked:,} {MARKED.label}"
    return f"{len(checks):,} {noun}{': ' if words else ''}{', '.join(words)}."


def to_github(
    checks: Sequence[Check], diagnostics: Sequence[LocatedDiagnostic] = (), *, every: bool = False
) -> Iterator[str]:
    """Workflow commands that GitHub shows beside the lines of a pull request; the last one has the
    counts.

    With `every` also a notice per reference that was not found, or not looked up.
    """
    for check in checks:
        words = words_of(check)
        title = _escaped(f"{label(check)}: {words.label}", True)
        if every and _unsettled(check):
            yield f"::notice {_place(check)},title={title}::{_escaped(words.meaning)}"
        for one in check.findings:
            kind = {"note": "notice"}.get(level := _level(check, one), level)
            yield f"::{kind} {_place(check)},title={title}::{_escaped(_with_hint(one))}"
    for fault in diagnostics:
        kind = fault.level.value if fault.level in (Level.ERROR, Level.WARNING) else "notice"
        place = f"file={_escaped(fault.path, True)},line={fault.line},col={fault.column}"
        yield f"::{kind} {place},title={fault.code}::{_escaped(fault.message)}"
    yield f"::notice title=References::{_escaped(in_words(checks))}"


def _place(check: Check) -> str:
    place = f"file={_escaped(check.claim.path, True)}"
    return f"{place},line={check.claim.line}" if check.claim.line else place


def _escaped(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
