"""`citewell library explain`: the records merged into a work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from citewell.model.display_text import visible
from citewell.sources.registry import source_title
from citewell_corpus.cli.library_group import (
    FINDINGS,
    JSON,
    NAME,
    library,
    library_to_read,
    options_of,
    write_json,
)

if TYPE_CHECKING:
    from citewell_corpus.status import Explanation


@library.command("explain", short_help="Show the records merged into a paper.")
@click.argument("identifier", metavar="ID")
@NAME
@JSON
@click.pass_context
def explain_command(ctx: click.Context, /, identifier: str, name: str, as_json: bool) -> None:
    """Show which records of which sources were merged into a paper, and where they disagree.

    ID is an id of the library, a DOI, an arXiv id, a citation key of a source, or a full title.
    Exits with 1 when the library has no such paper.
    """
    from citewell_corpus.status import explain

    with library_to_read(options_of(ctx), name) as opened:
        found = explain(opened, identifier)
    if as_json:
        write_json(found)
    elif not found:
        click.echo("The library has no such paper.", err=True)
    for one in found if not as_json else ():
        _show(one)
    if not found:
        ctx.exit(FINDINGS)


def _show(found: Explanation) -> None:
    work = found.work
    authors = "; ".join(author.display for author in work.authors)
    place = work.booktitle or work.journal or work.venue
    rows = {
        "id": work.id,
        "title": work.title,
        "authors": authors,
        "year": str(work.year or ""),
        "venue": place,
        "doi": work.doi,
        "arxiv": work.arxiv,
        "added from": ", ".join(found.added_from),
    }
    for label, text in rows.items():
        if text:
            click.echo(f"{click.style(f'{label + chr(58):<13}', bold=True)} {visible(text)}")
    click.echo(f"{len(found.records)} {'records' if len(found.records) != 1 else 'record'}:")
    for record in found.records:
        when = f", read {record.retrieved}" if record.retrieved else ""
        click.echo(visible(f"  {source_title(record.source)}: {record.source_id}{when}"))
        for field, value in record.differs.items():
            click.echo(visible(f"      {field}: {value}"))
