"""Commands for what leaves this machine and what is stored: `sources`, `llm` and `history`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import (
    FINDINGS,
    OK,
    Session,
    console,
    echo,
    show_problem,
    show_problems,
    write_json,
)

if TYPE_CHECKING:
    from citewell.engine.history_store import HistoryStore
    from citewell.llm.assistant import LanguageModel
    from citewell.model import Problem
    from citewell.model.feedback import Event
    from citewell.options import Options


@click.group("sources", short_help="List scholarly sources, and allow or forbid them.",
             invoke_without_command=True)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def sources(ctx: click.Context, as_json: bool) -> None:
    """List scholarly sources, and allow or forbid them.

    None is queried until you allow it. Without a command, lists the sources and what each receives.
    """
    if ctx.invoked_subcommand is not None:
        return
    from citewell.sources.registry import allowed

    session: Session = ctx.obj
    options = session.load().options
    names, problems = allowed(options.sources.allow)
    rows = source_facts(options)
    if as_json:
        write_json(rows)
        return
    _show(rows, options)
    show_problems(problems)
    if not names:
        click.echo("No source is allowed: nothing leaves this machine.")


@sources.command("allow", short_help="Allow sources.")
@click.argument("names", nargs=-1, required=True)
@click.option("--contact", metavar="MAIL", help="Your email address, which some sources ask for.")
@click.pass_context
def allow(ctx: click.Context, names: tuple[str, ...], contact: str | None) -> None:
    """Allow sources, and save this in your settings file.

    NAMES are names of sources, or all. The output shows what each receives.
    """
    from citewell.engine.online import missing_package
    from citewell.model import CitewellError
    from citewell.sources.registry import ALWAYS, NEVER, SOURCES, what_is_sent
    from citewell.sources.registry import allowed as read

    if (missing := missing_package()) is not None:
        raise CitewellError(missing)
    session: Session = ctx.obj
    options = session.load().options
    added, problems = read(names)
    if problems:
        show_problem(problems[0], error=True)
        raise click.UsageError("Nothing was changed.")
    before, _ = read(options.sources.allow)
    chosen = [name for name in SOURCES if name in {*before, *added}]
    values: dict[str, Any] = {"allow": chosen}
    if contact is not None:
        values["contact"] = contact
    _remember(session, values)
    for title, host, sent in what_is_sent(added):
        click.echo(f"{title} ({host}) receives: {sent}.")
    click.echo(NEVER)
    click.echo(ALWAYS)


@sources.command("forbid", short_help="Forbid sources.")
@click.argument("names", nargs=-1)
@click.pass_context
def forbid(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Forbid sources, all of them without NAMES, and save this in your settings file."""
    from citewell.sources.registry import allowed as read

    session: Session = ctx.obj
    before, _ = read(session.load().options.sources.allow)
    gone, problems = read(names or ("all",))
    if problems:
        show_problem(problems[0], error=True)
        raise click.UsageError("Nothing was changed.")
    left = [name for name in before if name not in gone]
    _remember(session, {"allow": left})
    click.echo(f"Still allowed: {', '.join(left)}." if left else "No source is allowed any more.")


def _remember(session: Session, values: dict[str, Any]) -> None:
    from citewell.options.merge import remember, user_file_in_use

    path = user_file_in_use(session.config)
    if "contact" in values:
        _check_contact(values["contact"])
    remember(path, "sources", values)
    click.echo(f"Written to {path}.")
    now = session.load().options.sources.allow
    if tuple(now) != tuple(values["allow"]):
        click.echo(
            "The environment or a flag also sets `sources.allow` and overrides the file.", err=True
        )


def _check_contact(text: str) -> None:
    from citewell.options.values import WrongValueError, fit, settings

    setting = next(one for one in settings() if one.name == "sources.contact")
    try:
        fit(setting, text)
    except WrongValueError:
        raise click.UsageError(f"--contact takes an email address, not `{text}`.") from None


