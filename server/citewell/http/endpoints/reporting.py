"""The last reports of `eval`, `tune` and `compare-models`, and where a browser opens them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from citewell.http.contract import Endpoint, Nothing, Service
from citewell.model.cancel import Cancel
from citewell.usecases.reports import StoredReport, read_report, reports

# Pages of reports for a browser, which can send no token when it opens one.
#
# Their addresses hold a key instead, which only an answer of `/v1/reports` has: without the token
# it cannot be known. It is valid for one report, until the server ends.

PREFIX: Final = "/reports/"
HEADERS: Final = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    # Reports have their own styles inside; `sandbox` keeps all else from running or sending.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
_SECRET: Final = secrets.token_bytes(32)
"""Of this process."""


def address_of(name: str) -> str:
    """Where a report is opened, relative to the server's address."""
    return f"{PREFIX[1:]}{_key(name)}/{name}"


def report_routes() -> list[BaseRoute]:
    """The route of the pages."""
    return [Route(f"{PREFIX}{{key}}/{{name}}", _page)]


async def _page(request: Request) -> Response:
    name = request.path_params["name"]
    # Compared as bytes: a key may be any text.
    right = hmac.compare_digest(request.path_params["key"].encode(), _key(name).encode())
    page = read_report(name) if right else None
    if page is None:
        raise HTTPException(404)
    return Response(page, media_type="text/html; charset=utf-8", headers=HEADERS)


def _key(name: str) -> str:
    return hmac.new(_SECRET, name.encode(), hashlib.sha256).hexdigest()


class ListedReport(StoredReport, frozen=True, kw_only=True):
    """A report that was kept."""

    address: Annotated[
        str,
        Meta(
            description="Its page, relative to the server's address: valid until the server ends, "
            "and secret, because it needs no token."
        ),
    ]


class ReportsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The reports that are kept, the newest first."""

    reports: tuple[ListedReport, ...]


def list_reports(service: Service, request: Nothing, cancel: Cancel) -> ReportsAnswer:
    """The last reports that `citewell eval`, `tune` and `compare-models` wrote with `--html`; none
    in a public demo."""
    if service.options.serve.read_only:
        return ReportsAnswer(reports=())
    return ReportsAnswer(
        reports=tuple(
            ListedReport(**msgspec.structs.asdict(one), address=address_of(one.name))
            for one in reports()
        )
    )


REPORTS = Endpoint(
    name="reports",
    method="GET",
    path="/v1/reports",
    summary="The last reports of eval, tune and compare-models",
    request=Nothing,
    response=ReportsAnswer,
    answer=list_reports,
)
