"""`citewell fill`: every placeholder of a paper becomes a citation, or is reported as open."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import (
    BROKEN,
    FINDINGS,
    OK,
    Session,
    console,
    no_model,
    show_cost,
    show_problems,
    write_json,
)
from citewell.model import CitewellError, Problem, Query
from citewell.sources.service import ONLINE_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.engine.contract import Engine
    from citewell.model import Hit
    from citewell.model.feedback import Through
    from citewell.usecases.fill import FillPlan, PlaceholderFill
    from citewell.usecases.find import Progress


@click.command("fill", short_help="Fill every citation placeholder of a paper.")
@click.argument("paper", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("-i", "--interactive", is_flag=True, help="Choose the paper for each placeholder.")
@click.option("-y", "--yes", is_flag=True, help="Write without asking.")
@click.option(
    "--threshold",
    type=click.FloatRange(0.0, 1.0),
    help="Minimum confidence.",
)
@click.option(
    "--unattended",
    is_flag=True,
    help="Also fill placeholders without words.",
)
@click.option(
    "-k",
    "count",
    default=8,
    type=click.IntRange(1, 50),
    help="Number of candidates to choose from.",
)
@click.option(
    "--online",
    is_flag=True,
    help="Also ask the allowed sources (`citewell sources`).",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=ONLINE_SECONDS,
    show_default=True,
    help="With --online, time limit for the sources; 0: none.",
)
@no_model
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def fill(
    ctx: click.Context,
    paper: Path,
    dry_run: bool,
    interactive: bool,
    yes: bool,
    threshold: float | None,
    unattended: bool,
    count: int,
    online: bool,
    seconds: float,
    no_model: bool,
    as_json: bool,
) -> None:
    """Fill every citation placeholder of a paper.

    PAPER is a LaTeX or Markdown file; files that it includes are filled, too. A placeholder with
    words becomes a citation of the paper that they name, with an entry in the right .bib. One
    without words stays open, with its best papers listed. --online sends the words of placeholders
    that would stay open to the allowed sources.

    The change is shown as a diff and written after confirmation. Exits with 1 if a placeholder
    stays open or nothing is written.
    """
    from citewell.features.citing.write import write_plan
    from citewell.usecases.fill import learn_fill
    from citewell.usecases.find import no_progress
    from citewell.usecases.library import Library

    if dry_run and (yes or interactive):
        raise click.UsageError("--dry-run excludes --yes and --interactive.")
    if interactive and (as_json or yes or unattended):
        raise click.UsageError("--interactive excludes --json, --yes and --unattended.")
    asks = not (dry_run or yes)
    if asks and (as_json or not sys.stdin.isatty()):
        raise click.UsageError("No terminal to ask on: use --dry-run or --yes.")

    session: Session = ctx.obj
    with Library(session.load(paper).options, online=online) as library, ExitStack() as stack:
        choose = Chooser(console(err=True), library.engine, count) if interactive else None
        # No questions below a progress bar.
        bar = stack.enter_context(_bar()) if online and not interactive else no_progress
        plan = library.fill(
            paper,
            threshold=threshold,
            unattended=unattended,
            count=count,
            seconds=seconds or float("inf"),
            choose=choose,
            model=not no_model,
            progress=bar,
        )
        stack.close()
        show_problems(plan.problems)
        show_cost(library.engine.status().budget)
        through: Through = "picker" if interactive else "fill"
        if as_json:
            written = bool(plan.edits) and not dry_run
            if written:
                plan = write_plan(plan, plan.again)
            write_json(to_json(plan, written))
        else:
            show_plan(console(), plan)
            agreed = yes or (
                asks and plan.edits and click.confirm("Write these changes?", err=True)
            )
            written = bool(agreed and plan.edits)
            if written:
                plan = write_plan(plan, partial(_plan_again, plan, asks=asks))
            summarise(plan, written, dry_run)
        if written:
            show_problems(learn_fill(library.engine, plan, through))
    ctx.exit(exit_code(plan, written or dry_run))


@contextmanager
def _bar() -> Iterator[Progress]:
    """A bar on a terminal."""
    from rich import progress as rich

    out = console(err=True)
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    with rich.Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total)

        yield show


def _plan_again(plan: FillPlan, *, asks: bool) -> FillPlan:
    """The plan for files that have changed. Raises `CitewellError` if the author, who was asked,
    has not seen all of it."""
    assert plan.again is not None
    fresh = plan.again()
    seen, new = ({(one.text, one.key) for one in each.filled} for each in (plan, fresh))
    if asks and not new <= seen:
        message = "The paper has changed meanwhile, and so has the plan; nothing was written."
        raise CitewellError(Problem("file-changed", message, "Run the command again."))
    return fresh


def exit_code(plan: FillPlan, done: bool) -> int:
    """0 if every placeholder has its paper and the plan was carried out as asked."""
    broken = ("library-", "engine-", "index-")
    if any(p.code.startswith(broken) for p in plan.problems) and not plan.filled:
        return BROKEN
    return OK if done and not plan.open else (OK if not plan.fills else FINDINGS)


def show_plan(out: Console, plan: FillPlan) -> None:
    """Print the outcome of each placeholder, then the diff of every file."""
    from rich.text import Text

    from citewell.cli.check_fix import show_diff

    for found in plan.fills:
        out.print(_place(found), soft_wrap=True)
        out.print(_outcome(found), soft_wrap=True)
    if plan.diffs:
        out.print(Text())
    for diff in plan.diffs:
        show_diff(out, diff)


def _place(found: PlaceholderFill) -> Any:
    from rich.text import Text

    text = Text(f"{shown_path(found.path)}:{found.line}:{found.column}", style="cyan")
    return text.append(f"  {found.text}", style="bold default")


def _outcome(found: PlaceholderFill) -> Any:
    from rich.text import Text

    from citewell.cli.find import line_of
    from citewell.features.text.evidence import what_it_says, who_chose
    from citewell.usecases.fill import NAMED

    if found.hit is None:
        text = Text("    left open", style="yellow").append(f": {found.reason}", style="default")
        for number, hit in enumerate(found.candidates[:NAMED], 1):
            text.append(f"\n      {number}. {line_of(hit.work)}", style="dim")
        return text
    text = Text("    ").append(found.key, style="green")
    text.append(f"  {line_of(found.hit.work)}")
    text.append(f"  confidence {found.confidence:.2f}", style="dim")
    if found.picked is not None:
        text.append(f"\n    {who_chose(found.picked)}", style="dim")
    if found.supported is not None and found.supported.problem is None:
        text.append(f"\n    {what_it_says(found.supported)}", style="dim")
    return text.append("  already in the bibliography", style="dim") if found.reused else text


def shown_path(path: str) -> str:
    """The path relative to the current folder if it is below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def summarise(plan: FillPlan, written: bool, dry_run: bool) -> None:
    """Print a summary on standard error."""
    from citewell.usecases.fill import UNTYPED

    if not plan.fills:
        click.echo("No placeholders found.", err=True)
        return
    entries = len({found.key for found in plan.filled if not found.reused})
    untyped = sum(found.reason == UNTYPED for found in plan.open)
    click.echo(
        f"{len(plan.filled)} of {len(plan.fills)} placeholders filled, "
        f"{entries} new {'entry' if entries == 1 else 'entries'}"
        + (". Nothing was written (--dry-run)." if dry_run else "")
        + (". Nothing was written." if not written and not dry_run else "")
        + ("." if written else ""),
        err=True,
    )
    if untyped:
        click.echo(
            f"{untyped} without words stayed open: choose with --interactive, or type words into "
            "them.",
            err=True,
        )


