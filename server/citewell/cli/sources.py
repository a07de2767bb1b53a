"""`citewell sources`: which scholarly sources may be asked, and what is sent to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import Session, console, show_problem, show_problems, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citewell.options import Options


@click.group("sources", short_help="List scholarly sources, and allow or forbid them.",
             invoke_without_command=True)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the list as JSON.")
@click.pass_context
def sources(ctx: click.Context, as_json: bool) -> None:
    """List scholarly sources, and allow or forbid them.

    None is queried until you allow it. Without a command: each source, whether it is allowed, and
    what it would receive.
    """
    if ctx.invoked_subcommand is not None:
        return
    from citewell.sources.registry import allowed

    session: Session = ctx.obj
    options = session.load().options
    names, problems = allowed(options.sources.allow)
    rows = facts(options)
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
    from citewell.options.remember import remember, user_file_in_use

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


def facts(options: Options) -> list[dict[str, Any]]:
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
