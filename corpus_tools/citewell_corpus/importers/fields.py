"""Conversions of record values shared by importers, and facts about their files."""

from __future__ import annotations

import datetime
import hashlib
from pathlib import Path

from citewell.sources.values import (
    MAX_ABSTRACT,
    MAX_AUTHORS,
    MAX_TEXT,
    MAX_TITLE,
    abstract,
    authors,
    count,
    language,
    pages,
    raw,
    text,
    title,
    year,
)

__all__ = [
    "MAX_ABSTRACT",
    "MAX_AUTHORS",
    "MAX_TEXT",
    "MAX_TITLE",
    "abstract",
    "authors",
    "count",
    "language",
    "pages",
    "place",
    "raw",
    "retrieved",
    "text",
    "title",
    "year",
]


def place(path: Path) -> str:
    """A short unique name for a file: "refs.3f2a9c1b"."""
    data = path.absolute().as_posix().encode("utf-8", "surrogatepass")
    return f"{path.stem}.{hashlib.blake2b(data, digest_size=4).hexdigest()}"


def retrieved(path: Path) -> str:
    """Date of the last change of the file at `path`; empty if unknown."""
    try:
        seconds = path.stat().st_mtime
    except OSError:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
