"""The address under which a server shows its metrics."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citewell.serving.headers import DATA_HEADERS
from citewell.serving.metrics import MEDIA_TYPE, Metrics


def metrics_routes(metrics: Metrics | None) -> list[Route]:
    """The route of `GET /metrics`; none without metrics, so that the path is unknown."""
    if metrics is None:
        return []

    async def shown(request: Request) -> Response:
        return Response(metrics.text(), media_type=MEDIA_TYPE, headers=DATA_HEADERS)

    return [Route("/metrics", shown)]
