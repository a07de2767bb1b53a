"""Runs an application until a graceful shutdown."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

BACKLOG = 128
"""Maximum number of connections waiting to be accepted."""
MAX_CONNECTIONS = 512
MAX_HEAD = 65_536
"""Maximum bytes of a request's first line and headers: an address may contain a long question."""
ENDING_SECONDS = 10
"""Seconds for which requests in flight may continue after a shutdown request."""


def run_app(
    app: ASGIApp,
    bound: socket.socket,
    announce: Callable[[], None],
    *,
    proxies: Sequence[str] = (),
    own_log: bool = False,
) -> None:
    """Serve on the bound socket until SIGINT, SIGTERM or Ctrl+Break; `announce` is called once
    connections are accepted. Only `proxies`, addresses or networks, may set the client in forwarded
    headers. With `own_log`, the log keeps its format. Returns when the requests in flight are
    answered or cancelled."""
    import uvicorn

    from citewell.serving.patience import PatientProtocol

    # A client that connects before the event loop runs waits and is not refused.
    bound.listen(BACKLOG)
    log_config = None if own_log else uvicorn.config.LOGGING_CONFIG
    config = uvicorn.Config(
        app,
        log_config=log_config,
        log_level="warning",
        access_log=False,
        server_header=False,
        http=PatientProtocol,
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_graceful_shutdown=ENDING_SECONDS,
    )

    class HttpServer(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            _announce_end(self)
            super().handle_exit(sig, frame)

    server = HttpServer(config)
    with _signals_end(server):
        announce()
        notice("Press Ctrl+C to stop.")
        server.run(sockets=[bound])
    notice("Citewell stopped.")


def notice(text: str) -> None:
    """Write a line for a person at a terminal; programs that read the output get no unexpected
    lines."""
    if sys.stderr is not None and sys.stderr.isatty():
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)  # noqa: T201


def _announce_end(server: uvicorn.Server) -> None:
    """Report the start of the shutdown."""
    if not server.should_exit:
        notice(f"Stopping: requests in flight have {ENDING_SECONDS} s to finish.")


@contextlib.contextmanager
def _signals_end(server: uvicorn.Server) -> Iterator[None]:
    """Let a signal end the server, even before it runs. Uvicorn raises the signal again for the
    previous handler, which would end the process before the engine is closed."""

    def handle_signal(*_: object) -> None:
        _announce_end(server)
        server.should_exit = True

    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    try:
        before = [signal.signal(one, handle_signal) for one in signals]
    except ValueError:  # only the main thread receives signals
        yield
        return
    try:
        yield
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)
