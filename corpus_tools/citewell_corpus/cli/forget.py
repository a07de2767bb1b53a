"""`citewell library forget`: remove records that were accepted from sources."""

from __future__ import annotations

import click

from citewell.model.display_text import visible
from citewell_corpus.cli.library_group import (
    FINDINGS,
    JSON,
    OK,
    library,
    options_of,
    write_json,
)


@library.command("forget", short_help="Remove papers that you accepted from online sources.")
@click.argument("identifiers", nargs=-1, required=True, metavar="ID...")
@JSON
@click.pass_context
def forget_command(ctx: click.Context, /, identifiers: tuple[str, ...], as_json: bool) -> None:
    """Remove papers from the library `accepted`, which keeps what you accepted from sources.

    An ID is one that `citewell library explain` takes. Your bibliographies stay as they are.
    `citewell library remove --name accepted` removes all such papers. Exits with 1 when one of
    them is not there.
    """
    from citewell.corpus.layout import ACCEPTED, is_library
    from citewell.corpus.library import Library
    from citewell.engine.accepted import drop_records
    from citewell.engine.which_library import accepted_library
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import source_at
    from citewell_corpus.status import explain, remove_library

    options = options_of(ctx)
    folder = accepted_library(options)
    found = []
    unknown = list(identifiers)
    if is_library(folder):
        with Library.open(folder) as opened:
            meant = {name: explain(opened, name) for name in identifiers}
        unknown = [name for name, works in meant.items() if not works]
        found = [one.work for works in meant.values() for one in works]
    if found:
        gone = {identifier for work in found for identifier in (work.id, *work.same_as)}
        if drop_records(folder, gone):
            source = source_at(str(folder / ACCEPTED), "records")
            build_library(folder, add=[source], builders=default_builders(options))
        else:
            remove_library(folder)
    if as_json:
        write_json({"forgotten": [work.id for work in found], "unknown": unknown})
    else:
        for work in found:
            click.echo(visible(f"Forgot {work.id}: {work.title}"))
        for name in unknown:
            click.echo(visible(f"Not among the accepted papers: {name}"), err=True)
    ctx.exit(FINDINGS if unknown else OK)
