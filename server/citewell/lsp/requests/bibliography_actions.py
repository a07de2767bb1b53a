"""Actions in a .bib: complete an entry from its record, merge, sort, remove."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from citewell.features.action import QUICK_FIX, Action, ActionPlan
from citewell.lsp.requests.action_contract import ActionRequest, ChosenAction
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import BibDeclaration, Document, Span
from citewell.sources.registry import titles_of_work

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.engine.contract import Engine
    from citewell.engine.worker_client import WorkerEngine
    from citewell.features.bib.sort import By
    from citewell.lsp.documents.buffers import Buffers, Snapshot, WorkspaceSnapshot
    from citewell.lsp.documents.projects import Projects
    from citewell.lsp.state.checking import ReferenceChecks
    from citewell.model import Work
    from citewell.model.bib import BibEntry, BibFile
    from citewell.model.check import Check

LARGE = 5_000
"""Number of entries above which a lamp does not consider actions on the whole file."""


class BibliographyActions(Struct, frozen=True, eq=False):
    """Actions that keep a .bib in order."""

    name = "bibliography"
    kinds = ("quickfix", "refactor.rewrite", "source.sortBib", "source.removeUnused")

    engine: Engine

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The actions on the entry at the cursor, and on the file."""
        from citewell.features.bib import actions as feature
        from citewell.features.checking.lint_rule import LintPaper

        if not request.is_bib:
            return ()
        projects = request.projects
        snapshot = await projects.workspace(request.uri)
        bib = snapshot.linked.bib if snapshot is not None else None
        if snapshot is None or bib is None:
            return ()
        offset = snapshot.index.offset(request.range.start)
        entry = next((e for e in bib.entries if e.start <= offset <= e.end), None)
        quick = request.automatic and len(bib.entries) > LARGE

        def look() -> list[Action]:
            paper = LintPaper(snapshot.linked.projects)
            found: list[Action] = []
            if entry is not None and entry.key and not quick:
                found = feature.entry_actions(bib, entry, paper, snapshot.linked.all_keys)
            return found if request.automatic else [*found, *feature.file_actions(bib, paper)]

        found = await projects.read(look)
        if entry is None or not entry.key:
            return found
        record = await _record(self.engine, entry)
        if record is not None and await projects.read(lambda: _changes(bib, entry, record)):
            origin = titles_of_work(record)[0] if record.provenance else record.id
            return [feature.normalise_action(entry, origin), *found]
        return found

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits of the chosen action."""
        # An unread file may cite the entries to be removed.
        snapshot = await chosen.projects.workspace(chosen.uri)
        bib = snapshot.linked.bib if snapshot is not None else None
        if snapshot is None or bib is None:
            return None
        if chosen.name in ("sort", "remove-unused"):
            return await chosen.projects.read(lambda: _whole_file(chosen, snapshot, bib))
        from citewell.features.bib.actions import entry_near

        entry = entry_near(bib, chosen.number("start", 0), chosen.text("key"))
        if entry is None:
            return None
        if chosen.name == "normalise":
            record = await _record(self.engine, entry)
            if record is None:
                return None
            return await chosen.projects.read(lambda: _normalised(bib, entry, record))
        return await chosen.projects.read(lambda: _of_entry(chosen, snapshot, bib, entry))


def _whole_file(chosen: ChosenAction, snapshot: WorkspaceSnapshot, bib: BibFile) -> ActionPlan:
    from citewell.features.bib import actions as feature
    from citewell.features.bib.sort import unused_entries
    from citewell.features.checking.lint_rule import LintPaper

    if chosen.name == "sort":
        by: By = "author" if chosen.text("by") == "author" else "key"
        return feature.plan_sort(bib, by)
    unused = unused_entries(bib, LintPaper(snapshot.linked.projects))
    return feature.plan_removal(bib, unused)


def _of_entry(
    chosen: ChosenAction, snapshot: WorkspaceSnapshot, bib: BibFile, entry: BibEntry
) -> ActionPlan | None:
    from citewell.features.bib import actions as feature
    from citewell.features.bib.actions import plan_merge, twins_of
    from citewell.features.checking.lint_rule import LintPaper

    if chosen.name == "remove":
        return feature.plan_removal(bib, [entry])
    paper = LintPaper(snapshot.linked.projects)
    group = [entry, *twins_of(bib, entry, paper)]
    kept = next((one for one in group if one.key == chosen.text("kept")), None)
    if kept is None or len(group) < 2:
        return None
    gone = [one for one in group if one is not kept]
    return plan_merge(bib, kept, gone, snapshot.linked.all_keys, snapshot.linked.projects)


async def _record(engine: Engine, entry: BibEntry) -> Work | None:
    """The library's record of an entry's work, by DOI, arXiv identifier or title."""
    from citewell.features.bib.actions import record_of

    body, title = entry.body, entry.get("title")

    def look_up() -> list[Work]:
        found: list[Work] = []
        if body.doi or body.arxiv:
            found += engine.lookup(doi=body.doi, arxiv=body.arxiv)
        if title:
            found += engine.lookup(title=title)
        return found

    return record_of(entry, await asyncio.to_thread(look_up))


def _changes(bib: BibFile, entry: BibEntry, record: Work) -> bool:
    from citewell.features.bib.actions import normalise

    return bool(normalise(bib, entry, record))


def _normalised(bib: BibFile, entry: BibEntry, record: Work) -> ActionPlan:
    from citewell.features.bib.actions import in_file, normalise

    return in_file(bib, normalise(bib, entry, record), f"Complete {entry.key} from its record")


# The action for a missing bibliography: name the existing file.


class BibPathActions(Struct, frozen=True, eq=False):
    """Corrects the path of a bibliography."""

    name = "bib-path"
    kinds = ("quickfix",)

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The path of the only file of that name."""

        snapshot = await request.snapshot()
        if snapshot is None:
            return ()
        start = snapshot.index.offset(request.range.start)
        end = snapshot.index.offset(request.range.end)
        found = await _missing(request.projects, snapshot)
        return [
            bib_path_action(one) for one in found if one.span.start <= end and start <= one.span.end
        ]

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edit in the declaration."""

        snapshot = await chosen.projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        start, target = chosen.number("start"), chosen.text("target")
        found = [one for one in await _missing(chosen.projects, snapshot) if one.target == target]
        one = min(found, key=lambda missing: abs(missing.span.start - start), default=None)
        return None if one is None else plan_bib_path(snapshot.document, one)


async def _missing(projects: Projects, snapshot: Snapshot) -> list[MissingBib]:
    def look() -> list[MissingBib]:
        return list(missing_bibs(snapshot.state.project, snapshot.document))

    return await projects.read(look)


# Actions on a checked entry: take its record or the intended paper, mark it as checked, or remove
# it.


class VerificationActions(Struct, frozen=True, eq=False):
    """Corrects references by their records, or removes them."""

    name = "verification"
    kinds = ("quickfix", "refactor.rewrite")

    checking: ReferenceChecks
    buffers: Buffers
    engine: WorkerEngine

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The actions for the entry at the place; none while it is unchecked."""
        found = await request.projects.bib(request.uri) if request.is_bib else None
        reading = self.buffers.reading(request.uri)
        if found is None or reading is None:
            return ()
        bib, offset = found[0], reading[1].index.offset(request.range.start)
        entry = next((e for e in bib.entries if e.start <= offset <= e.end), None)
        if entry is None:
            return ()
        check = await request.projects.read(lambda: self.checking.of(bib, entry))
        if check is None:
            return ()
        meant = [] if request.automatic else await self._meant(request, bib, entry, check)
        snapshot = await request.projects.workspace(request.uri)

        def offered() -> list[Action]:
            from citewell.features.actions.verification import actions_on
            from citewell.usecases.check import doubted_actions

            counts = snapshot.linked.all_keys.counts if snapshot is not None else {}
            here, cited = request.codes(), counts.get(entry.key, 0)
            actions = actions_on(bib, entry, check)
            actions += [*meant, *doubted_actions(entry, check, cited)]
            # Fixes for the requested place come first.
            return sorted(actions, key=lambda one: here.isdisjoint(one.fixes))

        return await request.projects.read(offered)

    async def _meant(
        self, request: ActionRequest, bib: BibFile, entry: BibEntry, check: Check
    ) -> list[Action]:
        """Papers of the library that a doubtful entry may mean."""
        from citewell.usecases import check as changes

        if not changes.is_doubted(check):
            return []
        queries = changes.queries_for_meant(entry, check)
        results = await asyncio.gather(
            *(self.engine.find_async(query, changes.MOST_MEANT) for query in queries)
        )
        lists = [result.hits for result in results]
        return await request.projects.read(lambda: changes.meant_actions(entry, check, lists))

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits for the current entry."""
        found = await chosen.projects.bib(chosen.uri)
        if found is None:
            return None
        bib = found[0]
        entry, check = await chosen.projects.read(lambda: self._known(bib, chosen))
        if entry is None or check is None:
            return None
        return await self._planned(bib, entry, check, chosen)

    async def _planned(
        self, bib: BibFile, entry: BibEntry, check: Check, chosen: ChosenAction
    ) -> ActionPlan | None:
        from citewell.usecases import check as changes

        read = chosen.projects.read
        if chosen.name == changes.MEANT:
            works = await asyncio.to_thread(self.engine.works, [chosen.text("work")])
            work = works[0] if works else None
            if work is None:
                return None
            return await read(
                lambda: _plan(bib, entry, changes.meant_edits(bib, entry, check, work))
            )
        if chosen.name == changes.REMOVE:
            # An unread file may cite the entries to be removed.
            snapshot = await chosen.projects.workspace(chosen.uri)
            if snapshot is None or snapshot.linked.bib is None:
                return None
            present, projects = snapshot.linked.bib, snapshot.linked.projects
            return await read(lambda: _removal(present, projects, entry))
        return await read(lambda: _plan(bib, entry, _edits(bib, entry, check, chosen)))

    def _known(self, bib: BibFile, chosen: ChosenAction) -> tuple[BibEntry | None, Check | None]:
        from citewell.features.actions.verification import EntryId

        entry = EntryId(chosen.text("key"), chosen.number("start", 0)).find(bib)
        return entry, self.checking.of(bib, entry) if entry is not None else None


def _removal(bib: BibFile, projects: Sequence[Project], entry: BibEntry) -> ActionPlan | None:
    from citewell.features.actions.verification import EntryId
    from citewell.usecases.check import citing_documents, removal_edits

    found = EntryId(entry.key, entry.start).find(bib)
    if found is None:
        return None
    documents = citing_documents(projects, bib, entry.key)
    texts = {path: document.text for path, document in documents.items()}
    return ActionPlan(
        edits=tuple(removal_edits(bib, [found], documents.values()).values()),
        texts={Path(bib.path): bib.text, **texts},
        label=f"Remove {entry.key}",
    )


def _edits(
    bib: BibFile, entry: BibEntry, check: Check, chosen: ChosenAction
) -> tuple[TextEdit, ...]:
    from citewell.features.actions.verification import edits_for
    from citewell.usecases.check import MARK, mark_edits

    if chosen.name == MARK:
        return mark_edits(bib, entry, check)
    return edits_for(bib, entry, check, chosen.name, chosen.text("code"))


def _plan(bib: BibFile, entry: BibEntry, edits: tuple[TextEdit, ...]) -> ActionPlan | None:
    if not edits:
        return None
    return ActionPlan(
        edits=(FileEdit(bib.path, edits),),
        texts={Path(bib.path): bib.text},
        label=f"Change {entry.key}",
    )


# The file that the declaration of a missing bibliography may mean.


class MissingBib(msgspec.Struct, frozen=True):
    """A declaration of a missing file, and the only file with that name."""

    span: Span
    target: str
    """The path to that file, in the form of the declaration."""


def missing_bibs(project: Project, document: Document) -> Iterator[MissingBib]:
    """The declarations of a document for missing files with exactly one namesake in the
    workspace."""
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
    """Replace the path in the declaration; nothing else changes."""
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