def source_facts(options: Options) -> list[dict[str, Any]]:
    """One row a source: name, title, host, allowed, key, gives, sends."""
    from citewell.sources.registry import SOURCES, allowed, host_of, source_named
    from citewell.sources.web.keys import key_of

    names, _ = allowed(options.sources.allow)
    rows = []
    for name in SOURCES:
        kind = source_named(name)
        key = key_of(kind) if name in names else None
        variables = kind.policy.key_variables
        state = f"none ({variables[0]})" if variables else "needs none"
        rows.append(
            {
                "name": name,
                "title": kind.title,
                "host": host_of(name),
                "allowed": name in names,
                "key": f"from {key.origin}" if key else state,
                "per_second": kind.policy.per_second,
                "gives": kind.gives,
                "sends": kind.sends,
            }
        )
    return rows


def _show(rows: Sequence[dict[str, Any]], options: Options) -> None:
    from rich.table import Table
    from rich.text import Text

    from citewell.sources.registry import ALWAYS, NEVER

    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head, ratio in (("source", None), ("", None), ("gives", 3), ("is sent", 3), ("key", 2)):
        table.add_column(head, ratio=ratio, overflow="fold", no_wrap=ratio is None)
    for row in rows:
        state = Text("allowed", style="green") if row["allowed"] else Text("off", style="dim")
        table.add_row(row["name"], state, row["gives"], row["sends"], Text(row["key"], style="dim"))
    out.print(table)
    out.print(Text(f"\n{NEVER}\n{ALWAYS}", style="dim"))
    if options.sources.contact:
        out.print(f"Contact address: {options.sources.contact}")


# `citewell llm`: the provider, the data sent to it, its costs, and whether it answers.

SENT = (
    "the citing sentence with two sentences before and one after it, the typed words, "
    "the titles of section and paper, and, of the papers found or cited, titles, "
    "authors, years and the beginnings of the abstracts"
)
ON_REQUEST = "and, on request, whether a paper supports a sentence"
NEVER = "whole files, other parts of the text, your keys, file names"


