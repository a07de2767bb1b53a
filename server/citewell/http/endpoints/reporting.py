"""The last reports of `eval`, `tune` and `compare-models`, and where a browser opens them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from citewell.http.contract import Endpoint, Nothing, Service
from citewell.http.report_pages import address_of
from citewell.model.cancel import Cancel
from citewell.usecases.reports import Report, reports


class ListedReport(Report, frozen=True, kw_only=True):
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
