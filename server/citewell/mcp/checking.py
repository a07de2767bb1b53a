"""The tools that check references and review papers, page by page."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import msgspec
from mcp.server.mcpserver import Context
from mcp_types import ResourceLink
from pydantic import Field

from citewell.documents.bib.reader import check_edits, parse_bib
from citewell.documents.project.files import FileCache
from citewell.documents.textfile import read_text
from citewell.features.checking.check import ORDER, claims_in_files, counts, references_in
from citewell.features.checking.report import label, lint_one_bib, lint_project
from citewell.features.citing.write import write_plan
from citewell.mcp.arguments import invalid
from citewell.mcp.client_log import log_to_client, notify_written
from citewell.mcp.papers import Detail, paper_of, tokens_of, within
from citewell.mcp.tool import (
    LIST,
    TEXT,
    Answer,
    Cursor,
    DetailLevel,
    MaxTokens,
    PaperPath,
    ToolCall,
    Write,
    choice,
    described,
    listed,
    may_ask,
    tool,
)
from citewell.mcp.tool_context import ToolContext, notes_of
from citewell.model import CitewellError, Problem
from citewell.model.bib import BibFile
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, Verdict
from citewell.model.document import Document, Format, format_of
from citewell.model.words import assurance
from citewell.operations.checking import CheckStatus, check, outcome_of
from citewell.operations.reviewing import ReviewRequest, answer_of, review
from citewell.serving.queues import Kind
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.check import (
    CHECKING,
    SLICE,
    ChangePlan,
    CheckTask,
    Step,
    bibs_of,
    citing_documents,
    plan_changes,
    projects_in,
)
from citewell.usecases.find import from_cursor, to_cursor
from citewell.usecases.review import ReviewTask

_SOURCES = re.compile(r" Sources?: .*$")
"""The end of a message that names the disagreeing sources."""
REAL = frozenset({Verdict.VERIFIED, Verdict.WRONG_DETAIL})
"""Verdicts by which the work is that of the record."""
NO_FAULTS = frozenset({"unresolved-placeholder", "missing-field"})
"""Codes left to other tools, or found by the check itself."""
REVIEW_FIELDS = frozenset(field.name for field in msgspec.structs.fields(ReviewRequest))
REVIEW_TOKENS = 8000
"""Length of a review, about."""
NOTIFY_SECONDS = 5.0
"""Seconds between two progress messages while sources are queried."""


def _report_link(value: Answer) -> list[ResourceLink]:
    return [ResourceLink(uri=value["report"], name="report", title="The complete report")]


@tool(
    check,
    title="Check references",
    links=_report_link,
    only={"text", "changes", "online"},
    words={
        "changes": "By key of an entry: record (correct it by the record found), a paper's id "
        "(replace it by that paper), mark (keep it, note that the user checked it), or remove "
        "(delete it; its citations become \\cite{?})."
    },
    asks=may_ask,
    writes=True,
    removes=True,
    answer={
        "status": choice(CheckStatus),
        "counts": {"type": "object"},
        "references": listed(
            key=TEXT,
            verdict=described(
                TEXT,
                "not-found: no record, which proves nothing; fabricated: evidence against it; "
                "unchecked: undecided.",
            ),
            findings=LIST,
            record=TEXT,
        ),
        "faults": LIST,
        "next_cursor": TEXT,
    },
)
async def check_references(
    call: ToolCall,
    path: Annotated[
        str,
        Field(max_length=10_000, description="A .bib, a paper or a PDF."),
    ] = "",
    write: Write = False,
    verified_too: Annotated[bool, Field(description="List the correct references, too.")] = False,
    cursor: Cursor = "",
    detail: DetailLevel = "short",
    max_tokens: MaxTokens = 6000,
) -> Answer:
    """Check whether references exist and are correct (also retractions, and preprints published by
    now).
    Give one of `text` and `path`, or for the next page `cursor` alone. With `changes` it corrects
    entries of a .bib."""
    tools, request = call.tools, call.request()
    text, changes, online = request.text, request.changes, request.online
    if cursor and not (text or path):
        name, offset = from_cursor(cursor)
        kept = tools.report(name)
        if kept is None:
            raise CitewellError(
                Problem(
                    "cursor-foreign", "This report has expired.", "Repeat the check without cursor."
                )
            )
        return _page(kept, name, offset, verified_too, detail, max_tokens, [])
    if bool(text) == bool(path):
        raise invalid(
            "check_references",
            "Give either `text` (references) or `path` (a file), and not both.",
            **({"text": text} if text else {"path": tools.roots.example((".bib",)) or "refs.bib"}),
        )
    if changes and not path:
        raise invalid(
            "check_references",
            "Give `path`, a .bib, and no `text`: changes are made in a file.",
            path=tools.roots.example((".bib",)) or "refs.bib",
            changes=changes,
        )
    done: Answer = {}
    if changes:
        tools.may(write)
        change = partial(_change, tools, path, changes, write, online)
        done = await tools.run(change, "online" if online else "document")
        await notify_written(call.context, done["written"], path)
    claims, notes = await tools.run(lambda cancel: _claims(tools, text, path), "document")
    faults: list[Answer] = []
    if not (changes or cursor):
        faults = await tools.run(lambda cancel: _faults(tools, text, path), "document")
    if changes:
        claims = [claim for claim in claims if claim.key in changes]
    task = CheckTask(tools.engine, claims, online=online)
    await _run(task, tools, call.context, online=online)
    checks = tuple(task.checks)
    name = tools.report_name(text, path, online, [one.verdict.value for one in checks])
    tools.keep(name, checks)
    summary = ", ".join(f"{n} {verdict}" for verdict, n in outcome_of(checks)["counts"].items())
    await log_to_client(
        call.context, "info", f"{len(checks)} references checked{summary and ': '}{summary}"
    )
    offset = from_cursor(cursor, name)[1] if cursor else 0
    notes += notes_of(task.problems)
    if faults:
        fitting = within(faults, max_tokens // 2)
        done["faults"] = faults[:fitting]
        max_tokens -= sum(map(tokens_of, faults[:fitting]))
        if fitting < len(faults):
            notes.append(f"{len(faults) - fitting} more faults are omitted because of max_tokens.")
    return {**_page(checks, name, offset, verified_too, detail, max_tokens, notes), **done}


def _change(
    tools: ToolContext,
    path: str,
    changes: dict[str, str],
    write: bool,
    online: bool,
    cancel: Cancel,
) -> Answer:
    def citing(bib: BibFile, key: str) -> Mapping[Path, Document]:
        cache = FileCache(tools.options.documents)
        projects = projects_in(tools.roots.folders, cache, tools.roots.overlay)
        return citing_documents(projects, bib, key)

    def plan() -> ChangePlan:
        found = plan_changes(
            changes,
            bibs_of(_claims(tools, "", path, every=True)[0]),
            check=lambda claims: (
                CheckTask(tools.engine, claims, online=online).run(cancel=cancel).checks
            ),
            work_named=tools.work,
            citing=citing,
            shown=tools.roots.shown,
        )
        check_edits(found.edits, found.texts)
        return found

    made = plan()
    if write:
        made = write_plan(made, plan, partial(tools.write, cancel=cancel))
    return {"diff": "".join(made.diffs), "written": write}


def _faults(tools: ToolContext, text: str, path: str) -> list[Answer]:
    """The editors' diagnostics of the BibTeX, the .bib or the paper and its .bib files: undefined
    keys, duplicate works and keys, BibTeX syntax errors."""
    levels = tools.options.diagnostics.severity
    file = tools.roots.find(path) if path else None
    if file is None:
        found = lint_one_bib(parse_bib(text, ""), levels) if "@" in text else iter(())
    elif file.suffix.lower() == ".bib":
        found = lint_one_bib(parse_bib(read_text(file).text, str(file)), levels)
    elif format_of(file) in (Format.LATEX, Format.MARKDOWN):
        found = lint_project(tools.project(file), levels)
    else:
        found = iter(())
    return [
        {
            "place": f"{tools.roots.shown(one.path) if one.path else 'text'}:{one.line}",
            "code": one.code,
            "message": one.message,
        }
        for one in found
        if one.code not in NO_FAULTS
    ]


def _claims(
    tools: ToolContext, text: str, path: str, *, every: bool = False
) -> tuple[list[Claim], list[str]]:
    if text:
        pasted = references_in(text)
        return list(pasted.claims), notes_of(pasted.problems)
    found = claims_in_files(
        [tools.roots.find(path)],
        tools.options.documents,
        every=every,
        read=tools.roots.overlay,
        pdf=tools.options.pdf,
    )
    if not found.claims and found.problems and found.problems[0].code != "check-empty":
        raise CitewellError(found.problems[0])
    return list(found.claims), notes_of(found.problems)


async def _run(task: CheckTask, tools: ToolContext, ctx: Context, *, online: bool) -> None:
    """Check part by part, with other clients served in between."""
    kind: Kind = "online" if online else "check"

    async def run(step: Step) -> list[Check]:
        done = len(task.checks)
        await ctx.report_progress(done, task.total, CHECKING)
        part = min(SLICE, task.total - done)
        async with telling(ctx, done, part, task.total, online=online):
            return await tools.run(step, kind)

    async for _ in task.parts(run):
        pass
    await ctx.report_progress(task.total, task.total, "checked")


@asynccontextmanager
async def telling(
    ctx: Context, start: int, part: int, total: int, *, online: bool
) -> AsyncIterator[None]:
    """Send progress to the client every few seconds while sources are queried: it increases, and
    stays below the end of the part."""

    async def notify_waiting() -> None:
        began = time.monotonic()
        while True:
            await anyio.sleep(NOTIFY_SECONDS)
            spent = time.monotonic() - began
            share = part * min(0.9, spent / ONLINE_SECONDS)
            await ctx.report_progress(start + share, total, f"waiting for sources, {spent:.0f} s")

    failure: Exception | None = None
    async with anyio.create_task_group() as waiting:
        if online:
            waiting.start_soon(notify_waiting)
        try:
            yield
        except Exception as error:  # a group would wrap it
            failure = error
        waiting.cancel_scope.cancel()
    if failure is not None:
        raise failure


@tool(review, title="Review a paper", without=REVIEW_FIELDS, answer={"findings": LIST})
async def review_paper(call: ToolCall, path: PaperPath) -> Answer:
    """Review the citations of a paper: keys, references, what lacks a citation, consistency, and
    works that its references suggest (no faults)."""
    tools = call.tools
    paper = tools.project(tools.roots.find(path))
    task = ReviewTask(tools.engine, tools.options, [paper])
    # The paper is read from its files.
    found = await call.run(lambda service, _, cancel: task.run(service.progress, cancel), text="")
    rows = [
        {
            name: value
            for name, value in {
                "place": f"{tools.roots.shown(one.path)}:{one.line}",
                "code": one.code,
                "message": one.message,
                "hint": one.hint,
                "weight": one.weight,
                "id": one.work,
            }.items()
            if value
        }
        for one in found.findings
    ]
    kept = within(rows, REVIEW_TOKENS)
    notes = notes_of(found.problems)
    if kept < len(rows):
        notes.append(f"{len(rows) - kept} more findings are omitted; `citewell review` lists them.")
    answer = {"counts": answer_of(found).counts, "findings": rows[:kept]}
    return {**answer, "notes": "\n".join(notes)} if notes else answer


def reference_of(check: Check, detail: Detail) -> Answer:
    """One verdict; with `ids` without reasons, with `full` also with notes and evidence."""
    found: Answer = {"key": label(check), "line": check.claim.line}
    found["verdict"] = check.verdict.value
    found["marked"] = check.mark.shown if check.mark is not None else ""
    full = detail == "full"
    if detail != "ids":
        found["findings"] = [
            {
                name: value
                for name, value in {
                    "code": one.code,
                    "message": one.message if full else _SOURCES.sub("", one.message),
                    "field": full and one.field,
                    "given": full and one.given,
                    "expected": full and one.expected,
                    "assurance": full and assurance(one.confidence),
                }.items()
                if value
            }
            for one in check.findings
            if full or counts(one)
        ]
        # Details of the record are in the record.
        found["evidence"] = list(check.evidence[: None if full else 1 - (check.verdict in REAL)])
    if check.work is not None:
        record = paper_of(check.work, "short" if full else "ids")
        same = check.verdict is Verdict.VERIFIED and not full
        found["record"] = {"id": check.work.id} if same else record
    return {name: value for name, value in found.items() if value}


def _page(
    checks: tuple[Check, ...],
    name: str,
    offset: int,
    verified_too: bool,
    detail: Detail,
    budget: int,
    notes: list[str],
) -> Answer:
    shown = [c for v in ORDER for c in checks if c.verdict is v]
    if not verified_too:
        shown = [check for check in shown if check.verdict is not Verdict.VERIFIED]
    rest = [reference_of(check, detail) for check in shown[offset:]]
    kept = within(rest, budget)
    page: Answer = {
        **outcome_of(checks),
        "references": rest[:kept],
        "report": f"report://{name}",
    }
    if kept < len(rest):
        page["next_cursor"] = to_cursor(name, offset + kept)
    if notes:
        page["notes"] = "\n".join(notes)
    return page
