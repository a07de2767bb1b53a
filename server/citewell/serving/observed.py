"""Counts and logs the requests of a server: their endpoint, never their content."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from citewell.model.system.json_log import FIELDS
from citewell.serving.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from starlette.types import ASGIApp, Receive, Scope, Send

_LABEL = "citewell.endpoint"
UNKNOWN = "none"
"""The endpoint of other requests: a page, an unknown path, a rejected request."""
STREAM = "stream"
"""The endpoint of a request with an answer that stays open for messages of the server. Its time is
that of the connection, and it does not count as in flight."""

logger = logging.getLogger("citewell.requests")


def label_request(scope: MutableMapping[str, Any], endpoint: str) -> None:
    """Set the endpoint of a request."""
    label = scope.get(_LABEL)
    if label is not None:
        label.endpoint = endpoint


class _Label:
    """The endpoint of one request, set by the inner applications."""

    endpoint = UNKNOWN


def observed(app: ASGIApp, metrics: Metrics | None, *, logs: bool) -> ASGIApp:
    """The application with its requests counted and logged, as configured."""
    return Observed(app, metrics, logs=logs) if logs or metrics is not None else app


class Observed:
    """Counts each request once its answer has ended, and with `logs` logs it."""

    def __init__(self, app: ASGIApp, metrics: Metrics | None, *, logs: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._logs = logs
        self._running: set[_Label] = set()
        if logs:
            logger.setLevel(logging.INFO)
        if metrics is not None:
            metrics.gauge(
                "citewell_requests_in_flight", "Requests that wait or run.", self._in_flight
            )

    def _in_flight(self) -> int:
        return sum(label.endpoint != STREAM for label in self._running)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        label = _Label()
        status = 500
        begin = time.perf_counter()

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._running.add(label)
        try:
            await self._app({**scope, _LABEL: label}, receive, sending)
        finally:
            self._running.discard(label)
            self._record(label.endpoint, str(scope["method"]), status, time.perf_counter() - begin)

    def _record(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        known = method if method in _METHODS else "other"
        if self._metrics is not None:
            self._metrics.request(endpoint, known, status, seconds)
        if self._logs:
            fields = {
                "endpoint": endpoint,
                "method": known,
                "status": status,
                "milliseconds": round(1e3 * seconds, 1),
            }
            logger.info("request", extra={FIELDS: fields})


_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"})
