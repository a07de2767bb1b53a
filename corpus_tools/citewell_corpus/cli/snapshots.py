"""`citewell library snapshot` and `restore`: copies of what a back end holds."""

from __future__ import annotations

from pathlib import Path

import click

from citewell_corpus.cli.library_group import JSON, OK, library, write_json


@library.command("snapshot", short_help="Copy what a back end holds into a folder.")
@click.argument("address")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@JSON
@click.pass_context
def snapshot_command(ctx: click.Context, address: str, folder: Path, as_json: bool) -> None:
    """Copy what the back end at ADDRESS holds into FOLDER.

    A server makes a snapshot, which is one file; `edge:FOLDER` is copied as a folder, while no
    other program has it open. The library itself is a folder that you can copy.
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
    """Write what `citewell library snapshot` copied to SNAPSHOT into the back end at ADDRESS.

    A server writes it beside what it has, then searches it in its place. A folder must be free.
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
