"""The row of docs/problems.md of one code: the page behind the `type` of a problem."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_ROW = re.compile(r"^\| `([a-z0-9-]+)` \| (.*) \| (.*) \|$", re.MULTILINE)


def problem_page(code: str) -> str | None:
    """A few lines of Markdown; None for a code that no problem has."""
    return _pages().get(code)


@cache
def _pages() -> dict[str, str]:
    """By code. The page lies beside the package or, installed, in it."""
    for page in (_PACKAGE / "docs" / "problems.md", _PACKAGE.parents[1] / "docs" / "problems.md"):
        if page.is_file():
            rows = _ROW.findall(page.read_text("utf-8"))
            return {code: f"# `{code}`\n\n{means}\n\n{hint}\n" for code, means, hint in rows}
    return {}
