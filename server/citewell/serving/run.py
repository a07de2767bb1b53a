"""Running an application until it is asked to end, which it does in order."""

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
"""Connections that wait to be accepted."""
MAX_CONNECTIONS = 512
MAX_HEAD = 65_536
"""Bytes of a request's first line and headers: an address may hold a long question."""
ENDING_SECONDS = 10
"""How long requests in flight may go on once the server was asked to end."""


def run_app(
    app: ASGIApp,
    bound: socket.socket,
    announce: Callable[[], None],
    *,
    proxies: Sequence[str] = (),
    own_log: bool = False,
) -> None:
    """Serve on the bound socket until SIGINT, SIGTERM or Ctrl+Break; `announce` is called once
    connections are accepted. Only `proxies`, addresses or networks, may name the client in
    forwarded headers. With `own_log` the log keeps its format. Returns when the requests in flight
    are answered or cancelled."""
    import uvicorn

    from citewell.serving.patience import PatientProtocol

    # Whoever reads the address may come before the event loop runs: it waits then, unrefused.
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
    """Say once what a signal has begun."""
    if not server.should_exit:
        notice(f"Stopping: requests in flight have {ENDING_SECONDS} s to finish.")


@contextlib.contextmanager
def _signals_end(server: uvicorn.Server) -> Iterator[None]:
    """A signal ends the server, also one that comes before it runs. The library raises the one that
    ended it once more, to whoever listened before: that would end the process before the engine is
    closed."""

    def handle_signal(*_: object) -> None:
        _announce_end(server)
        server.should_exit = True

    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    try:
        before = [signal.signal(one, handle_signal) for one in signals]
    except ValueError:  # only the main thread hears signals
        yield
        return
    try:
        yield
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)
