"""`citewell find`: the papers for a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from citewell.cli.report import BROKEN, FINDINGS, OK, show_cost, show_problems, write_json
from citewell.cli.session import Session, console

if TYPE_CHECKING:
    from citewell.engine.contract import Engine
    from citewell.model import Problem, Query, SearchResult
    from citewell.options.tree import BibOptions

ONLINE_SECONDS = 30.0
"""How long the command waits for the sources; what has not come by then is left out."""


@click.command("find", short_help="Find papers for a text.")
@click.argument("text", nargs=-1)
@click.option(
    "-k", "--limit", "count", default=10, type=click.IntRange(1, 1000), help="How many papers."
)
@click.option("--year", type=int, metavar="YEAR", help="Only papers of this year.")
@click.option("--year-from", type=int, metavar="YEAR", help="Only papers of this year or later.")
@click.option("--year-to", type=int, metavar="YEAR", help="Only papers of this year or earlier.")
@click.option(
    "--author",
    default="",
    metavar="NAME",
    help="Only papers by this author: a full name, initials, or the surname.",
)
@click.option(
    "--venue",
    default="",
    metavar="NAME",
    help="Only papers of this venue: its acronym or its name, with a year or without.",
)
@click.option("--online", is_flag=True, help="Ask the allowed sources too (`citewell sources`).")
@click.option("--pick", is_flag=True, help="Let the language model choose one, put it first.")
@click.option("--bibtex", is_flag=True, help="Write the papers as BibTeX entries.")
@click.option("--json", "as_json", is_flag=True, help="Write the whole result as JSON.")
@click.pass_context
def find(
    ctx: click.Context,
    text: tuple[str, ...],
    count: int,
    year: int | None,
    year_from: int | None,
    year_to: int | None,
    author: str,
    venue: str,
    online: bool,
    pick: bool,
    bibtex: bool,
    as_json: bool,
) -> None:
    """Find papers for a text.

    TEXT is a title, a topic, or a sentence that wants a citation; with --author, --venue or a year
    it may be left out. A DOI, an arXiv or Anthology id, or an address is looked up: it names one
    paper or none. With --online TEXT is sent to the sources that you have allowed. Exits with 1 if
    nothing is found.
    """
    from citewell.cli.opening import open_engine
    from citewell.model import Query

    session: Session = ctx.obj
    if year is not None:
        if year_from is not None or year_to is not None:
            raise click.UsageError("--year excludes --year-from and --year-to.")
        year_from = year_to = year
    filtered = author.strip() or venue.strip() or year_from is not None or year_to is not None
    if not " ".join(text).strip() and not filtered:
        raise click.UsageError("Missing argument 'TEXT...'.")
    query = Query(
        text=" ".join(text), year_from=year_from, year_to=year_to, author=author, venue=venue
    )
    if bibtex and as_json:
        raise click.UsageError("--bibtex and --json exclude each other.")
    if year_from is not None and year_to is not None and year_from > year_to:
        raise click.UsageError(f"--year-from {year_from} is after --year-to {year_to}.")
    options = session.load().options
    with open_engine(options, online=online) as engine:
        if online:
            engine.wait_online(query, ONLINE_SECONDS)
        result = engine.find(query, count, tier="deep")
        problems: tuple[Problem, ...] = ()
        if pick and result.hits:
            result, problems = _picked(engine, query, result)
        show_cost(engine.status().budget)
    if as_json:
        write_json(result)
    elif bibtex:
        click.echo(_entries(result, options.bib), nl=False)
    else:
        _show(result, options.bib)
    show_problems((*result.problems, *result.dropped, *problems))
    if result.hits:
        ctx.exit(OK)
    broken = any(p.code.startswith(("library-", "engine-", "index-")) for p in result.problems)
    ctx.exit(BROKEN if broken else FINDINGS)


def _picked(
    engine: Engine, query: Query, result: SearchResult
) -> tuple[SearchResult, tuple[Problem, ...]]:
    """The result with the language model's choice first, and why there is none."""
    import msgspec

    from citewell.features.pick import chosen_first, who_chose

    picked = engine.pick(query, [hit.work for hit in result.hits])
    if picked.problem is not None:
        return result, (picked.problem,)
    none = "" if picked.work else "none fits, "
    click.echo(f"{none}{who_chose(picked)}", err=True)
    made = f"{result.variant}+{picked.program}"
    hits = chosen_first(result.hits, picked)
    return msgspec.structs.replace(result, hits=hits, variant=made), ()


def _entries(result: SearchResult, options: BibOptions) -> str:
    """The entries as one .bib, with distinct keys."""
    from citewell.documents.bib_edit import new_bib_text

    taken: set[str] = set()
    texts = []
    for hit in result.hits:
        text, key = new_bib_text(hit.work, None, options, taken)
        taken |= {key, key.lower()}
        texts.append(text)
    return "\n".join(texts)


def _show(result: SearchResult, options: BibOptions) -> None:
    from rich.table import Table
    from rich.text import Text

    from citewell.cli.papers import authors_of, venue_of, why
    from citewell.documents.keys import make_key

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
        key = hit.key or make_key(work, options.key_pattern, ())
        paper.append(f"\n{key}", style="not bold cyan")
        if work.retracted:
            paper.append("\nretracted", style="bold red")
        year = str(work.year) if work.year else ""
        table.add_row(str(rank), paper, year, Text(venue_of(work)), Text(why(hit)))
    console().print(table)
