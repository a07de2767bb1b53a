"""The file that a declaration of a missing bibliography may have meant."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.documents.project.paper_project import Project
from citewell.features.action import QUICK_FIX, Action, ActionPlan
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import BibDeclaration, Document, Span


class MissingBib(msgspec.Struct, frozen=True):
    """A declaration of a file that does not exist, and the only file of its name."""

    span: Span
    target: str
    """The path to that file, as the declaration writes paths."""


def missing_bibs(project: Project, document: Document) -> Iterator[MissingBib]:
    """The declarations of a document whose file the workspace has in one other place."""
    declared = [one for one in project.declared_bibs if project.documents.get(one[0]) is document]
    names = Counter(declaration.span for _, declaration, _ in declared)
    for source, declaration, path in declared:
        # A macro may stand for several names.
        if path not in project.missing_bibs or names[declaration.span] > 1:
            continue
        found = project.namesake(path)
        if found is not None:
            yield MissingBib(declaration.span, _target(project, source, declaration, found))


def bib_path_action(missing: MissingBib) -> Action:
    """The quick fix of the diagnostic `bib-missing`."""
    return Action(
        title=f"Use `{missing.target}`",
        kind=QUICK_FIX,
        name="use",
        arguments={"start": missing.span.start, "target": missing.target},
        fixes=("bib-missing",),
        span=missing.span,
        is_preferred=True,
    )


def plan_bib_path(document: Document, missing: MissingBib) -> ActionPlan:
    """The path in the declaration is replaced; nothing else changes."""
    edit = FileEdit(document.path, (TextEdit(missing.span, missing.target),))
    return ActionPlan(
        edits=(edit,), texts={Path(document.path): document.text}, label=f"Use {missing.target}"
    )


def _target(project: Project, source: Path, declaration: BibDeclaration, found: Path) -> str:
    base = source.parent if declaration.command == "yaml" else project.root.parent
    try:
        target = Path(os.path.relpath(found, base)).as_posix()
    except ValueError:  # on another drive
        target = found.as_posix()
    has_suffix = declaration.target.lower().endswith(found.suffix.lower())
    return target if has_suffix else target.removesuffix(found.suffix)
