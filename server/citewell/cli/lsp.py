"""`citewell lsp`: the language server."""

from __future__ import annotations

import signal

import click

from citewell.cli.session import Session


@click.command("lsp", short_help="Serve an editor over the Language Server Protocol.")
@click.option(
    "--tcp",
    metavar="HOST:PORT",
    default="",
    help="Listen on a TCP port instead of standard input and output.",
)
@click.option("--stdio", is_flag=True, help="Use standard input and output (the default).")
@click.pass_obj
def lsp(session: Session, tcp: str, stdio: bool) -> None:
    """Serve an editor over the Language Server Protocol.

    Editors start this themselves. Settings come from the files, the environment, the editor, and
    the flags before the command, which win.
    """
    host, port = ("", 0)
    if tcp:
        if stdio:
            raise click.UsageError("--tcp and --stdio exclude each other.")
        host, port = address(tcp, "--tcp")
    from citewell.lsp import serve

    # An editor that ends its server does not wait for threads, and none has anything to put away.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    serve(host=host, port=port, overrides=session.flags(), user_file=session.config)


def address(text: str, flag: str) -> tuple[str, int]:
    """Host and port of a flag's value; a usage error for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise click.UsageError(f"{flag} takes HOST:PORT, such as 127.0.0.1:7411, not `{text}`.")
    return host.strip("[]") or "127.0.0.1", int(port)
