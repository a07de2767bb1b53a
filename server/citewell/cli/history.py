"""`citewell history`: which suggestions were accepted and dismissed, and how to erase that."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import FINDINGS, Session, console, echo, show_problems, write_json

if TYPE_CHECKING:
    from citewell.engine.history_store import HistoryStore
    from citewell.model.feedback import Event


@click.group("history", short_help="Show or erase what was learned from your choices.",
             invoke_without_command=True)  # fmt: skip
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(1),
              help="Show this many of the latest events.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write all events as JSON.")
@click.pass_context
def history(ctx: click.Context, count: int, as_json: bool) -> None:
    """Show or erase what was learned from your choices.

    Which suggested papers you accepted, and which you passed over for them: kept on this machine
    alone, in one file, unless `learning.enabled` is off. Without a command: the latest of them.
    """
    if ctx.invoked_subcommand is not None:
        return
    session: Session = ctx.obj
    enabled = session.load().options.learning.enabled
    store = _store()
    events = store.read()
    if as_json:
        write_json({"path": store.path, "enabled": enabled, "events": [_row(e) for e in events]})
    else:
        _show(events, count)
        state = "on" if enabled else "off: nothing is added or used"
        click.echo(f"{_count(events)} in {store.path}. Learning is {state}.", err=True)
    show_problems(store.problems)
    store.close()
    if store.problems:
        ctx.exit(FINDINGS)


@history.command("erase", short_help="Erase everything, or what concerns a paper or a project.")
@click.option("--paper", metavar="ID|WORDS", default="",
              help="Only papers with this id or these words in their title.")  # fmt: skip
@click.option("--project", type=click.Path(path_type=Path), help="Only this project folder.")
@click.option("-y", "--yes", is_flag=True, help="Erase without asking.")
@click.pass_context
def erase(ctx: click.Context, paper: str, project: Path | None, yes: bool) -> None:
    """Erase everything, or what concerns a paper or a project.

    What is erased is overwritten in the file. With both --paper and --project, what concerns
    either goes.
    """
    store = _store()
    events = store.read()
    folder = "" if project is None else str(project.expanduser().resolve())
    works = sorted({event.work for event in events if paper and _speaks_of(event, paper)})
    chosen = [e for e in events if e.work in works or (folder and e.project == folder)]
    if not (paper or project):
        chosen = events
    if not chosen:
        click.echo("Nothing to erase.", err=True)
        show_problems(store.problems)
        return
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("No terminal to ask on: use --yes.")
        _show(chosen, 10)
        click.confirm(f"Erase {_count(chosen)}?", abort=True, err=True)
    gone = store.erase(works=works, project=folder)
    click.echo(f"Erased: {gone}.")
    show_problems(store.problems)
    store.close()
    if store.problems:
        ctx.exit(FINDINGS)


def _store() -> HistoryStore:
    from citewell.engine.history_store import WRITE_SECONDS, HistoryStore

    return HistoryStore(patience=WRITE_SECONDS)


def _speaks_of(event: Event, paper: str) -> bool:
    words = " ".join(paper.split()).casefold()
    return event.work == paper or (bool(words) and words in event.title.casefold())


def _count(events: Sequence[Event]) -> str:
    accepted = sum(event.kind == "accepted" for event in events)
    return f"{accepted} accepted and {len(events) - accepted} dismissed"


def _row(event: Event) -> dict[str, Any]:
    """One event for programs; of the query only whether a vector of it is kept."""
    return {
        "time": _time(event, "seconds"),
        "kind": event.kind,
        "id": event.work,
        "title": event.title,
        "project": event.project,
        "through": event.through,
        "variant": event.variant,
        "query": bool(event.asked),
    }


def _time(event: Event, precision: str) -> str:
    import datetime

    moment = datetime.datetime.fromtimestamp(event.time, datetime.UTC)
    return moment.astimezone().isoformat(timespec=precision)


def _shown(event: Event) -> tuple[str, str, str, str, str]:
    """When, what was done, the paper, the project and where it was done."""
    from citewell.model.feedback import UNATTENDED

    # No user chose unattended fills, so nothing is learned from them.
    kind = "filled" if event.through == UNATTENDED else event.kind
    when = _time(event, "minutes")[:16].replace("T", " ")
    return when, kind, event.title, event.project, event.through


def _show(events: Sequence[Event], count: int) -> None:
    from rich.table import Table
    from rich.text import Text

    if not events:
        return
    rows = [_shown(event) for event in events[-count:]]
    out = console()
    if not out.is_terminal:
        for row in rows:
            echo("\t".join(row))
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("when", no_wrap=True, style="dim")
        table.add_column("", no_wrap=True)
        table.add_column("paper", ratio=4, overflow="fold")
        table.add_column("project", ratio=2, overflow="fold", style="dim")
        table.add_column("by", no_wrap=True, style="dim")
        for when, kind, title, project, through in rows:
            style = "green" if kind == "accepted" else "yellow"
            table.add_row(when, Text(kind, style=style), Text(title), Text(project), through)
        out.print(table)
    if len(events) > count:
        click.echo(f"... and {len(events) - count} earlier (-n shows more).")
