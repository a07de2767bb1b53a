"""`citewell serve`: the engine for a web page, scripts and other programs, over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.cli.session import Session

PORT = 7413


@click.command("serve", short_help="Serve a web page, and programs over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0: any free port.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the token, on one line, that each request must carry.",
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
@click.option(
    "--open",
    "is_opened",
    is_flag=True,
    help="Open the web page in the browser.",
)
@click.option(
    "--read-only",
    is_flag=True,
    help="Serve a public demo: no sources, model or learning, small requests, a rate limit.",
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

    One line of JSON on standard output has the address (`url`): a browser shows the page there (see
    docs/page.md), and its /openapi.json describes the requests of programs (see docs/http.md). No
    request changes a file. A token in --token-file, in the environment variable CITEWELL_HTTP_TOKEN
    or in the system's keyring (`keyring set citewell http`) is asked of every request for data. For
    agents there is `citewell mcp`.
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
