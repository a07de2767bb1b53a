"""The folder of a fetch: a file per page, and the state of the fetch.

A page is written before the state that counts it, each by an atomic rename: a killed fetch resumes
at its last page.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import msgspec

from citewell.corpus.errors import library_error
from citewell_corpus.fetching.contract import Selection
from citewell_corpus.segment_writer import write_whole

STATE = "fetch.json"
_FORMAT = 1


class FetchState(msgspec.Struct, kw_only=True):
    """How far a fetch is."""

    format: int = _FORMAT
    source: str
    selection: Selection
    resolved: Selection
    """The selection in the source's own identifiers."""
    cursor: str = ""
    """Of the next page."""
    pages: int = 0
    """Files that are written."""
    records: int = 0
    total: int | None = None
    changed_since: str = ""
    """The date of the round before; empty in the first round."""
    begun: str
    """ISO 8601 date on which this round began."""
    done: bool = False


class FetchFolder:
    """One fetch on disk."""

    def __init__(self, path: Path, extension: str) -> None:
        self.path = path
        self._extension = extension

    def state(self) -> FetchState | None:
        """How far the fetch is; None before its first page.

        Raises `LibraryError` "source-unreadable" for a state that cannot be read.
        """
        path = self.path / STATE
        try:
            state = msgspec.json.decode(path.read_bytes(), type=FetchState)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError):
            message = "The state of this fetch cannot be read."
            raise library_error("source-unreadable", message, path) from None
        if state.format != _FORMAT:
            message = "The fetch was begun by another version of Citewell."
            raise library_error("source-unreadable", message, path)
        return state

    def write_page(self, number: int, records: tuple[bytes, ...]) -> int:
        """Write the records of a page, numbered from 0; the bytes on disk."""
        self.path.mkdir(parents=True, exist_ok=True)
        data = b"".join(line + b"\n" for line in records)
        if self._extension != ".bib":
            data = gzip.compress(data, 6, mtime=0)
        write_whole(self._page(number), data)
        return len(data)

    def write_state(self, state: FetchState) -> None:
        """Count what is written."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / STATE, msgspec.json.format(msgspec.json.encode(state)))

    def drop_pages_from(self, number: int) -> None:
        """Remove the pages from `number` on: they are fetched again."""
        while (path := self._page(number)).exists():
            path.unlink()
            number += 1

    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.path.glob("page-*"))

    def _page(self, number: int) -> Path:
        packed = "" if self._extension == ".bib" else ".gz"
        return self.path / f"page-{number:06d}{self._extension}{packed}"


def folder_name(source: str, selection: Selection) -> str:
    """The name of the folder of a selection: equal for equal selections."""
    words = "-".join(str(getattr(selection, name)) for name in sorted(selection.used))
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in words.lower())
    short = "-".join(part for part in plain.split("-") if part)[:40].rstrip("-")
    digest = hashlib.blake2b(msgspec.json.encode(selection), digest_size=4).hexdigest()
    return "-".join(part for part in (source, short, digest) if part)
