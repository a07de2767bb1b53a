"""`citewell find`: the papers for a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from citewell.cli.report import BROKEN, FINDINGS, OK, show_problems, write_json
from citewell.cli.session import Session, console

if TYPE_CHECKING:
    from citewell.model import SearchResult


@click.command("find", short_help="Find papers for a text.")
@click.argument("text", nargs=-1, required=True)
@click.option("-k", "count", default=10, type=click.IntRange(1, 1000), help="How many papers.")
@click.option("--year-from", type=int, metavar="YEAR", help="Only papers of this year or later.")
@click.option("--year-to", type=int, metavar="YEAR", help="Only papers of this year or earlier.")
@click.option("--author", default="", metavar="NAME", help="Only papers by this author.")
@click.option("--venue", default="", metavar="NAME", help="Only papers of this venue.")
@click.option("--json", "as_json", is_flag=True, help="Write the whole result as JSON.")
@click.pass_context
def find(
    ctx: click.Context,
    text: tuple[str, ...],
    count: int,
    year_from: int | None,
    year_to: int | None,
    author: str,
    venue: str,
    as_json: bool,
) -> None:
    """Find papers for a text.

    TEXT is a title, a topic, or a sentence that wants a citation. Exits with 1 if nothing is found.
    """
    from citewell.cli.opening import open_engine
    from citewell.model import Query

    session: Session = ctx.obj
    query = Query(
        text=" ".join(text), year_from=year_from, year_to=year_to, author=author, venue=venue
    )
    with open_engine(session.load().options) as engine:
        result = engine.find(query, count, tier="full")
    if as_json:
        write_json(result)
    else:
        _show(result)
    show_problems((*result.problems, *result.dropped))
    if result.hits:
        ctx.exit(OK)
    broken = any(p.code.startswith(("library-", "engine-", "index-")) for p in result.problems)
    ctx.exit(BROKEN if broken else FINDINGS)


def _show(result: SearchResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from citewell.cli.papers import authors_of, venue_of, why

    if not result.hits:
        click.echo("No paper was found.", err=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", style="dim")
    table.add_column("paper", ratio=5, overflow="fold")
    table.add_column("year", no_wrap=True)
    table.add_column("venue", ratio=2, overflow="fold")
    table.add_column("found by", ratio=3, overflow="fold", style="dim")
    for rank, hit in enumerate(result.hits, start=1):
        work = hit.work
        paper = Text(work.title, style="bold")
        paper.append(f"\n{authors_of(work)}", style="not bold")
        key = hit.key or work.bibkey
        if key:
            paper.append(f"\n{key}", style="not bold cyan")
        if work.retracted:
            paper.append("\nretracted", style="bold red")
        year = str(work.year) if work.year else ""
        table.add_row(str(rank), paper, year, Text(venue_of(work)), Text(why(hit)))
    console().print(table)