@click.command(
    "llm", short_help="Show the configured language model, what it receives and what it has cost."
)
@click.option("--ask", is_flag=True, help="Send it a test question about two invented papers.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def llm(ctx: click.Context, ask: bool, as_json: bool) -> None:
    """Show the configured language model, what it receives and what it has cost.

    Sends nothing without --ask, and then nothing of yours. Exits with 1 if there is a problem.
    """
    session: Session = ctx.obj
    options = session.load().options
    found, problems = llm_facts(options, ask=ask)
    if as_json:
        write_json({**found, "problems": problems})
    else:
        _show_model(found)
        show_problems(problems)
    ctx.exit(FINDINGS if problems else OK)


def llm_facts(options: Options, *, ask: bool = False) -> tuple[dict[str, Any], list[Problem]]:
    """All facts about the language model; a problem if it cannot be used."""
    from citewell.llm.account import Account
    from citewell.llm.assistant import LanguageModel
    from citewell.llm.providers import key_of, needs_key, no_key
    from citewell.llm.versions import NAMES, current_version
    from citewell.model import CitewellError, Problem

    own = options.llm
    found: dict[str, Any] = {"provider": own.provider, "model": own.model}
    problems: list[Problem] = []
    account = Account(own.daily_tokens, own.daily_cost)
    try:
        model = LanguageModel.open(own)
        if model is not None:
            end = model.endpoint
            key = key_of(end)
            found |= {"host": end.host, "on_this_machine": end.local, "url": end.url}
            found["key"] = "" if key is None else key.origin
            if key is None and needs_key(end):
                problems.append(no_key(end))
        names = {name: own.version or current_version(name, own.programs) for name in NAMES}
    except CitewellError as error:
        model, names = None, {}
        problems.append(error.problem)
    found |= {
        "sent": SENT if own.provider != "none" else "",
        "asked_to": _model_uses(options),
        "programs": names,
        "limits": {
            "request_tokens": own.request_tokens,
            "answer_tokens": own.answer_tokens,
            "timeout_ms": own.timeout_ms,
            "daily_tokens": own.daily_tokens,
            "daily_cost": own.daily_cost,
        },
    }
    if ask and model is None and not problems:
        problems.append(
            Problem(
                "llm-off", "No language model configured.", "Set `llm.provider` and `llm.model`."
            )
        )
    if ask and model is not None and not problems:
        found["answer"], problem = _try(model)
        problems += [] if problem is None else [problem]
    try:
        found["today"] = account.by_model()
    except (sqlite3.Error, OSError) as error:
        found["today"] = {}
        click.echo(f"Cannot read the usage record: {error}", err=True)
    return found, problems


def _model_uses(options: Options) -> list[str]:
    own = options.llm
    if own.provider == "none":
        return []
    wanted = {
        "pick": own.pick,
        f"rerank ({own.rerank})": own.rerank != "none",
        "reformulate": own.reformulate,
        "verify": own.verify,
    }
    return [name for name, is_on in wanted.items() if is_on]


def _try(model: LanguageModel) -> tuple[dict[str, Any], Problem | None]:
    import time

    from citewell.model import Query, Work

    works = [
        Work(id="a", title="Attention in machine translation", year=2015),
        Work(id="b", title="Growing apples in dry valleys", year=2001),
    ]
    begin = time.perf_counter()
    picked = model.pick(Query(sentence="Apple trees need little water [CITATION]."), works)
    model.close()
    return {
        "chose": picked.work,
        "answered": picked.by == "model",
        "right": picked.by == "model" and picked.work == "b",
        "reason": picked.reason,
        "seconds": round(time.perf_counter() - begin, 2),
        "usage": picked.usage,
    }, picked.problem


def _show_model(found: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    if found["provider"] == "none":
        click.echo("No language model configured; nothing is sent (`llm.provider`).")
        return
    rows: dict[str, str] = {"model": f"{found['provider']} {found['model']}"}
    if "host" in found:
        place = "on this machine" if found["on_this_machine"] else "another machine"
        rows["sees the text"] = f"{found['host']} ({place})"
        if found["url"]:
            rows["address"] = found["url"]
        rows["key"] = found["key"] or "none"
    rows["is asked to"] = ", ".join((*found["asked_to"], ON_REQUEST))
    rows["is sent"] = found["sent"]
    rows["is never sent"] = NEVER
    rows["limits"] = ", ".join(f"{name} {value:,}" for name, value in found["limits"].items())
    rows["programs"] = ", ".join(f"{name}@{version}" for name, version in found["programs"].items())
    for name, usage in found["today"].items():
        cost = f"${usage.cost:.4f}" + (f", {usage.unpriced} unpriced" if usage.unpriced else "")
        requests = f"{usage.requests} request" + ("" if usage.requests == 1 else "s")
        rows[f"today: {name}"] = (
            f"{requests}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}"
        )
    if "answer" in found:
        answer = found["answer"]
        word = "chose the wrong paper" if answer["answered"] else "gave no answer"
        word = "chose the right paper" if answer["right"] else word
        rows["asked a small question"] = f"{word}, in {answer['seconds']} s"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    console().print(table)


# `citewell history`: accepted and dismissed suggestions, and their erasure.


@click.group("history", short_help="Show or erase what was learned from your choices.",
             invoke_without_command=True)  # fmt: skip
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(1),
              help="Show this many of the latest events.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def history(ctx: click.Context, count: int, as_json: bool) -> None:
    """Show or erase what was learned from your choices.

    Without a command, shows the latest suggestions that you accepted or passed over.
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
        _show_events(events, count)
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

    The file is overwritten. --paper and --project together erase what concerns either.
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
        _show_events(chosen, 10)
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
    """One event for programs; of the query only whether its vector is stored."""
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
    """Time, action, paper, project and place of an event."""
    from citewell.model.feedback import UNATTENDED

    # No user chose unattended fills, so nothing is learned from them.
    kind = "filled" if event.through == UNATTENDED else event.kind
    when = _time(event, "minutes")[:16].replace("T", " ")
    return when, kind, event.title, event.project, event.through


def _show_events(events: Sequence[Event], count: int) -> None:
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
