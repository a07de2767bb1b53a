"""All that an editor underlines in one file: the lint, and what is known of its references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from citewell.documents.project.paper_project import Project
from citewell.features.checking import verify
from citewell.features.checking.lint import CODES as LINT_CODES
from citewell.features.checking.lint import LintPaper, lint_bib, lint_document
from citewell.features.checking.lint_rule import shown_diagnostics, unknown_codes
from citewell.features.checking.verify import CheckOf, cited_inventions, summarised, verified
from citewell.model import Problem
from citewell.model.bib import BibFile
from citewell.model.document import Diagnostic, Document
from citewell.options.tree import DiagnosticsOptions

CODES = (*LINT_CODES, *verify.CODES)
"""Every code that an editor may show."""


def diagnose(
    source: Document | BibFile,
    projects: Sequence[Project],
    options: DiagnosticsOptions,
    check_of: CheckOf | None = None,
) -> list[Diagnostic]:
    """The diagnostics of a file in the order of its text, as far as the author wants them."""
    if not options.enabled:
        return []
    paper = LintPaper(projects)
    found: Iterable[Diagnostic]
    bib: BibFile | None
    if isinstance(source, BibFile):
        bib, found = source, lint_bib(source, paper)
    else:
        found = lint_document(source, paper)
        # The document may hold its bibliography itself.
        path = Path(source.path)
        bib = next((project.bibs[path] for project in projects if path in project.bibs), None)
    if check_of is not None and options.verification != "off":
        if bib is not None:
            listed = options.list_not_found
            found = chain(found, verified(bib, check_of, options.severity, list_not_found=listed))
        if not isinstance(source, BibFile):
            found = chain(found, cited_inventions(source, projects, check_of, options.severity))
    found = shown_diagnostics(found, source, options.severity)
    if not options.list_not_found:
        found = summarised(found)
    return sorted(found, key=lambda one: one.span)


def wrong_codes(options: DiagnosticsOptions) -> list[Problem]:
    """The names in `diagnostics.severity` that are no codes, each with the nearest one."""
    from citewell.options.values import nearest

    problems = []
    for name in unknown_codes(options.severity, CODES):
        close = nearest(name, CODES)
        hint = f'Did you mean "{close}"?' if close else "See docs/diagnostics.md for the codes."
        problems.append(Problem("diagnostic-unknown", f'Unknown diagnostic code "{name}".', hint))
    return problems
