"""The transports of the server: standard input and output, or HTTP on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.server import MCPServer, stdio
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from citewell.model.display_text import whole_json, whole_texts
from citewell.model.system.json_log import FIELDS, log_as_json
from citewell.options.tree import ServeOptions
from citewell.serving.address import BasePath, bind, url_of
from citewell.serving.guard import MCP_TOKEN, Admission, Buckets, RateLimit, guarded
from citewell.serving.metrics import Metrics, metrics_routes
from citewell.serving.observed import STREAM, label_request, observed
from citewell.serving.run import run_app

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
    from mcp.shared._stream_protocols import WriteStream
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Labels of agents' requests in the metrics: all have the same path.
#
# A call of a tool is counted by the tool's own name, every other message as `mcp`: a name sent by a
# client is no label. An answer that stays open is a stream.

PATH: Final = "/mcp"
MESSAGE: Final = "mcp"


def labelled(app: ASGIApp) -> ASGIApp:
    """The application with a label for each request of its path. The stream of the older protocols
    is a GET."""

    async def label(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH:
            label_request(scope, STREAM if scope["method"] == "GET" else MESSAGE)
        await app(scope, receive, send)

    return label


def label_tools(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Label the requests that call one of the tools, and those that open a stream of the newest
    protocol."""

    async def label(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request is not None:  # none on pipes
            name = (ctx.params or {}).get("name")
            if ctx.method == "subscriptions/listen":
                label_request(ctx.request.scope, STREAM)
            elif ctx.method == "tools/call" and isinstance(name, str) and name in tools:
                label_request(ctx.request.scope, name)
        return await call_next(ctx)

    return label


# Answers to invalid messages: the protocol's library drops some of them.

MAX_BODY = 2 * 1024 * 1024
"""Bytes of one request over HTTP."""


async def serve_pipes(server: MCPServer[Any]) -> None:
    """Serve one agent on standard input and output, and answer every line."""
    low = server._lowlevel_server
    # As in `stdio_server`: other readers of standard input find it empty.
    pipe, restore = stdio._claim_fd(0, sys.stdin, "rb", stdio._open_stdin_diversion)
    text = stdio._UnownedTextWrapper(pipe, encoding="utf-8", errors="replace")
    lines = _Lines(anyio.wrap_file(text))
    try:
        async with stdio.stdio_server(cast("anyio.AsyncFile[str]", lines)) as (read, write):
            lines.answers.set_result(write)
            await low.run(read, write, low.create_initialization_options())
    finally:
        if restore is not None:
            restore()


class _Lines:
    """The lines of a stream that are messages; any other one is answered with an error."""

    def __init__(self, lines: anyio.AsyncFile[str]) -> None:
        self._lines = lines
        self.answers: asyncio.Future[WriteStream[SessionMessage]] = asyncio.Future()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            found = _message_of(line)
            if isinstance(found, JSONRPCError):
                await (await self.answers).send(SessionMessage(found))
            elif found:
                yield found


def _message_of(line: str) -> str | JSONRPCError:
    """The line as valid text, or the error for an invalid one; empty for an empty line and for an
    answer."""
    if not line.strip():
        return ""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _failed(None, PARSE_ERROR, "The line is no JSON.")
    if not isinstance(value, dict):
        return _failed(None, INVALID_REQUEST, "A message is a JSON object, one per line.")
    name = value.get("id")
    named = isinstance(name, int | str) and not isinstance(name, bool)
    try:
        jsonrpc_message_adapter.validate_python(value, by_name=False)
        if named or "id" not in value or "method" not in value:
            return json.dumps(whole_texts(value)) if "\\ud" in line.lower() else line
    except ValidationError:
        if "method" not in value and ("result" in value or "error" in value):
            return ""
    return _failed(
        whole_texts(name) if named else None, INVALID_REQUEST, "The request is not valid."
    )


def _failed(name: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=name, error=ErrorData(code=code, message=message))


async def answer_prompts(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request for an unknown prompt, or with wrong arguments, as invalid parameters."""
    if ctx.method != "prompts/get":
        return await call_next(ctx)
    try:
        return await call_next(ctx)
    except ValidationError:
        raise  # the protocol's own answer
    except ValueError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None


def whole_requests(app: ASGIApp) -> ASGIApp:
    """The application with U+FFFD for each lone surrogate in requests."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != PATH:
            await app(scope, receive, send)
            return
        messages = await _body(receive)
        last = messages[-1]
        if last["type"] == "http.request" and not last.get("more_body", False):
            body = whole_json(b"".join(message.get("body", b"") for message in messages))
            messages = [{"type": "http.request", "body": body}]
        await app(scope, _replay(messages, receive), send)

    return call


def one_by_one(app: ASGIApp) -> ASGIApp:
    """The application; the second of two requests of a session with the same id waits for the
    answer to the first, which would otherwise never come."""
    running: dict[tuple[bytes, str], anyio.Event] = {}

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        session = dict(scope["headers"]).get(b"mcp-session-id") if scope["type"] == "http" else None
        if session is None or scope["method"] != "POST" or scope["path"] != PATH:
            await app(scope, receive, send)
            return
        messages = await _body(receive)
        name = _id_of(b"".join(message.get("body", b"") for message in messages))
        replay = _replay(messages, receive)
        if name is None:
            await app(scope, replay, send)
            return
        key = (session, name)
        while key in running:
            await running[key].wait()
        running[key] = answered = anyio.Event()
        try:
            await app(scope, replay, send)
        finally:
            del running[key]
            answered.set()

    return call


async def _body(receive: Receive) -> list[Message]:
    """The messages with the body of a request, up to its maximum length."""
    messages: list[Message] = []
    size = 0
    while size <= MAX_BODY:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return messages


def _replay(messages: list[Message], receive: Receive) -> Receive:
    """A function that returns the messages already read, then further ones."""

    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return replay


def _id_of(body: bytes) -> str | None:
    """The id of a request as text, by which the protocol's library finds its stream; None without
    one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    named = isinstance(value, dict) and "method" in value and value.get("id") is not None
    return str(value["id"]) if named else None


logger = logging.getLogger(__name__)

MAX_SESSIONS = 200
IDLE_SECONDS = 900.0


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve one agent; returns when it closes standard input."""
    anyio.run(serve_pipes, server)


def serve_http(
    server: MCPServer[Any],
    host: str,
    port: int,
    *,
    settings: ServeOptions,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    metrics: Metrics | None = None,
    start: Callable[[], None] = lambda: None,
) -> None:
    """Serve many agents at http://HOST:PORT/mcp until interrupted. Port 0 takes a free one; the
    address is written to standard error, as a line of JSON where the log has such. Of the
    `settings` the rate limit, the format of the log, and base path and addresses of proxies hold
    here; `metrics` are shown under /metrics; `start` is called once the address is bound. Raises
    `CitewellError` for an address that is taken, or that reaches beyond this machine without a
    token."""
    logs = settings.log_format == "json"
    if logs:
        log_as_json()
        logger.setLevel(logging.INFO)
    bound = bind(host, port, token=token, variable=MCP_TOKEN)
    port = int(bound.getsockname()[1])
    start()
    app = http_app(
        server, host, port, token=token, origins=origins, allowed_hosts=allowed_hosts,
        metrics=metrics,
    )  # fmt: skip
    if settings.rate_limit:
        app = RateLimit(app, Buckets(settings.rate_limit))
    if settings.base_path:
        app = BasePath(app, settings.base_path)
    app = observed(app, metrics, logs=logs)

    def announce() -> None:
        url = url_of(host, port) + PATH
        if logs:
            logger.info("Citewell listens on %s", url, extra={FIELDS: {"url": url}})
        else:
            print(f"Citewell listens on {url}", file=sys.stderr, flush=True)  # noqa: T201

    run_app(app, bound, announce, proxies=settings.proxies, own_log=logs)


def http_app(
    server: MCPServer[Any],
    host: str,
    port: int,
    *,
    token: str = "",
    origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    metrics: Metrics | None = None,
) -> ASGIApp:
    """The ASGI application: foreign hosts and origins are rejected, bodies are bounded. It shows
    `metrics` under /metrics."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host=host,
        max_request_body_size=MAX_BODY,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=IDLE_SECONDS,
        # The shared guard of all servers wraps it.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.router.routes.extend(metrics_routes(metrics))
    return guarded(
        labelled(whole_requests(one_by_one(app))),
        Admission.at(host, port, token=token, origins=origins, hosts=allowed_hosts),
    )
