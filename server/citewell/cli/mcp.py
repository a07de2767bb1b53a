"""`citewell mcp`: the engine for agents."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from citewell.cli.lsp import address
from citewell.cli.session import Session


@click.command("mcp", short_help="Serve an agent over the Model Context Protocol.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder whose files the agent may read (repeatable); default: none.",
)
@click.option("--allow-write", is_flag=True, help="Let the agent change files in the roots.")
@click.option(
    "--http",
    metavar="HOST:PORT",
    default="",
    help="Listen on HTTP instead of standard input and output, such as 127.0.0.1:7412.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="With --http: an allowed origin of web pages, such as http://localhost:6274.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="HOST:PORT",
    help="With --http: an additional host name of this server.",
)
@click.pass_obj
def mcp(
    session: Session,
    roots: tuple[Path, ...],
    allow_write: bool,
    http: str,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
) -> None:
    """Serve an agent over the Model Context Protocol.

    Clients such as Claude Desktop, Claude Code, VS Code and Cursor start this themselves (see
    docs/mcp.md). Nothing is written unless --allow-write is given. With --http, a token in the
    environment variable CITEWELL_MCP_TOKEN, or in the system's keyring (`keyring set citewell
    mcp`), is asked of every request.
    """
    from citewell.mcp import serve
    from citewell.serving.guard import MCP_TOKEN, find_token

    if (origins or hosts) and not http:
        raise click.UsageError("--allow-origin and --allow-host require --http.")
    host, port = address(http, "--http") if http else ("", 0)
    if not http:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as a language server is ended
    options = session.load(roots[0] if roots else None).options
    serve(
        options,
        roots=roots,
        allow_write=allow_write,
        host=host,
        port=port,
        token=find_token(MCP_TOKEN, "mcp") if http else "",
        origins=origins,
        allowed_hosts=hosts,
    )
