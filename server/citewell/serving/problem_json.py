"""A problem as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import msgspec

from citewell.model import Problem
from citewell.serving.hidden import without_keys

MEDIA_TYPE = "application/problem+json"
MAX_DETAIL = 2_000

TITLES = {
    400: "Malformed request",
    401: "Token required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    413: "Request too large",
    415: "Request is not JSON",
    421: "Host not allowed",
    422: "Invalid request",
    429: "Too many requests",
    500: "Citewell failed",
    503: "Not now",
    504: "Response timeout",
}


class ProblemJson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request has no answer, and what to do about it."""

    type: str
    """Names the kind of problem; an address relative to the server, where a reader finds it."""
    title: str
    status: int
    code: str
    detail: str
    """One sentence that names the thing."""
    hint: str = ""
    """What to do about it."""


def problem_json(problem: Problem, status: int) -> bytes:
    """The body of an answer with this status."""
    return msgspec.json.encode(
        ProblemJson(
            type=f"/problems/{problem.code}",
            title=TITLES.get(status, "Citewell failed"),
            status=status,
            code=problem.code,
            detail=without_keys(problem.message)[:MAX_DETAIL],
            hint=without_keys(problem.hint)[:MAX_DETAIL],
        )
    )
