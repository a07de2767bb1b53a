"""`citewell map`: a picture of a whole library."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.cli.explore import FILE, write_file
from citewell.cli.terminal import FINDINGS, OK, Session, echo, show_problems, write_json


@click.command("map", short_help="Draw a whole library, with its communities and gaps.")
@click.option("--html", "path", type=FILE, metavar="FILE", help="Write the map as a web page.")
@click.option("--replace", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Write the map as JSON, with an SVG picture.")
@click.pass_context
def map_command(ctx: click.Context, path: Path | None, replace: bool, as_json: bool) -> None:
    """Draw a whole library.

    Shows its communities with their key papers, and gaps: works that yours cite and the library
    lacks, as far as citations are known. --html writes them with a picture of at most 5,000 works.
    Exits with 1 for an empty library.
    """
    import msgspec

    from citewell.usecases.library import Library
    from citewell.usecases.library_map import gap_text, library_map, summary, to_html

    if path is not None and path.exists() and not replace:
        raise click.UsageError(f"{path} exists. Add --replace to replace it.")
    session: Session = ctx.obj
    options = session.load().options
    with Library(options) as library:
        found = library_map(library.engine)
    show_problems(found.problems)
    if as_json:
        write_json(msgspec.to_builtins(found))
    else:
        echo(summary(found), err=True)
        for one in found.communities:
            echo(f"{', '.join(one.words)} ({one.works:,} works)")
            for work in one.key_papers:
                echo(f"  {work.id}\t{' '.join(work.title.split())}\t{work.year or ''}")
        for gap in found.gaps:
            work = gap.work
            echo(f"gap\t{work.id}\t{' '.join(work.title.split())}\t{gap_text(gap)}")
    if path is not None and found.works:
        write_file(path, to_html(found, options.library.name).encode())
    ctx.exit(OK if found.works else FINDINGS)
