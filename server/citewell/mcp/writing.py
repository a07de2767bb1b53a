"""The tools that change files, or show what they would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NotRequired

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from citewell.documents.bib.guard import check_edits
from citewell.documents.bib.reader import parse_bib
from citewell.documents.project.files import FileCache
from citewell.documents.scan import format_of
from citewell.features.citing.insert import InsertPlan, plan_entries, plan_entry
from citewell.features.citing.named_works import all_named
from citewell.features.citing.write import RebasedText, write_plan
from citewell.features.text.diff import unified_diff
from citewell.features.text.evidence import what_it_says
from citewell.mcp.client_log import notify_written
from citewell.mcp.finding import notify_dropped
from citewell.mcp.papers import MAX_TOKENS, Ref, paper_of, tokens_of, within
from citewell.mcp.tool_context import ToolContext, answer, notes_of, progress_of, tool_errors
from citewell.model import CitewellError, Problem, Work
from citewell.model.bib import BibFile, FileEdit
from citewell.model.cancel import Cancel
from citewell.model.document import Format
from citewell.usecases.fill import FillTask
from citewell.usecases.fill_plan import FillPlan, PlaceholderFill, learn_fill
from citewell.usecases.find import Progress, no_progress, status_of

# What a fill answers, within a bound of tokens.


class FilledPlaceholder(TypedDict, total=False):
    """A placeholder; open while it has no key."""

    n: int
    place: str
    text: str
    confidence: float
    key: str
    paper: Ref
    supported: str
    reason: str
    candidates: list[Ref]


class Fill(TypedDict):
    """What is or would be changed."""

    written: bool
    placeholders: list[FilledPlaceholder]
    diff: str
    notes: NotRequired[str]


def bounded(done: Fill, *, diff: bool, budget: int) -> Fill:
    """The answer of a fill within a number of tokens: the placeholders without candidates, then
    their candidates, then the diff, as far as they fit; `notes` list what was cut."""
    budget = min(budget, MAX_TOKENS)
    notes = [done["notes"]] if "notes" in done else []
    plain: list[FilledPlaceholder] = [
        {name: value for name, value in one.items() if name != "candidates"}  # type: ignore[misc]
        for one in done["placeholders"]
    ]
    kept = within(plain, budget)
    spent = sum(map(tokens_of, plain[:kept]))
    shown = plain[:kept]
    if kept < len(plain):
        notes.append(f"Placeholders {kept + 1} to {len(plain)} are omitted because of max_tokens.")
    without = []
    for number, one in enumerate(done["placeholders"][:kept]):
        if one.get("candidates"):
            spent += tokens_of(one["candidates"])
            if spent <= budget:
                shown[number] = one
            else:
                without.append(str(one["n"]))
    if without:
        notes.append(f"Candidates are omitted because of max_tokens: {', '.join(without)[:200]}.")
    text = done["diff"] if diff else ""
    if text and spent + tokens_of(text) > budget:
        notes.append(f"The diff is omitted because of max_tokens: it has {tokens_of(text)} tokens.")
        text = ""
    found: Fill = {"written": done["written"], "placeholders": shown, "diff": text}
    if notes:
        found["notes"] = "\n".join(notes)
    return found


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


class WritingTools:
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
            self._tools.may(write)
        task, chosen = await self._tools.run(partial(self._task, choices or {}, threshold, online))
        planning = partial(self._plan, task, path, progress_of(ctx))
        plan = await self._tools.run(planning, "online" if online else "document")
        await notify_dropped(ctx, plan.results)
        fill = partial(self._fill, task, plan, path, chosen, write)
        done = await self._tools.run(fill, "document")
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
            self._tools.may(write)
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
            self._tools.may(write)
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
        self,
        task: FillTask,
        plan: FillPlan,
        path: str,
        chosen: set[int],
        write: bool,
        cancel: Cancel,
    ) -> Fill:
        if write:
            again = partial(self._plan, task, path, no_progress, cancel)
            plan = write_plan(plan, again, partial(self._tools.write, cancel=cancel))
        written = write and bool(plan.edits)
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

    def _filled(self, n: int, found: PlaceholderFill) -> FilledPlaceholder:
        one: FilledPlaceholder = {
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

        def planned(path: Path, parsed: BibFile | None) -> InsertPlan:
            return plan_entry(path, parsed, work, self._tools.options, key=key)

        path, plan = self._entered(bib, planned, write, cancel)
        written = write and bool(plan.edits)
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
        keys: list[str] = []

        def planned(path: Path, parsed: BibFile | None) -> InsertPlan:
            plan, keys[:] = plan_entries(path, parsed, works, self._tools.options)
            return plan

        path, plan = self._entered(bib, planned, write, cancel)
        written = write and bool(plan.edits)
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

    def _entered(
        self,
        bib: str,
        planned: Callable[[Path, BibFile | None], InsertPlan],
        write: bool,
        cancel: Cancel,
    ) -> tuple[Path, InsertPlan]:
        """The .bib of a name with the plan of its entries, which is checked, and written where that
        is wanted. Raises `CitewellError`."""
        path = self._tools.roots.find(bib, new=True)

        def plan() -> InsertPlan:
            parsed = self._bib(path)
            made = planned(path, parsed)
            if not made.key:
                raise CitewellError(made.problems[0])
            known = parsed or parse_bib("", str(path))
            check_edits(made.edits, made.texts, lambda _path, _text: known)
            return made

        made = plan()
        return path, write_plan(
            made, plan, partial(self._tools.write, cancel=cancel)
        ) if write else made

    @staticmethod
    def _bib(path: Path) -> BibFile | None:
        """A .bib as it is now; None for one that is still to be made."""
        text = FileCache().text(path)
        if isinstance(text, Problem):
            raise CitewellError(text)
        return None if text is None else parse_bib(text, str(path))


def _entry(work: Work, key: str, *, there: bool) -> Entry:
    record: dict[str, Any] = {**paper_of(work, "ids", key=key), "already_there": there}
    return record  # type: ignore[return-value]


def _need_bib(name: str) -> None:
    if not name.lower().endswith(".bib"):
        raise CitewellError(
            Problem("mcp-no-bib", f"{name[:200]!r} is not a .bib file.", "Give a .bib file.")
        )


def _diff(plan: InsertPlan, edit: FileEdit, shown: str) -> str:
    edited = RebasedText(plan.texts[edit.path])
    edited.apply(edit.edits)
    return unified_diff(edited.original, edited.text, shown, new=edit.create)
