"""`citewell prompts`: the versions of the programs that ask the language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.terminal import FINDINGS, Session, console, show_problems, write_json
from citewell.llm.versions import (
    NAMES,
    current,
    current_version,
    read_version,
    roll_back,
    start_trial,
    use_version,
    versions_of,
)
from citewell.model import CitewellError

if TYPE_CHECKING:
    from citewell.llm.versions import Version

PROGRAM = click.Choice(NAMES)


class _Group(click.Group):
    """The group of commands; an unknown program or version is a problem with a hint."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except CitewellError as error:
            show_problems([error.problem])
            ctx.exit(FINDINGS)


@click.group("prompts", cls=_Group, short_help="List, compare and choose prompt versions.")
def prompts() -> None:
    """List, compare and choose the versions of the prompts that `citewell tune` made.

    The version "builtin" is always there.
    """


@prompts.command("list", short_help="List all versions of all programs.")
@click.option("--json", "as_json", is_flag=True, help="Write them as JSON.")
@click.pass_obj
def list_versions(session: Session, as_json: bool) -> None:
    """List all versions of all programs, with the figures of their acceptance."""
    from rich.table import Table

    folder = _folder(session)
    rows: list[dict[str, object]] = []
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "program", "version", "made with", "by", "metric", "examples", "from"):
        table.add_column(name)
    for program in NAMES:
        now = current(program, folder)
        for version in versions_of(program, folder):
            found = None if version == "builtin" else _read(program, version, folder)
            state = "in use" if version == now.version else ""
            if version == now.trial:
                state = f"trial, {now.share:.0%}"
            metric = "" if found is None else f"{found.metrics.get('metric', 0):.3f}"
            rows.append({"program": program, "version": version, "state": state, "facts": found})
            table.add_row(
                state, program, version, found.model if found else "",
                found.optimizer if found else "", metric, str(len(found.demos)) if found else "",
                found.parent if found else "",
            )  # fmt: skip
    if as_json:
        write_json(rows)
    else:
        console().print(table)


@prompts.command("show", short_help="Show the instructions and examples of a version.")
@click.argument("program", type=PROGRAM)
@click.argument("version", required=False, default="")
@click.pass_obj
def show(session: Session, program: str, version: str) -> None:
    """Show the instructions and examples of a version as JSON; default: the one in use."""
    folder = _folder(session)
    write_json(_read(program, version or current_version(program, folder), folder))


@prompts.command("compare", short_help="Show the differences between two versions.")
@click.argument("program", type=PROGRAM)
@click.argument("first")
@click.argument("second")
@click.pass_obj
def compare(session: Session, program: str, first: str, second: str) -> None:
    """Show the differences between two versions: instructions, examples, figures."""
    import difflib

    folder = _folder(session)
    a, b = _read(program, first, folder), _read(program, second, folder)
    lines = difflib.unified_diff(
        a.instructions.splitlines(), b.instructions.splitlines(), first, second, lineterm=""
    )
    text = "\n".join(lines)
    click.echo(text or "The instructions are the same.")
    click.echo(f"Examples: {len(a.demos)} and {len(b.demos)}.")
    for name in dict.fromkeys((*a.metrics, *b.metrics)):
        values = (f"{v.metrics[name]:.3f}" if name in v.metrics else "-" for v in (a, b))
        click.echo(f"{name}: {' and '.join(values)}")


@prompts.command("use", short_help="Use a version.")
@click.argument("program", type=PROGRAM)
@click.argument("version")
@click.pass_obj
def use(session: Session, program: str, version: str) -> None:
    """Use a version, and end a trial."""
    use_version(program, version, _folder(session))
    click.echo(f"{program}@{version} is in use.")


@prompts.command("rollback", short_help="Go back to the version used before.")
@click.argument("program", type=PROGRAM)
@click.pass_obj
def rollback(session: Session, program: str) -> None:
    """Go back to the version used before, and end a trial."""
    click.echo(f"{program}@{roll_back(program, _folder(session))} is in use.")


@prompts.command("trial", short_help="Try a version on a share of the requests.")
@click.argument("program", type=PROGRAM)
@click.argument("version")
@click.option("--share", default=0.5, show_default=True, type=click.FloatRange(0, 1),
              help="Share of the passages; 0 ends the trial.")  # fmt: skip
@click.pass_obj
def trial(session: Session, program: str, version: str, share: float) -> None:
    """Try a version on a share of the requests; `citewell prompts outcomes` says how it goes."""
    folder = _folder(session)
    start_trial(program, version, share, folder)
    now = current(program, folder)
    if now.trial:
        click.echo(f"{program}@{now.trial} answers for {now.share:.0%} of the passages.")
    else:
        click.echo(f"There is no trial of {program}: {program}@{now.version} answers for all.")


@prompts.command("outcomes", short_help="Show how many suggestions of each version you accepted.")
@click.option("--json", "as_json", is_flag=True, help="Write them as JSON.")
@click.pass_obj
def show_outcomes(session: Session, as_json: bool) -> None:
    """Show how many suggestions of each version you accepted, from `citewell history`."""
    from rich.table import Table

    from citewell.engine.history_store import HistoryStore
    from citewell_lab.tuning.outcomes import outcomes

    store = HistoryStore()
    found = outcomes(store.read())
    store.close()
    if as_json:
        write_json(found)
        return
    if not found:
        click.echo("No suggestion of a language model has been accepted yet.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("program", "version", "accepted", "stood first", "95% interval", "mrr"):
        table.add_column(name)
    for one in found:
        table.add_row(
            one.program, one.version, str(one.accepted), f"{one.first:.0%}",
            f"{one.low:.0%} to {one.high:.0%}", f"{one.mrr:.3f}",
        )  # fmt: skip
    console().print(table)


def _folder(session: Session) -> Path | None:
    return session.load().options.llm.programs


def _read(program: str, version: str, folder: Path | None) -> Version:
    return read_version(program, version, folder)