def to_json(plan: FillPlan, written: bool) -> dict[str, Any]:
    """The plan for programs: stable names, one object per placeholder."""
    from citewell.cli.find import record_of

    return {
        "written": written,
        "placeholders": [
            {
                "path": found.path,
                "line": found.line,
                "column": found.column,
                "text": found.text,
                "query": found.placeholder.query,
                "kind": found.placeholder.kind,
                "key": found.key,
                "reused": found.reused,
                "confidence": round(found.confidence, 4),
                "reason": found.reason,
                "picked": found.picked,
                "supported": found.supported,
                "work": record_of(found.hit.work) if found.hit else None,
                "candidates": _candidates(found.candidates),
            }
            for found in plan.fills
        ],
        "diff": "".join(plan.diffs),
        "problems": plan.problems,
    }


def _candidates(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [
        {
            "id": hit.work.id,
            "title": hit.work.title,
            "authors": [author.display for author in hit.work.authors],
            "year": hit.work.year,
            "key": hit.key,
        }
        for hit in hits
    ]


# Choice of a paper for each placeholder in a terminal.

HELP = "number: choose it; Enter: choose the first; words: search; s: skip; q: skip the rest"


class Chooser:
    """Asks once per placeholder. Words search again; `q` leaves all remaining ones open."""

    def __init__(self, out: Console, engine: Engine, count: int) -> None:
        self.out = out
        self.engine = engine
        self.count = count
        self.stopped = False

    def __call__(self, found: PlaceholderFill) -> Hit | None:
        """The chosen paper; None to leave the placeholder open."""
        if self.stopped:
            return None
        hits = found.candidates
        self._head(found)
        while True:
            self._list(hits)
            answer = click.prompt("Take", default="1" if hits else "s", err=True).strip()
            if answer == "q":
                self.stopped = True
                return None
            if answer == "s":
                return None
            if answer in ("?", "h"):
                click.echo(HELP, err=True)
            elif answer.isdecimal() and len(answer) < 4:
                if 1 <= int(answer) <= len(hits):
                    return hits[int(answer) - 1]
                click.echo(f"No paper has the number {answer}. ({HELP})", err=True)
            else:
                hits = self._search(answer)

    def _search(self, words: str) -> tuple[Hit, ...]:
        result = self.engine.find(Query(text=words), self.count, tier="full")
        show_problems((*result.problems, *result.dropped))
        return result.hits

    def _head(self, found: PlaceholderFill) -> None:
        from rich.text import Text

        text = Text(f"\n{found.path}:{found.line}:{found.column}  ", style="cyan")
        self.out.print(text.append(found.text, style="bold default"), soft_wrap=True)
        if found.sentence:
            self.out.print(Text(f"  {found.sentence}", style="italic"))

    def _list(self, hits: tuple[Hit, ...]) -> None:
        from rich.text import Text

        from citewell.cli.find import line_of

        if not hits:
            click.echo(f"  No papers found. ({HELP})", err=True)
        for number, hit in enumerate(hits[: self.count], start=1):
            line = Text(f"  {number:>2}  ", style="cyan").append(line_of(hit.work), style="default")
            if hit.key:
                line.append(f"  [{hit.key}]", style="green")
            self.out.print(line)
