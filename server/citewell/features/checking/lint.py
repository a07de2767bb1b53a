"""The lint: every rule over one file, given the papers that the file belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from citewell.documents.project.paper_project import Project
from citewell.features.checking import (
    lint_bibs,
    lint_documents,  # noqa: F401 - they fill the rules
)
from citewell.features.checking.lint_rule import (
    RULES,
    LintFinding,
    LintPaper,
    Rule,
    shown_diagnostics,
)
from citewell.model.bib import BibFile
from citewell.model.document import Diagnostic, Document, Format

__all__ = ["CODES", "RULES", "LintPaper", "lint", "lint_bib", "lint_document"]

CODES = (*(rule.code for rule in RULES if rule.code != lint_bibs.ANY_SYNTAX), *lint_bibs.SYNTAX)
"""Every code that the lint reports."""


def lint(
    source: Document | BibFile,
    projects: Sequence[Project],
    levels: Mapping[str, str] | None = None,
) -> list[Diagnostic]:
    """All that is wrong in a file, in the order of the text, as far as the author wants to hear it.

    `levels` are the settings' `diagnostics.severity`.
    """
    paper = LintPaper(projects)
    found = lint_bib(source, paper) if isinstance(source, BibFile) else lint_document(source, paper)
    return sorted(shown_diagnostics(found, source, levels or {}), key=lambda one: one.span)


def lint_document(document: Document, paper: LintPaper) -> Iterator[Diagnostic]:
    """The diagnostics of the rules for manuscripts, rule by rule."""
    if document.format is Format.BIBTEX:
        return iter(())
    return chain.from_iterable(
        _diagnostics(rule, rule.in_document(document, paper))
        for rule in RULES
        if rule.in_document is not None
    )


def lint_bib(bib: BibFile, paper: LintPaper) -> Iterator[Diagnostic]:
    """The diagnostics of the rules for bibliographies, rule by rule."""
    return chain.from_iterable(
        _diagnostics(rule, rule.in_bib(bib, paper)) for rule in RULES if rule.in_bib is not None
    )


def _diagnostics(rule: Rule, findings: Iterator[LintFinding]) -> Iterator[Diagnostic]:
    for finding in findings:
        yield Diagnostic(
            code=finding.code or rule.code,
            span=finding.span,
            message=finding.message,
            level=finding.level or rule.level,
            unnecessary=rule.unnecessary,
            related=finding.related,
            data=finding.data,
        )
