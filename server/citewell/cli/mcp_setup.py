"""`citewell mcp setup`: adds the server to the settings of a client, or removes it."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.mcp.client_setup import (
    CLIENTS,
    entry_of,
    planned,
    printed,
    settings_file,
)


@click.command("setup", short_help="Enter Citewell in the settings of a client, or remove it.")
@click.argument("client", required=False, type=click.Choice(list(CLIENTS)))
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder whose files the agent may read (repeatable); default: this one.",
)
@click.option("--allow-write", is_flag=True, help="Let the agent change files in the roots.")
@click.option("--user", is_flag=True, help="Change the user's settings, not those of this folder.")
@click.option("--remove", is_flag=True, help="Remove Citewell from the settings.")
@click.option("--write", is_flag=True, help="Write the file; otherwise the change is only shown.")
def setup(
    client: str | None,
    roots: tuple[Path, ...],
    allow_write: bool,
    user: bool,
    remove: bool,
    write: bool,
) -> None:
    """Enter Citewell in the settings of a client of the Model Context Protocol.

    Shows a diff; --write makes the change. Claude Code, Cursor, VS Code and Gemini CLI have
    settings in each folder, Claude Desktop, Codex and Zed those of the user. Without CLIENT, prints
    the entry.
    """
    folder = Path.cwd()
    if client is None:
        if remove or write:
            raise click.UsageError("--remove and --write need the name of a client.")
        other = CLIENTS["claude-desktop"]
        entry = entry_of(other, folder, roots, user=True, allow_write=allow_write)
        click.echo(printed(other, entry), nl=False)
        return
    found = CLIENTS[client]
    path = settings_file(found, folder, user=user)
    entry = entry_of(found, folder, roots, user=user, allow_write=allow_write)
    plan = planned(found, path, None if remove else entry)
    if plan.before == plan.after:
        state = "does not name Citewell" if remove else "has this entry already"
        click.echo(f"{path} {state}.", err=True)
        return
    click.echo(plan.diff, nl=False)
    if not write:
        click.echo(f"Nothing is written: add --write to change {path}.", err=True)
        return
    plan.write()
    click.echo(
        f"{path} is {'written' if plan.after else 'removed'}: restart {found.title}.", err=True
    )
