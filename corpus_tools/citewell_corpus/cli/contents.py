"""The commands of `citewell library` for single records and whole copies: `explain`, `quarantine`,
`forget`, `snapshot` and `restore`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.model.display_text import visible
from citewell.sources.registry import source_title
from citewell_corpus.cli.library_group import (
    FINDINGS,
    JSON,
    NAME,
    OK,
    library,
    library_path_of,
    library_to_read,
    options_of,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citewell_corpus.status import Explanation, QuarantinedWork


@library.command("explain", short_help="Show the records merged into a paper.")
@click.argument("identifier", metavar="ID")
@NAME
@JSON
@click.pass_context
def explain_command(ctx: click.Context, /, identifier: str, name: str, as_json: bool) -> None:
    """Show which records of which sources were merged into a paper, and where they disagree.

    ID is an id of the library, a DOI, an arXiv id, a citation key of a source, or a full title.
    Exits with 1 if there is none.
    """
    from citewell_corpus.status import explain

    with library_to_read(options_of(ctx), name) as opened:
        found = explain(opened, identifier)
    if as_json:
        write_json(found)
    elif not found:
        click.echo("The library has no such paper.", err=True)
    for one in found if not as_json else ():
        _show_merged(one)
    if not found:
        ctx.exit(FINDINGS)


def _show_merged(found: Explanation) -> None:
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


@library.command("quarantine", short_help="Show papers with malformed author names.")
@click.option(
    "--release",
    "ids",
    multiple=True,
    metavar="ID",
    help="Let searches find this paper; repeatable.",
)
@click.option("--release-all", is_flag=True, help="Let searches find all of them.")
@NAME
@JSON
@click.pass_context
def quarantine_command(
    ctx: click.Context, ids: tuple[str, ...], release_all: bool, name: str, as_json: bool
) -> None:
    """Show the papers that searches leave out because of a malformed author name: an e-mail
    address, markup, an affiliation, several people in one, "et al.".

    `citewell library explain` and checks still know them. A paper leaves the quarantine when merged
    with a record with valid names.
    """
    from citewell.corpus.library import Library
    from citewell_corpus.status import quarantined_works, release

    path = library_path_of(options_of(ctx), name)
    with Library.open(path) as opened:
        found = quarantined_works(opened)
        known = {one for work in opened.works(opened.quarantined_rows()) for one in work.same_as}
    if unknown := [one for one in ids if one not in known | {work.id for work in found}]:
        raise click.UsageError(f"Not in quarantine: {', '.join(unknown)}.")
    released = release(path, None if release_all else ids) if ids or release_all else []
    kept = [one for one in found if one not in released]
    if as_json:
        write_json({"quarantined": kept, "released": released})
        return
    if ids or release_all:
        _show_quarantined("Released", released)
    _show_quarantined("In quarantine", kept)


def _show_quarantined(heading: str, works: Sequence[QuarantinedWork]) -> None:
    papers = "1 paper" if len(works) == 1 else f"{len(works):,} papers"
    click.echo(f"{heading}: {papers}")
    for one in works:
        click.echo(visible(f"{one.id}  {one.title}"))
        click.echo(visible(f"    {one.reason}: {one.name}"))


@library.command("snapshot", short_help="Copy what a back end holds into a folder.")
@click.argument("address")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@JSON
@click.pass_context
def snapshot_command(ctx: click.Context, address: str, folder: Path, as_json: bool) -> None:
    """Copy the contents of the back end at ADDRESS into FOLDER.

    A server makes one file; `edge:FOLDER`, which no other program may have open, is copied.
    """
    from citewell.retrieval.backend.connection import open_backend
    from citewell.retrieval.backend.contract import backend_error

    backend = open_backend(address)
    if backend.state() is None:
        raise backend_error("backend-missing", f"{address} holds no library.")
    try:
        written = backend.snapshot(folder)
    except OSError as error:
        raise click.ClickException(f"The snapshot cannot be written: {error}") from None
    if as_json:
        write_json({"snapshot": str(written)})
    else:
        click.echo(f"Wrote {written}.")
    ctx.exit(OK)


@library.command("restore", short_help="Bring back a snapshot of a back end.")
@click.argument("snapshot", type=click.Path(exists=True, path_type=Path))
@click.argument("address")
@JSON
@click.pass_context
def restore_command(ctx: click.Context, snapshot: Path, address: str, as_json: bool) -> None:
    """Restore the SNAPSHOT of `citewell library snapshot` in the back end at ADDRESS.

    A server keeps its contents until the snapshot is written. A folder must not exist.
    """
    from citewell.retrieval.backend.connection import restore

    try:
        points = restore(address, snapshot).count()
    except OSError as error:
        raise click.ClickException(f"The snapshot cannot be read: {error}") from None
    if as_json:
        write_json({"points": points})
    else:
        click.echo(f"{address} holds {points:,} papers.")
    ctx.exit(OK)


@library.command("forget", short_help="Remove papers that you accepted from online sources.")
@click.argument("identifiers", nargs=-1, required=True, metavar="ID...")
@JSON
@click.pass_context
def forget_command(ctx: click.Context, /, identifiers: tuple[str, ...], as_json: bool) -> None:
    """Remove papers from the library `accepted`, which keeps records that you accepted from
    sources.

    An ID is an id of the library, a DOI, an arXiv id or a full title. Your bibliographies do not
    change. Exits with 1 if one is missing.
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
