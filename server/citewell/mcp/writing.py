"""The tools that change files, or show what they would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from citewell.documents.bib.guard import BibOf, check_edits
from citewell.documents.bib.reader import parse_bib
from citewell.documents.project.files import FileCache
from citewell.documents.scan import format_of
from citewell.features.citing.insert import InsertPlan, plan_entries, plan_entry
from citewell.features.citing.named_works import all_named
from citewell.features.citing.text_rebase import RebasedText
from citewell.features.citing.write import write_edits
from citewell.features.text.diff import unified_diff
from citewell.features.text.model_choice import what_it_says
from citewell.mcp.client_log import log_to_client
from citewell.mcp.filled import Fill, Filled, bounded
from citewell.mcp.finding import notify_dropped
from citewell.mcp.papers import Ref, paper_of
from citewell.mcp.roots import outside
from citewell.mcp.tool_context import ToolContext, answer, notes_of, progress_of, tool_errors
from citewell.model import CitewellError, Problem, Work
from citewell.model.bib import BibFile, FileEdit
from citewell.model.cancel import Cancel
from citewell.model.document import Format
from citewell.usecases.fill import FillTask
from citewell.usecases.fill_plan import FillPlan, PlaceholderFill, learn_fill, write_fill
from citewell.usecases.find import Progress, no_progress, status_of

SHOWN = 5
"""Candidates that are shown of an open placeholder."""


class Added(TypedDict):
    """The entry."""

    written: bool
    key: str
    paper: Ref
    already_there: bool
    diff: str


class Entry(Ref):
    """One of several."""

    key: str
    already_there: bool


class AddedEntries(TypedDict):
    """The entries, in the order of the ids."""

    written: bool
    entries: list[Entry]
    diff: str


class Writing:
    """Each method is a tool; its docstring is what a model reads."""

    def __init__(self, tools: ToolContext) -> None:
        self._tools = tools

    async def fill_document(
        self,
        path: str,
        ctx: Context,
        choices: dict[str, str] | None = None,
        threshold: Annotated[float, Field(ge=0, le=1)] | None = None,
        write: bool = False,
        online: bool = False,
        diff: bool = True,
        max_tokens: int = 8000,
    ) -> Annotated[CallToolResult, Fill]:
        """Replace the citation placeholders of a paper (\\cite{?}, [CITATION], [@?words] ...) and
        add entries to its .bib. Without `write` only show the diff. `choices`: placeholder
        n -> paper id, or "" to leave it open; others with words take their best paper from the
        threshold on, with `online` from sources too."""
        with tool_errors():
            self._may(write)
        task, chosen = await self._tools.run(partial(self._task, choices or {}, threshold, online))
        # Searches run before taking the lock; under it, only new placeholders are searched for.
        planning = partial(self._plan, task, path, progress_of(ctx))
        plan = await self._tools.run(planning, "online" if online else "document")
        await notify_dropped(ctx, plan.results)
        done = await self._tools.run(partial(self._fill, task, path, chosen, write), "document")
        await notify_written(ctx, done["written"], path)
        return answer(bounded(done, diff=diff, budget=max_tokens))

    async def add_entry(
        self,
        id: str,
        bib: str,
        ctx: Context,
        key: str = "",
        write: bool = False,
    ) -> Annotated[CallToolResult, Added]:
        """Add the record with this id (or DOI, arXiv id) to a .bib file. Cite the
        returned `key`. Without `write` it only shows the diff."""
        with tool_errors():
            self._may(write)
        done = await self._tools.run(partial(self._add, id, bib, key, write), "document")
        await notify_written(ctx, done["written"], bib)
        return answer(done)

    async def add_entries(
        self,
        ids: Annotated[list[str], Field(min_length=1, max_length=50)],
        bib: str,
        ctx: Context,
        write: bool = False,
    ) -> Annotated[CallToolResult, AddedEntries]:
        """Add several records to a .bib file, or none if an id is unknown."""
        with tool_errors():
            self._may(write)
        done = await self._tools.run(partial(self._add_all, ids, bib, write), "document")
        await notify_written(ctx, done["written"], bib)
        return answer(done)

    def _task(
        self, choices: Mapping[str, str], threshold: float | None, online: bool, cancel: Cancel
    ) -> tuple[FillTask, set[int]]:
        """The fill, and the numbers of the placeholders for which the agent has chosen."""
        chosen = {n: self._tools.work(work) if work else None for n, work in choices.items()}
        task = FillTask(
            self._tools.engine,
            self._tools.options,
            threshold=threshold,
            online=online,
            choices=chosen,
        )
        return task, {int(n) for n in chosen if n.isdecimal()}

    def _plan(self, task: FillTask, path: str, progress: Progress, cancel: Cancel) -> FillPlan:
        file = self._tools.roots.find(path)
        if format_of(file) not in (Format.LATEX, Format.MARKDOWN):
            raise CitewellError(
                Problem(
                    "mcp-no-paper",
                    f"{path} is neither a LaTeX nor a Markdown file.",
                    "Give a paper; for a .bib use add_entry.",
                )
            )
        plan = task.run(self._tools.project(file), progress, cancel)
        status_of(plan.results)
        return plan

    def _fill(
        self, task: FillTask, path: str, chosen: set[int], write: bool, cancel: Cancel
    ) -> Fill:
        with self._tools.write_lock.take(cancel):
            plan = self._plan(task, path, no_progress, cancel)
            cancel.check()
            if write:
                self._need_inside(plan.edits)
            written = write and write_fill(plan)
        if written:
            self._tools.log_problems(learn_fill(self._tools.engine, plan, "mcp", chosen))
        done: Fill = {
            "written": written,
            "placeholders": [self._filled(n, one) for n, one in enumerate(plan.fills, 1)],
            "diff": "".join(plan.diffs),
        }
        notes = notes_of(plan.problems)
        if notes:
            done["notes"] = "\n".join(notes)
        return done

    def _filled(self, n: int, found: PlaceholderFill) -> Filled:
        one: Filled = {
            "n": n,
            "place": f"{self._tools.roots.shown(found.path)}:{found.line}",
            "text": found.text,
            "confidence": round(found.confidence, 3),
        }
        if found.hit is not None:
            one["key"] = found.key
            one["paper"] = paper_of(found.hit.work, "ids")
            if found.supported is not None and found.supported.problem is None:
                one["supported"] = what_it_says(found.supported)
            return one
        best: list[Ref] = [paper_of(hit.work, "ids") for hit in found.candidates[:SHOWN]]
        one["candidates"] = best
        one["reason"] = found.advice
        return one

    def _add(self, name: str, bib: str, key: str, write: bool, cancel: Cancel) -> Added:
        _need_bib(bib)
        work = self._tools.work(name)
        with self._tools.write_lock.take(cancel):
            path, parsed = self._bib(bib)
            plan = plan_entry(path, parsed, work, self._tools.options, key=key)
            if not plan.key:
                raise CitewellError(plan.problems[0])
            known = parsed or parse_bib("", str(path))
            check_edits(plan.edits, plan.texts, lambda _path, _text: known)
            written = write and self._write(plan.edits, plan.texts, lambda _path, _text: known)
        if written:
            self._tools.learn(work, path.parent)
        return {
            "written": written,
            "key": plan.key,
            "paper": paper_of(work, "short", key=plan.key),
            "already_there": not plan.edits,
            "diff": "".join(
                _diff(plan, edit, self._tools.roots.shown(path)) for edit in plan.edits
            ),
        }

    def _add_all(self, ids: list[str], bib: str, write: bool, cancel: Cancel) -> AddedEntries:
        _need_bib(bib)
        works = all_named(self._tools.engine, ids)
        with self._tools.write_lock.take(cancel):
            path, parsed = self._bib(bib)
            plan, keys = plan_entries(path, parsed, works, self._tools.options)
            if not keys:
                raise CitewellError(plan.problems[0])
            known = parsed or parse_bib("", str(path))
            check_edits(plan.edits, plan.texts, lambda _path, _text: known)
            written = write and self._write(plan.edits, plan.texts, lambda _path, _text: known)
        new = {key for edit in plan.edits for key in edit.adds}
        if written:
            for work in {key: work for key, work in zip(keys, works, strict=True)}.values():
                self._tools.learn(work, path.parent)
        return {
            "written": written,
            "entries": [
                _entry(work, key, there=key not in new)
                for key, work in zip(keys, works, strict=True)
            ],
            "diff": "".join(
                _diff(plan, edit, self._tools.roots.shown(path)) for edit in plan.edits
            ),
        }

    def _bib(self, name: str) -> tuple[Path, BibFile | None]:
        """The .bib of a name in the roots; None for one that is still to be made."""
        path = self._tools.roots.find(name, new=True)
        text = FileCache().text(path)
        if isinstance(text, Problem):
            raise CitewellError(text)
        return path, None if text is None else FileCache().bib(path, text)

    def _may(self, write: bool) -> None:
        if write and not self._tools.allow_write:
            raise CitewellError(
                Problem(
                    "mcp-read-only",
                    "This server is read-only.",
                    "Call without write and show the diff, or ask the user to start it as "
                    "`citewell mcp --allow-write --root FOLDER`.",
                )
            )

    def _write(
        self, edits: Sequence[FileEdit], texts: Mapping[str, str], bib_of: BibOf | None = None
    ) -> bool:
        self._need_inside(edits)
        return write_edits(edits, texts, bib_of)

    def _need_inside(self, edits: Sequence[FileEdit]) -> None:
        for edit in edits:
            if not self._tools.roots.holds(Path(edit.path)):
                raise CitewellError(outside(edit.path))


def _entry(work: Work, key: str, *, there: bool) -> Entry:
    record: dict[str, Any] = {**paper_of(work, "ids", key=key), "already_there": there}
    return record  # type: ignore[return-value]


def _need_bib(name: str) -> None:
    if not name.lower().endswith(".bib"):
        raise CitewellError(
            Problem("mcp-no-bib", f"{name[:200]!r} is not a .bib file.", "Give a .bib file.")
        )


async def notify_written(ctx: Context, written: bool, path: str) -> None:
    """Log to the client that files have changed."""
    if written:
        await log_to_client(ctx, "notice", f"{path[:200]} and what belongs to it was changed")


def _diff(plan: InsertPlan, edit: FileEdit, shown: str) -> str:
    edited = RebasedText(plan.texts[edit.path])
    edited.apply(edit.edits)
    return unified_diff(edited.original, edited.text, shown, new=edit.create)
