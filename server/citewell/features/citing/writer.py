"""Many citations of one project written together: their entries, then the citations, as edits."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from citewell.documents.project.paper_project import Project
from citewell.features.citing.citation import citation_edit
from citewell.features.citing.insert import InsertPlan, plan_copy, plan_insert
from citewell.features.citing.write import RebasedText
from citewell.features.text.diff import unified_diff
from citewell.model import Problem, Work
from citewell.model.bib import BibFile, FileEdit
from citewell.model.document import Document, Placeholder
from citewell.options import Options


class PlaceholderCitation(msgspec.Struct, frozen=True):
    """What a placeholder will cite."""

    key: str = ""
    """Empty when the work cannot be entered."""
    is_new: bool = False
    """The work's entry is added; else the bibliography had it."""
    reason: str = ""
    """Why there is no key."""


class CitationWriter:
    """Collects the edits of all files; each insertion sees the bibliography as the ones before
    it left it, so that keys stay distinct and no work is entered twice."""

    def __init__(self, project: Project, options: Options) -> None:
        self.options = options
        self.cache = project.fresh_cache()
        self.before = project
        self.project = project
        self.texts: dict[Path, RebasedText] = {}
        self.created: set[Path] = set()
        self.added: dict[Path, tuple[str, ...]] = {}
        """Keys of the entries that each .bib gets."""
        self.cited: list[tuple[Path, Placeholder, str]] = []
        self.problems: list[Problem] = []

    def cite(self, path: Path, placeholder: Placeholder, work: Work) -> PlaceholderCitation:
        """Enter the work into the bibliography; the placeholder is written by `finish`."""
        done = self.enter_work(path, work)
        if done.key:
            self.cited.append((path, placeholder, done.key))
        return done

    def enter_work(self, path: Path, work: Work) -> PlaceholderCitation:
        """Enter the work into the bibliography, for a citation in the file `path`."""
        plan = plan_insert(self.project, work, self.options, for_path=path)
        self._make(plan)
        if not plan.key:
            reason = plan.problems[0].message if plan.problems else "no entry can be written"
            return PlaceholderCitation(reason=reason)
        return PlaceholderCitation(plan.key, bool(plan.edits))

    def enter(self, path: Path, work: Work, key: str) -> bool:
        """Enter the work under exactly this key, for a citation in the file `path`; False, and
        nothing is entered, where that cannot be."""
        plan = plan_insert(self.project, work, self.options, for_path=path, key=key)
        if plan.key and plan.key != key:
            return False
        return self._make(plan)

    def copy(self, path: Path, source: BibFile, key: str) -> bool:
        """Take over an entry of another program's bibliography with its key."""
        return self._make(plan_copy(self.project, source, key, for_path=path))

    def _make(self, plan: InsertPlan) -> bool:
        """Make the edits of a plan; False where it has none."""
        self.problems += plan.problems
        for edit in plan.edits:
            self._apply(edit, plan.texts[edit.path])
        if plan.edits:
            self._reopen()
        return bool(plan.edits)

    def finish(self) -> tuple[tuple[FileEdit, ...], tuple[str, ...]]:
        """Write the citations into the documents and state all edits against the files."""
        for path, placeholder, key in reversed(self.cited):
            document = self.project.documents[path]
            edited = self._edited(path, self._known(path) or document.text)
            placeholder = self._moved(document, edited, placeholder)
            command = self.options.documents.default_command
            change = citation_edit(document, placeholder, key, command)
            self._apply(FileEdit(str(path), (change,)), document.text)
        order = sorted(self.texts, key=lambda path: path.suffix.lower() != ".bib")
        edits = []
        diffs = []
        for path in order:
            edited = self.texts[path]
            changes = edited.edits()
            if changes:
                new = path in self.created
                added = self.added.get(path, ())
                edits.append(FileEdit(str(path), changes, create=new, adds=added))
                diffs.append(unified_diff(edited.original, edited.text, self._shown(path), new=new))
        return tuple(edits), tuple(diffs)

    def _apply(self, edit: FileEdit, text: str) -> None:
        """Make an edit of a file that holds `text` now."""
        path = Path(edit.path)
        if edit.create and path not in self.texts:
            self.created.add(path)
        self.added[path] = (*self.added.get(path, ()), *edit.adds)
        self._edited(path, text).apply(edit.edits)

    def _edited(self, path: Path, text: str) -> RebasedText:
        """The edited file, which held `text` before the first edit. It is not read again: another
        program may be writing it."""
        if path not in self.texts:
            self.texts[path] = RebasedText(text)
        return self.texts[path]

    def _known(self, path: Path) -> str | None:
        """The text that the plan is made from; an editor's buffer may differ from the disk."""
        known = self.before.documents.get(path) or self.before.bibs.get(path)
        return None if known is None else known.text

    def _reopen(self) -> None:
        """Read the project as it would be with the edits so far; files that did not change come
        from the cache."""
        self.project = type(self.before).open(
            self.before.path,
            self.options.documents,
            roots=self.before.roots,
            read=self._overlay,
            bib_options=self.options.bib,
            cache=self.cache,
            own_folders=self.before.own_folders,
        )

    def _overlay(self, path: Path) -> str | None:
        edited = self.texts.get(path)
        return self._known(path) if edited is None else edited.text

    def _moved(
        self, document: Document, edited: RebasedText, placeholder: Placeholder
    ) -> Placeholder:
        """The placeholder where it stands now: a declaration may have come in before it."""
        place = edited.now(placeholder.span.start), edited.now(placeholder.query_span.start)
        for moved in document.placeholders:
            if (moved.span.start, moved.query_span.start) == place:
                return moved
        return placeholder

    def _shown(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.before.root.parent)).as_posix()
