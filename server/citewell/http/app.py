"""The ASGI application: endpoints run on threads, with a time limit, until the client leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import msgspec
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive

from citewell.engine.contract import Engine
from citewell.http.docs_page import docs_routes
from citewell.http.endpoints import ENDPOINTS, Endpoint
from citewell.http.openapi import openapi_json
from citewell.http.reading import MAX_BODY, MAX_PUBLIC_BODY, body_of, converted, decoded
from citewell.http.statuses import problem_page, status_of
from citewell.http.streaming import EVENTS, LINES, EventStream, LineStream, wants
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled
from citewell.operations.operation import Operation, Service
from citewell.options import Options
from citewell.serving.metrics import Metrics, metrics_routes
from citewell.serving.observed import label_request
from citewell.serving.problem_json import DATA_HEADERS, MEDIA_TYPE, problem_json
from citewell.serving.queues import THREADS, Queues

logger = logging.getLogger(__name__)

ARRIVAL_SECONDS = 30.0
"""Seconds within which a request's body must arrive."""
_GONE = 499
"""The client has closed the connection."""


def create_app(
    options: Options,
    engine: Engine,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    metrics: Metrics | None = None,
) -> Starlette:
    """The application; it neither opens nor closes the engine. Guards wrap it. It shows `metrics`
    under /metrics."""
    service = Service(options, engine)
    queues = Queues(threads=THREADS * options.serve.workers)
    document = openapi_json(endpoints, options.serve.base_path)

    async def openapi(request: Request) -> Response:
        return Response(document, media_type="application/json", headers=DATA_HEADERS)

    async def page(request: Request) -> Response:
        text = problem_page(request.path_params["code"])
        if text is None:
            raise HTTPException(404)
        return Response(text, media_type="text/markdown; charset=utf-8", headers=DATA_HEADERS)

    by_path: dict[str, dict[str, Endpoint]] = {}
    for one in endpoints:
        by_path.setdefault(one.path, {})[one.method] = one
    routes: list[BaseRoute] = [
        Route(
            path.replace("{id}", "{id:path}"),
            partial(answered, by_method, service, queues),
            methods=list(by_method),
        )
        for path, by_method in by_path.items()
    ]
    routes += [Route("/openapi.json", openapi), Route("/problems/{code}", page), *docs_routes()]
    routes += metrics_routes(metrics)
    app = Starlette(
        routes=routes, exception_handlers={HTTPException: _misdirected, Exception: _broken}
    )
    app.router.redirect_slashes = False
    return app


async def answered(
    by_method: Mapping[str, Endpoint], service: Service, queues: Queues, request: Request
) -> Response:
    """The answer of an endpoint, or its problem."""
    endpoint = by_method["GET" if request.method == "HEAD" else request.method]
    label_request(request.scope, endpoint.name)
    operation = endpoint.operation
    try:
        payload = await _payload(endpoint, request, service.options)
        result = partial(_result, operation, queues, payload)
        if operation.at_once:
            answer = operation.function(service, payload, Cancel())
        elif operation.is_long and wants(request, EVENTS):
            return EventStream(
                lambda progress, receive: _result_or_problem(
                    result(replace(service, progress=progress), receive)
                )
            )
        elif operation.in_parts and wants(request, LINES):
            return LineStream(
                lambda on_part, receive: _result_or_problem(
                    result(replace(service, on_part=on_part), receive)
                )
            )
        else:
            answer = await result(service, request.receive)
    except CitewellError as error:
        return failed(error.problem)
    except (Cancelled, _DisconnectedError):
        return Response(status_code=_GONE)
    except asyncio.CancelledError:  # work in progress when the server ends
        return failed(_ENDING)
    body = msgspec.json.encode(answer)
    return Response(body, media_type="application/json", headers=DATA_HEADERS)


async def _result_or_problem(result: Awaitable[Any]) -> Any:
    """The operation's response, or its problem; for a response that has begun."""
    try:
        return await result
    except CitewellError as error:
        return error.problem
    except (Cancelled, _DisconnectedError, asyncio.CancelledError):
        return _ENDING
    except Exception as error:
        logger.exception("A request failed")
        return _internal(error)


def failed(problem: Problem) -> Response:
    """A problem as an answer."""
    status = status_of(problem)
    headers = {**DATA_HEADERS, **({"retry-after": "1"} if status == 503 else {})}
    return Response(
        problem_json(problem, status), status_code=status, media_type=MEDIA_TYPE, headers=headers
    )


async def _payload(endpoint: Endpoint, request: Request, options: Options) -> Any:
    if endpoint.method == "GET":
        return converted(request, endpoint.operation.request)
    try:
        with anyio.fail_after(ARRIVAL_SECONDS):
            limit = MAX_PUBLIC_BODY if options.serve.read_only else MAX_BODY
            body = await body_of(request, limit)
    except TimeoutError:
        raise CitewellError(_SLOW) from None
    return decoded(body, endpoint.operation.request)


class _DisconnectedError(Exception):
    """The client disconnected."""


async def _result(
    operation: Operation, queues: Queues, payload: Any, service: Service, receive: Receive
) -> Any:
    """The operation's response. The work stops at its next check when the client disconnects or the
    time is over; its thread is not waited for."""
    cancel = Cancel(operation.seconds)
    found: list[Any] = []
    failure: list[BaseException] = []
    gone = False

    async def watch(scope: anyio.CancelScope) -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        scope.cancel()

    kind = operation.queue_of(payload)
    with queues.place(kind):
        async with anyio.create_task_group() as group:
            group.start_soon(watch, group.cancel_scope)
            try:
                with anyio.fail_after(operation.seconds):
                    work = partial(operation.function, service, payload, cancel)
                    found.append(await queues.run(kind, work))
            except TimeoutError:
                failure.append(CitewellError(_LATE))
            except Exception as error:  # distinguished from errors of the task group
                failure.append(error)
            finally:
                cancel.set()
            group.cancel_scope.cancel()
    if failure:
        raise failure[0]
    if gone and not found:
        raise _DisconnectedError
    return found[0]


async def _misdirected(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = failed(_NO_METHOD if error.status_code == 405 else _NO_ENDPOINT)
    response.headers.update(error.headers or {})  # with the allowed methods
    return response


async def _broken(request: Request, error: Exception) -> Response:
    return failed(_internal(error))


def _internal(error: Exception) -> Problem:
    return Problem(
        "internal-error",
        f"Internal error: {type(error).__name__}.",
        "Report this with the server's standard error output.",
    )


_SLOW = Problem(
    "request-slow",
    f"The request did not arrive within {ARRIVAL_SECONDS:.0f} s.",
    "Send the complete request again.",
)
_LATE = Problem(
    "request-late",
    "The response timed out.",
    "Request less at a time; if the problem persists, run `citewell doctor`.",
)
_ENDING = Problem(
    "server-ending", "The server stopped before it could respond.", "Try again when it runs."
)
_NO_ENDPOINT = Problem(
    "endpoint-unknown", "Unknown path.", "See /openapi.json for the known paths."
)
_NO_METHOD = Problem(
    "method-refused",
    "This path does not accept this method.",
    "See /openapi.json for the accepted method.",
)
