"""Exports a running Zotero through Better BibTeX's pull export into a file to import."""

from __future__ import annotations

import json
import re
from pathlib import Path

from citewell.corpus.errors import LibraryError
from citewell.model import Problem
from citewell.sources import zotero
from citewell_corpus.segment_writer import write_whole

PREFIX = "zotero:"
SECONDS = 120.0
"""Seconds; the first export runs at some hundred items per second."""
MAX_BYTES = 1 << 30


def fetch(text: str, base: str, folder: Path) -> Path:
    """Fetch what "zotero:", "zotero:COLLECTION" or "zotero:GROUP/COLLECTION" names into a file of
    `folder`, which is replaced in one step; its path.

    A group is given by its number in Zotero. Raises `LibraryError`: zotero-away if Zotero does not
    respond, zotero-refused if it lacks Better BibTeX or the collection.
    """
    wanted = text.removeprefix(PREFIX).strip("/")
    if (problem := zotero.greet(base)) is not None:
        raise LibraryError(problem)
    data = zotero.pull(base, wanted, "json", seconds=SECONDS, max_bytes=MAX_BYTES)
    if isinstance(data, Problem):
        raise LibraryError(data)
    try:
        found = json.loads(data)
        items = len(found["items"])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = "Better BibTeX did not send its JSON export."
        raise _refused(message, "Update Better BibTeX.") from None
    if not items:
        message = f"Zotero has no items in {wanted or 'your library'}."
        raise _refused(message, "Check the name of the collection.")
    name = re.sub(r"[^\w.-]+", "-", wanted) or "library"
    path = folder / f"{name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return path


def _refused(message: str, hint: str) -> LibraryError:
    return LibraryError(Problem("zotero-refused", message, hint))
