"""The addresses of the operations, in the order of the OpenAPI document."""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.operations import (
    checking,
    compatible,
    exploring,
    filling,
    finding,
    papers,
    reviewing,
    status,
)
from citewell.operations.operation import Operation
from citewell.operations.searching import search


class Endpoint(msgspec.Struct, frozen=True):
    """One address of the API."""

    name: str
    """Its name in the OpenAPI document and in generated clients: "find"."""
    method: Literal["GET", "POST"]
    path: str
    """With `{id}` for a part that is a field of the request; it may contain slashes."""
    operation: Operation
    summary: str = ""
    """Summary of a second address of an operation; default: the operation's."""


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("find", "POST", "/v1/find", finding.find),
    Endpoint("places", "POST", "/v1/places", finding.find_places),
    Endpoint("search", "POST", "/v1/search", search),
    Endpoint(
        "search_by_address", "GET", "/v1/search", search, "The same search, with query parameters"
    ),
    Endpoint("explore", "POST", "/v1/explore", exploring.explore_papers),
    Endpoint("related", "POST", "/v1/related", exploring.related_papers),
    Endpoint("map", "POST", "/v1/map", exploring.map_papers),
    Endpoint("map_library", "GET", "/v1/library-map", exploring.map_library),
    Endpoint("get_papers", "POST", "/v1/papers", papers.get_papers),
    Endpoint("get_paper", "GET", "/v1/papers/{id}", papers.get_paper),
    Endpoint("check", "POST", "/v1/check", checking.check),
    Endpoint("review", "POST", "/v1/review", reviewing.review),
    Endpoint("fill", "POST", "/v1/fill", filling.fill),
    Endpoint("pick", "POST", "/v1/pick", finding.pick),
    Endpoint("verify", "POST", "/v1/verify", checking.verify),
    Endpoint("status", "GET", "/v1/status", status.status),
    Endpoint("pipeline", "GET", "/v1/pipeline", status.search_pipeline),
    Endpoint("health", "GET", "/v1/health", status.health),
    Endpoint("find_citation", "POST", "/api/find-citation", compatible.find_citation),
    Endpoint("api_health", "GET", "/api/health", compatible.health_summary),
    Endpoint(
        "health_summary",
        "GET",
        "/health",
        compatible.health_summary,
        "The same, at another address",
    ),
)
