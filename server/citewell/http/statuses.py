"""The HTTP status of each problem that is a whole answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from citewell.model import Problem

BY_CODE: Final[Mapping[str, int]] = {
    "request-malformed": 400,
    "token-missing": 401,
    "sources-off": 403,
    "host-refused": 421,
    "origin-refused": 403,
    "record-unknown": 404,
    "work-unknown": 404,
    "identifier-unknown": 404,
    "filter-empty": 404,
    "not-held": 404,
    "query-wordless": 404,
    "endpoint-unknown": 404,
    "method-refused": 405,
    "request-slow": 408,
    "request-too-large": 413,
    "request-not-json": 415,
    "request-invalid": 422,
    "rate-limited": 429,
    "cursor-foreign": 404,
    "placeholder-unknown": 404,
    "change-impossible": 422,
    "check-empty": 422,
    "key-invalid": 422,
    "weights-invalid": 422,
    "key-pattern": 422,
    "paper-format": 422,
    "places-left-out": 422,
    "style-unknown": 404,
    "style-unreadable": 422,
    "check-failed": 503,
    "check-incomplete": 503,
    "disk-full": 503,
    "internal-error": 500,
    "server-busy": 503,
    "server-ending": 503,
    "engine-late": 504,
    "request-late": 504,
}
BY_BEGINNING: Final[Mapping[str, int]] = {
    "bib-": 422,
    "explore-": 422,
    "file-": 422,
    "pdf-": 422,
    "review-": 422,
    "aliases-": 503,
    "backend-": 503,
    "dense-": 503,
    "engine-": 503,
    "grobid-": 503,
    "history-": 503,
    "library-": 503,
    "index-": 503,
    "encoder-": 503,
    "priors-": 503,
    "ranker-": 503,
    "reranker-": 503,
    "retriever-": 503,
    "source-": 503,
    "sources-": 503,
    "starter-": 503,
    "zotero-": 503,
    "llm-": 503,
    "parquet-": 503,
}


def status_of(problem: Problem) -> int:
    """The status; 500 for a problem that no client can solve."""
    status = BY_CODE.get(problem.code)
    if status is not None:
        return status
    starts = (number for start, number in BY_BEGINNING.items() if problem.code.startswith(start))
    return next(starts, 500)


# The row of docs/problems.md with a code: the page behind the `type` of a problem.

_PACKAGE = Path(__file__).resolve().parents[1]
_ROW = re.compile(r"^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) \| (.*) \| (.*) \|$", re.MULTILINE)


def problem_page(code: str) -> str | None:
    """A few lines of Markdown; None for an unknown code."""
    return _pages().get(code)


@cache
def _pages() -> dict[str, str]:
    """The pages by code, from docs beside the package or, when installed, in it."""
    for page in (_PACKAGE / "docs" / "problems.md", _PACKAGE.parents[1] / "docs" / "problems.md"):
        if page.is_file():
            rows = _ROW.findall(page.read_text("utf-8"))
            return {
                code.strip("`"): f"# {code}\n\n{means}\n\n{hint}\n"
                for codes, means, hint in rows
                for code in codes.split(", ")
            }
    return {}
