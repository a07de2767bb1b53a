"""Text of records and entries as Markdown that shows exactly that text."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def escape(text: str) -> str:
    """Text of a record as Markdown that shows exactly that text."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(entry: str) -> str:
    """A BibTeX entry as a code block that its own text cannot end."""
    fence = "```"
    while fence in entry:
        fence += "`"
    return f"{fence}bibtex\n{entry.strip()}\n{fence}"
