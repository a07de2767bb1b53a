"""The tools that change files, or show what they would change, and that fetch works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec.structs import replace
from pydantic import Field

from citewell.documents.bib.reader import check_edits, parse_bib
from citewell.documents.project.files import FileCache, format_of
from citewell.features.citing.insert import InsertPlan, plan_entries, plan_entry
from citewell.features.citing.known_works import all_named
from citewell.features.citing.write import RebasedText, unified_diff, write_plan
from citewell.features.text.evidence import what_it_says
from citewell.mcp.client_log import notify_written
from citewell.mcp.papers import MAX_TOKENS, confidence_shown, paper_of, tokens_of, within
from citewell.mcp.tool import (
    FLAG,
    INTEGER,
    LIST,
    NUMBER,
    TEXT,
    Answer,
    BibPath,
    MaxTokens,
    PaperId,
    PaperPath,
    ToolCall,
    Write,
    described,
    listed,
    may_ask,
    may_search,
    tool,
)
from citewell.mcp.tool_context import ToolContext, failure, notes_of, progress_of
from citewell.model import CitewellError, Problem, Work
from citewell.model.bib import BibFile, FileEdit
from citewell.model.cancel import Cancel
from citewell.model.document import Format
from citewell.model.words import certainty
from citewell.operations.filling import fill
from citewell.usecases.fill import FillPlan, FillTask, PlaceholderFill, learn_fill
from citewell.usecases.find import Progress, no_progress, status_of
from citewell.usecases.library_fetch import fetch, measure, request_of

SHOWN = 5
"""Maximum number of candidates shown for an open placeholder."""


@tool(
    fill,
    title="Fill placeholders",
    only={"choices", "threshold", "online", "choose"},
    words={
        "choices": "By a placeholder's `n`: the id of the paper to cite, or empty to leave it "
        "open. Others take their best paper if they have words (\\cite<words>) and it reaches "
        "`threshold`.",
        "threshold": "Minimum confidence; default: the user's setting, mostly 0.8.",
        "online": "Also ask the allowed sources.",
    },
    asks=may_search,
    writes=True,
    answer={
        "written": FLAG,
        "placeholders": listed(
            n=INTEGER,
            place=TEXT,
            text=TEXT,
            confidence=NUMBER,
            certainty=TEXT,
            key=TEXT,
            paper=TEXT,
            supported=TEXT,
            reason=TEXT,
            candidates=LIST,
        ),
        "diff": TEXT,
    },
)
async def fill_document(
    call: ToolCall,
    path: PaperPath,
    write: Write = False,
    diff: Annotated[bool, Field(description="Return the diff.")] = True,
    max_tokens: MaxTokens = 8000,
) -> Answer:
    """Replace the citation placeholders of a paper (\\cite{?}, [CITATION], [@?words] ...) and
    add entries to its .bib. Call it first without `write`: it lists each placeholder `n` with its
    candidates."""
    tools, context = call.tools, call.context
    tools.may(write)
    online, choices = call.arguments["online"], call.arguments["choices"]
    task = await tools.run(
        lambda cancel: FillTask(
            tools.engine,
            tools.options,
            threshold=call.arguments["threshold"],
            online=online,
            model=call.arguments["choose"],
            choices={n: tools.work(name) if name else None for n, name in choices.items()},
        )
    )
    planning = partial(_plan, tools, task, path, progress_of(context))
    plan = await tools.run(planning, "online" if online else "document")
    await call.notify_dropped(plan.results)
    chosen = {int(n) for n in choices if n.isdecimal()}
    filling = partial(_fill, tools, task, plan, path, chosen, write)
    done = await tools.run(filling, "document")
    await notify_written(context, done["written"], path)
    return bounded(done, diff=diff, budget=max_tokens)


def _plan(
    tools: ToolContext, task: FillTask, path: str, progress: Progress, cancel: Cancel
) -> FillPlan:
    file = tools.roots.find(path)
    if format_of(file) not in (Format.LATEX, Format.MARKDOWN):
        raise CitewellError(
            Problem(
                "mcp-no-paper",
                f"{path} is neither a LaTeX nor a Markdown file.",
                "Give a paper; for a .bib use add_entry.",
            )
        )
    plan = task.run(tools.project(file), progress, cancel)
    status_of(plan.results)
    return plan


def _fill(
    tools: ToolContext,
    task: FillTask,
    plan: FillPlan,
    path: str,
    chosen: set[int],
    write: bool,
    cancel: Cancel,
) -> Answer:
    if write:
        again = partial(_plan, tools, task, path, no_progress, cancel)
        plan = write_plan(plan, again, partial(tools.write, cancel=cancel))
    written = write and bool(plan.edits)
    if written:
        tools.log_problems(learn_fill(tools.engine, plan, "mcp", chosen))
    done: Answer = {
        "written": written,
        "placeholders": [_filled(tools, n, one) for n, one in enumerate(plan.fills, 1)],
        "diff": "".join(plan.diffs),
    }
    notes = notes_of(plan.problems)
    if notes:
        done["notes"] = "\n".join(notes)
    return done


def _filled(tools: ToolContext, n: int, found: PlaceholderFill) -> Answer:
    one: Answer = {
        "n": n,
        "place": f"{tools.roots.shown(found.path)}:{found.line}",
        "text": found.text,
        **confidence_shown(found.confidence),
    }
    if found.hit is not None:
        one["key"] = found.key
        one["paper"] = paper_of(found.hit.work, "ids")
        if found.supported is not None and found.supported.problem is None:
            one["supported"] = what_it_says(found.supported)
        return one
    one["candidates"] = [paper_of(hit.work, "ids") for hit in found.candidates[:SHOWN]]
    if one["candidates"]:
        one["certainty"] = certainty(found.confidence, typed=not found.query.sentence)
    one["reason"] = found.advice
    return one


def bounded(done: Answer, *, diff: bool, budget: int) -> Answer:
    """The answer of a fill within a number of tokens: the placeholders without candidates, then
    their candidates, then the diff, as far as they fit; `notes` list omissions."""
    budget = min(budget, MAX_TOKENS)
    notes = [done["notes"]] if "notes" in done else []
    plain: list[Answer] = [
        {name: value for name, value in one.items() if name != "candidates"}
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
    found: Answer = {"written": done["written"], "placeholders": shown, "diff": text}
    if notes:
        found["notes"] = "\n".join(notes)
    return found


@tool(
    title="Add a paper to a .bib",
    writes=True,
    answer={
        "written": FLAG,
        "key": described(TEXT, "Cite this."),
        "id": TEXT,
        "already_there": FLAG,
        "diff": TEXT,
    },
)
async def add_entry(
    call: ToolCall,
    id: PaperId,
    bib: BibPath,
    key: Annotated[
        str, Field(max_length=200, description="Its key; default: made by the user's pattern.")
    ] = "",
    write: Write = False,
) -> Answer:
    """Add the record of one paper to a .bib, unless it has it; for several use add_entries."""
    call.tools.may(write)
    done = await call.tools.run(partial(_add, call.tools, id, bib, key, write), "document")
    await notify_written(call.context, done["written"], bib)
    return done


@tool(
    title="Add papers to a .bib",
    writes=True,
    answer={
        "written": FLAG,
        "entries": listed(id=TEXT, key=TEXT, already_there=FLAG),
        "diff": TEXT,
    },
)
async def add_entries(
    call: ToolCall,
    ids: Annotated[
        list[PaperId], Field(min_length=1, max_length=50, description="Ids, DOIs or arXiv ids.")
    ],
    bib: BibPath,
    write: Write = False,
) -> Answer:
    """Add several papers to a .bib in one change: all, or none if an id is unknown."""
    call.tools.may(write)
    done = await call.tools.run(partial(_add_all, call.tools, ids, bib, write), "document")
    await notify_written(call.context, done["written"], bib)
    return done


def _add(tools: ToolContext, name: str, bib: str, key: str, write: bool, cancel: Cancel) -> Answer:
    _need_bib(bib)
    work = tools.work(name)

    def planned(path: Path, parsed: BibFile | None) -> InsertPlan:
        return plan_entry(path, parsed, work, tools.options, key=key)

    plan, done = _entered(tools, bib, [work], planned, write, cancel)
    done |= {"id": work.id, "key": plan.key}
    return done if plan.edits else {**done, "already_there": True}


def _add_all(tools: ToolContext, ids: list[str], bib: str, write: bool, cancel: Cancel) -> Answer:
    _need_bib(bib)
    works = all_named(tools.engine, ids)
    keys: list[str] = []

    def planned(path: Path, parsed: BibFile | None) -> InsertPlan:
        plan, keys[:] = plan_entries(path, parsed, works, tools.options)
        return plan

    plan, done = _entered(tools, bib, works, planned, write, cancel)
    new = {key for edit in plan.edits for key in edit.adds}
    entries = [
        {**paper_of(work, "ids", key=key), "already_there": key not in new}
        for key, work in zip(keys, works, strict=True)
    ]
    return {**done, "entries": entries}


def _entered(
    tools: ToolContext,
    bib: str,
    works: Sequence[Work],
    planned: Callable[[Path, BibFile | None], InsertPlan],
    write: bool,
    cancel: Cancel,
) -> tuple[InsertPlan, Answer]:
    """The plan of the works' entries in the .bib with a name, validated, and written if requested;
    with the answer. Raises `CitewellError`."""
    path = tools.roots.find(bib, new=True)

    def plan() -> InsertPlan:
        parsed = _bib(path)
        made = planned(path, parsed)
        if not made.key:
            raise CitewellError(made.problems[0])
        known = parsed or parse_bib("", str(path))
        check_edits(made.edits, made.texts, lambda _path, _text: known)
        return made

    made = plan()
    if write:
        made = write_plan(made, plan, partial(tools.write, cancel=cancel))
    written = write and bool(made.edits)
    if written:
        for work in {work.id: work for work in works}.values():
            tools.learn(work, path.parent)
    diff = "".join(_diff(made, edit, tools.roots.shown(path)) for edit in made.edits)
    return made, {"written": written, "diff": diff}


def _bib(path: Path) -> BibFile | None:
    """The current .bib; None if it does not exist yet."""
    text = FileCache().text(path)
    if isinstance(text, Problem):
        raise CitewellError(text)
    return None if text is None else parse_bib(text, str(path))


def _need_bib(name: str) -> None:
    if not name.lower().endswith(".bib"):
        raise CitewellError(
            Problem("mcp-no-bib", f"{name[:200]!r} is not a .bib file.", "Give a .bib file.")
        )


def _diff(plan: InsertPlan, edit: FileEdit, shown: str) -> str:
    edited = RebasedText(plan.texts[edit.path])
    edited.apply(edit.edits)
    return unified_diff(edited.original, edited.text, shown, new=edit.create)


@tool(
    title="Fetch papers",
    asks=may_ask,
    writes=True,
    answer={"size": TEXT, "fetched": INTEGER, "papers": INTEGER},
)
async def fetch_papers(
    call: ToolCall,
    request: Annotated[
        str,
        Field(
            max_length=1_000,
            description="Arguments of `citewell library fetch`: arxiv --category cs.CL --max 500, "
            "or --for paper.tex.",
        ),
    ],
    write: Annotated[
        bool, Field(description="Fetch. Otherwise the answer only has the size.")
    ] = False,
) -> Answer:
    """Add works of an allowed source to the library. Call it first without `write`, and ask the
    user about the size."""
    progress = progress_of(call.context)

    def run(cancel: Cancel) -> Answer:
        options, wanted = call.tools.options, request_of(request)
        if wanted.paper:
            wanted = replace(wanted, paper=str(call.tools.roots.find(wanted.paper)))
        size = measure(options, wanted, cancel)
        if not write:
            return {"size": size.words, "fetched": 0}
        done = fetch(options, wanted, progress, cancel)
        notes = {} if done.problem is None else {"notes": failure(done.problem)}
        return {"size": size.words, "fetched": done.new, "papers": done.works, **notes}

    return await call.tools.run(run, "document")
