"""The tools that change files, or show what they would change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from citewell.documents import FileCache
from citewell.documents.scan import format_of
from citewell.features.diff import unified_diff
from citewell.features.edited_text import EditedText
from citewell.features.fill import PlaceholderFill, plan_fill
from citewell.features.insert import InsertPlan, plan_entry
from citewell.features.write import write_edits
from citewell.mcp.desk import Desk, answer, notes_of
from citewell.mcp.papers import Ref, paper_of
from citewell.mcp.roots import outside
from citewell.model import CitewellError, Hit, Problem
from citewell.model.bib import FileEdit
from citewell.model.cancel import Cancel
from citewell.model.document import Document, Format

CANDIDATES = 5


class Filled(TypedDict):
    """A placeholder; open while it has no key."""

    n: int
    place: str
    text: str
    confidence: float
    key: NotRequired[str]
    paper: NotRequired[Ref]
    reason: NotRequired[str]
    candidates: NotRequired[list[Ref]]


class Fill(TypedDict):
    """What is or would be changed."""

    written: bool
    placeholders: list[Filled]
    diff: str
    notes: NotRequired[str]


class Added(TypedDict):
    """The entry."""

    written: bool
    key: str
    paper: Ref
    already_there: bool
    diff: str


class Writing:
    """Each method is a tool; its docstring is what a model reads."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def fill_document(
        self,
        path: str,
        ctx: Context,
        choices: dict[str, str] | None = None,
        threshold: Annotated[float, Field(ge=0, le=1)] | None = None,
        write: bool = False,
    ) -> Annotated[CallToolResult, Fill]:
        """Replace the citation placeholders of a paper (\\cite{?}, [CITATION], [@?words] ...) and
        add the entries to its .bib. Without `write` it only shows the diff. `choices`: placeholder
        n -> paper id, or "" to leave it open; others take their best paper if it reaches the
        threshold."""
        await ctx.report_progress(0, 1, "searching for every placeholder")
        done = await self._desk.run(
            lambda cancel: self._fill(path, choices or {}, threshold, write, cancel)
        )
        await ctx.report_progress(1, 1, "done")
        return answer(done)

    async def add_entry(
        self,
        id: str,
        bib: str,
        key: str = "",
        write: bool = False,
    ) -> Annotated[CallToolResult, Added]:
        """Add the record with this id (or DOI, arXiv id) to a .bib file. Cite the
        returned `key`: a paper that is there keeps its own. Without `write` it only shows the
        diff."""
        return answer(await self._desk.run(lambda cancel: self._add(id, bib, key, write)))

    def _fill(
        self,
        path: str,
        choices: dict[str, str],
        threshold: float | None,
        write: bool,
        cancel: Cancel,
    ) -> Fill:
        self._may(write)
        file = self._desk.roots.find(path)
        if format_of(file) not in (Format.LATEX, Format.MARKDOWN):
            raise CitewellError(
                Problem(
                    "mcp-no-paper",
                    f"{path} is neither a LaTeX nor a Markdown file.",
                    "Name a paper; for a .bib there is add_entry.",
                )
            )
        with self._desk.writing:
            project = self._desk.project(file)
            options = self._desk.options
            least = options.fill.threshold if threshold is None else threshold
            chosen = {n: self._desk.work(work) if work else None for n, work in choices.items()}
            numbers = _numbers(project.documents.values())
            unknown = set(chosen) - {str(number) for number in numbers.values()}
            if unknown:
                raise CitewellError(
                    Problem(
                        "mcp-no-placeholder",
                        f"There is no placeholder {', '.join(sorted(unknown))}.",
                        f"They are numbered from 1 to {len(numbers)}; call without choices first.",
                    )
                )

            def choose(found: PlaceholderFill) -> Hit | None:
                cancel.check()
                n = str(numbers[found.path, found.placeholder.span.start])
                if n in chosen:
                    work = chosen[n]
                    return None if work is None else Hit(work, 0.0)
                best = found.candidates[0] if found.candidates else None
                return best if found.confidence >= least else None

            plan = plan_fill(project, self._desk.engine, options, count=CANDIDATES, choose=choose)
            if plan.fills and all(not one.candidates for one in plan.fills) and plan.problems:
                broken = [p for p in plan.problems if p.code.startswith(("library", "engine"))]
                if broken:
                    raise CitewellError(broken[0])
            written = write and self._write(plan.edits, plan.texts)
        placeholders = [self._filled(n, one, least) for n, one in enumerate(plan.fills, 1)]
        found: Fill = {
            "written": written,
            "placeholders": placeholders,
            "diff": "".join(plan.diffs),
        }
        notes = notes_of(plan.problems)
        if notes:
            found["notes"] = "\n".join(notes)
        return found

    def _filled(self, n: int, found: PlaceholderFill, least: float) -> Filled:
        one: Filled = {
            "n": n,
            "place": f"{self._desk.roots.shown(found.path)}:{found.line}",
            "text": found.text,
            "confidence": round(found.confidence, 3),
        }
        if found.hit is not None:
            one["key"] = found.key
            one["paper"] = paper_of(found.hit.work, "ids")
            return one
        best: list[Ref] = [paper_of(hit.work, "ids") for hit in found.candidates[:CANDIDATES]]
        one["candidates"] = best
        if not best:
            one["reason"] = found.reason or "no paper was found"
        elif found.confidence < least:
            one["reason"] = f"too uncertain ({found.confidence:.2f} < {least:.2f}); choose yourself"
        else:
            one["reason"] = found.reason
        return one

    def _add(self, name: str, bib: str, key: str, write: bool) -> Added:
        self._may(write)
        if not bib.lower().endswith(".bib"):
            raise CitewellError(
                Problem("mcp-no-bib", f"{bib[:200]!r} is no .bib file.", "Name a .bib file.")
            )
        work = self._desk.work(name)
        with self._desk.writing:
            path = self._desk.roots.find(bib, new=True)
            text = FileCache().text(path)
            if isinstance(text, Problem):
                raise CitewellError(text)
            parsed = None if text is None else FileCache().bib(path, text)
            plan = plan_entry(path, parsed, work, self._desk.options, key=key)
            written = write and self._write(plan.edits, plan.texts)
        return {
            "written": written,
            "key": plan.key,
            "paper": paper_of(work, "short", key=plan.key),
            "already_there": not plan.edits,
            "diff": "".join(_diff(plan, edit, self._desk.roots.shown(path)) for edit in plan.edits),
        }

    def _may(self, write: bool) -> None:
        if write and not self._desk.allow_write:
            raise CitewellError(
                Problem(
                    "mcp-read-only",
                    "This server may not write.",
                    "Call without write and show the diff, or ask the user to start it as "
                    "`citewell mcp --allow-write --root FOLDER`.",
                )
            )

    def _write(self, edits: Sequence[FileEdit], texts: Mapping[str, str]) -> bool:
        for edit in edits:
            if not self._desk.roots.holds(Path(edit.path)):
                raise CitewellError(outside(edit.path))
        return write_edits(edits, texts)


def _numbers(documents: Iterable[Document]) -> dict[tuple[str, int], int]:
    """The number of each placeholder, in reading order, by its place."""
    found: dict[tuple[str, int], int] = {}
    for document in documents:
        for placeholder in document.placeholders:
            found[document.path, placeholder.span.start] = len(found) + 1
    return found


def _diff(plan: InsertPlan, edit: FileEdit, shown: str) -> str:
    edited = EditedText(plan.texts[edit.path])
    edited.apply(edit.edits)
    return unified_diff(edited.original, edited.text, shown, new=edit.create)
