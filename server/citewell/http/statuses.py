"""Which HTTP status each problem has, when it is all that there is to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from citewell.model import Problem

BY_CODE: Final[Mapping[str, int]] = {
    "request-malformed": 400,
    "sources-off": 403,
    "record-unknown": 404,
    "endpoint-unknown": 404,
    "method-refused": 405,
    "request-slow": 408,
    "request-too-large": 413,
    "request-not-json": 415,
    "request-invalid": 422,
    "rate-limited": 429,
    "cursor-foreign": 404,
    "placeholder-unknown": 404,
    "file-name": 422,
    "style-unknown": 404,
    "style-unreadable": 422,
    "check-failed": 503,
    "server-busy": 503,
    "server-ending": 503,
    "engine-late": 504,
    "request-late": 504,
}
BY_BEGINNING: Final[Mapping[str, int]] = {
    "engine-": 503,
    "library-": 503,
    "index-": 503,
    "encoder-": 503,
    "sources-": 503,
    "llm-": 503,
}


def status_of(problem: Problem) -> int:
    """The status; 500 for what is no client's business to mend."""
    status = BY_CODE.get(problem.code)
    if status is not None:
        return status
    starts = (number for start, number in BY_BEGINNING.items() if problem.code.startswith(start))
    return next(starts, 500)
