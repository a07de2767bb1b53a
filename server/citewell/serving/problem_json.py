"""A problem as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from citewell.model import Problem

# Removes secrets of the environment from messages to clients.

HIDDEN = "[hidden]"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST = 6
"""Minimum length of a value taken for a secret: hiding every "1" would hide the message."""


def without_keys(text: str, environ: Mapping[str, str] | None = None) -> str:
    """The text without any secret of the environment. Messages contain no keys; this covers one
    that quotes its input."""
    for name, value in (os.environ if environ is None else environ).items():
        value = value.strip()
        if len(value) >= _SHORTEST and _SECRET.search(name) and value in text:
            text = text.replace(value, HIDDEN)
    return text


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
    """The reason why a request failed, and the remedy."""

    type: str
    """Kind of problem: an address relative to the server, with its documentation."""
    title: str
    status: int
    code: str
    detail: str
    """One sentence that names the subject."""
    hint: str = ""
    """How to solve it."""


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


# The security headers of pages: a page of Citewell loads nothing from elsewhere.
#
# Trusted Types without a policy prevent any text of a record from becoming markup or script.

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
DATA_HEADERS: Final[Mapping[str, str]] = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
"""Headers of answers for programs."""
PAGE_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of pages, and of their scripts and styles."""
