"""What blocks a submission, what is to be corrected, and what is a note (`check --policy`)."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

import msgspec

from citewell.documents.project.files import FileCache, SourceFiles, format_of
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.textfile import is_stream
from citewell.features.checking.check import ORDER, counts
from citewell.features.checking.lint import CODES as LINT_CODES
from citewell.features.checking.lint import SYNTAX, lint
from citewell.model import CitewellError, Problem
from citewell.model.check import INVENTED, Check, Verdict
from citewell.model.document import Diagnostic, Format, Level
from citewell.model.system.files import FileError
from citewell.options.tree import DocumentOptions
from citewell.verification.finding import MEANINGS

# The lint of whole papers, for commands and reports: what editors underline, with line numbers.


class LocatedDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A diagnostic as a person or another program finds it."""

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

    `levels` are the settings' `diagnostics.severity`. Hints are left out. Other files than papers
    and folders have none; what cannot be read is a problem of the check.
    """
    found: dict[LocatedDiagnostic, None] = {}
    for path in paths:
        try:
            for project in _projects_of(path, options or DocumentOptions()):
                found |= dict.fromkeys(_lint_project(project, levels or {}))
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


def _lint_project(project: Project, levels: Mapping[str, str]) -> Iterator[LocatedDiagnostic]:
    for document in project.documents.values():
        yield from _located(lint(document, [project], levels), document.path, document.text)
    for bib in project.bibliographies:
        yield from _located(lint(bib, [project], levels), bib.path, bib.text)


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
    """What a finding means for a submission."""

    BLOCKING = "blocking"
    CORRECT = "to correct"
    NOTE = "note"


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of verdicts, of findings and of diagnostics by weight; what is not named is a note."""

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
        """The weight of a reference by its verdict and the findings that bear on it; one that is
        marked as checked is a note."""
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
    # As the chairs put it: a title that cannot be found, a badly wrong list of authors, or a venue
    # of which there is no evidence make a reference a fabrication; small errors do not.
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
"""All that a policy may name."""


def failing_from(verdict: str) -> Policy:
    """The default policy, with this verdict and the worse ones blocking; none with "never"."""
    default = POLICIES["default"]
    if verdict == "never":
        return msgspec.structs.replace(default, blocking=frozenset())
    bad = {one.value for one in ORDER[: ORDER.index(Verdict(verdict)) + 1]}
    return msgspec.structs.replace(default, blocking=default.blocking | bad)


def policy_named(name: str) -> Policy:
    """A policy that ships, or the one in a TOML file. Raises `CitewellError`."""
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
    """How many references and diagnostics have each weight; what is verified has none."""
    found = Counter(
        policy.weight_of_check(check)
        for check in checks
        if check.findings or check.verdict is not Verdict.VERIFIED
    )
    found.update(policy.weight_of_diagnostic(one) for one in diagnostics)
    return found
