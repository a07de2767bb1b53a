"""The servers: `citewell lsp` for editors, `mcp` for agents, `serve` for pages and programs."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from citewell.cli.app import LazyGroup
from citewell.cli.terminal import Session


@click.command("lsp", short_help="Serve an editor over the Language Server Protocol.")
@click.option(
    "--tcp",
    metavar="HOST:PORT",
    default="",
    help="Listen on a TCP port.",
)
@click.option("--stdio", is_flag=True, help="Use standard input and output (the default).")
@click.pass_obj
def lsp(session: Session, tcp: str, stdio: bool) -> None:
    """Serve an editor over the Language Server Protocol.

    Editors start this themselves. Flags before the command override all other settings.
    """
    host, port = ("", 0)
    if tcp:
        if stdio:
            raise click.UsageError("--tcp and --stdio exclude each other.")
        host, port = address(tcp, "--tcp")
    from citewell.lsp import serve

    # An editor that ends its server does not wait for threads, and none needs a cleanup.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    serve(host=host, port=port, overrides=session.flags(), user_file=session.config)


def address(text: str, flag: str) -> tuple[str, int]:
    """Host and port of a flag's value; a usage error for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise click.UsageError(f"{flag} takes HOST:PORT, such as 127.0.0.1:7411, not `{text}`.")
    return host.strip("[]") or "127.0.0.1", int(port)


@click.group(
    "mcp",
    cls=LazyGroup,
    commands_by_name={
        "setup": (
            "citewell.cli.mcp_setup:setup",
            "Enter Citewell in the settings of a client, or remove it.",
        )
    },
    invoke_without_command=True,
    short_help="Serve an agent over the Model Context Protocol.",
)
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
    "--no-confirm",
    is_flag=True,
    help="Change files without asking the user.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    default="",
    help="Listen on HTTP, such as 127.0.0.1:7412.",
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
@click.pass_context
def mcp(
    ctx: click.Context,
    roots: tuple[Path, ...],
    allow_write: bool,
    no_confirm: bool,
    http: str,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
) -> None:
    """Serve an agent over the Model Context Protocol.

    Clients start this themselves; `citewell mcp setup` enters it in their settings (docs/mcp.md).
    Nothing is written without --allow-write. With --http, requests must carry the token, if any, of
    CITEWELL_MCP_TOKEN or the keyring (`keyring set citewell mcp`).
    """
    if ctx.invoked_subcommand is not None:
        return
    session: Session = ctx.obj
    from citewell.mcp import serve
    from citewell.serving.guard import MCP_TOKEN, find_token

    if (origins or hosts) and not http:
        raise click.UsageError("--allow-origin and --allow-host require --http.")
    host, port = address(http, "--http") if http else ("", 0)
    if not http:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # like a language server
    options = session.load(roots[0] if roots else None).options
    serve(
        options,
        roots=roots,
        allow_write=allow_write,
        confirm=not no_confirm,
        host=host,
        port=port,
        token=find_token(MCP_TOKEN, "mcp") if http else "",
        origins=origins,
        allowed_hosts=hosts,
    )


PORT = 7413


@click.command("serve", short_help="Serve a web page, and programs over HTTP.")
@click.option(
    "--host",
    default="127.0.0.1",
    envvar="CITEWELL_HTTP_HOST",
    show_default=True,
    help="Address to listen on; also CITEWELL_HTTP_HOST.",
)
@click.option(
    "--port",
    envvar="CITEWELL_HTTP_PORT",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0: any free port. Also CITEWELL_HTTP_PORT.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the token, on one line.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Allowed origin of web pages, such as http://localhost:3000 (repeatable).",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="HOST:PORT",
    help="Additional host name of this server (repeatable).",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the web page in the browser.")
@click.option(
    "--read-only",
    is_flag=True,
    help="Serve a public demo, without sources, model and learning.",
)
@click.pass_obj
def serve(
    session: Session,
    host: str,
    port: int,
    token_file: Path | None,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
    is_opened: bool,
    read_only: bool,
) -> None:
    """Serve a web page, and programs over HTTP.

    The first line of standard output is JSON with the address (`url`) of the page (docs/page.md)
    and of the requests (docs/http.md). No request changes a file. Requests for data must carry the
    token, if any, of --token-file, CITEWELL_HTTP_TOKEN or the keyring (`keyring set citewell
    http`).
    """
    from citewell.http import serve as serve_http
    from citewell.serving.guard import HTTP_TOKEN, find_token
    from citewell.web import open_page, with_page

    token = find_token(HTTP_TOKEN, "http", file=token_file)
    serve_http(
        session.load().options,
        host=host.strip("[]"),
        port=port,
        token=token,
        origins=origins,
        allowed_hosts=hosts,
        page=with_page,
        on_start=(lambda url: open_page(url, token)) if is_opened else None,
        read_only=read_only,
    )
