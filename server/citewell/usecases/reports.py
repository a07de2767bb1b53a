"""Reports of `eval`, `tune` and `compare-models`: the last ones are kept, for the page of
`citewell serve` to list and open.

They hold sentences of the author's papers, so only their owner may read the files.
"""

from __future__ import annotations

import html
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from citewell.model import Problem
from citewell.model.atomic_write import write_atomically
from citewell.options.folders import data_folder, make_private

Kind = Literal["eval", "tune", "compare-models"]
MAX_REPORTS: Final = 20
"""Kept of each kind; an older one goes when another comes."""
MAX_BYTES: Final = 32 * 1024 * 1024
_NAME = re.compile(r"(\d{8}T\d{12}Z)-(eval|tune|compare-models)\.html")
_TIME = "%Y%m%dT%H%M%S%fZ"
_TITLE = re.compile(r"<title>([^<]*)</title>")
_HEAD = 4_096
"""Characters of a report in which its title stands."""


class StoredReport(msgspec.Struct, frozen=True):
    """A report that was kept."""

    name: str
    """Of its file, which `read_report` takes."""
    kind: Kind
    """The command that wrote it."""
    title: str
    created: str
    """ISO 8601, in UTC."""


def keep_report(kind: Kind, page: str) -> Problem | None:
    """Keep a copy of a report; or why that failed, which is no reason for a command to fail."""
    folder = report_folder()
    name = f"{datetime.now(UTC).strftime(_TIME)}-{kind}.html"
    try:
        make_private(folder)
        write_atomically(folder / name, page.encode("utf-8"), mode=0o600)
    except OSError as error:
        return Problem(
            "evaluation-unkept",
            f"The report cannot be kept for the page of `citewell serve`: {error.strerror}.",
            f"Make {folder} writable.",
        )
    for old in [one for one in _names(folder) if one.endswith(f"-{kind}.html")][MAX_REPORTS:]:
        with suppress(OSError):
            (folder / old).unlink()
    return None


def reports() -> tuple[StoredReport, ...]:
    """The reports that are kept, the newest first."""
    found = []
    for name in _names(report_folder()):
        page = read_report(name)
        named = _NAME.fullmatch(name)
        if page is None or named is None:
            continue
        title = _TITLE.search(page[:_HEAD])
        created = datetime.strptime(named[1], _TIME).replace(tzinfo=UTC)
        found.append(
            StoredReport(
                name=name,
                kind=msgspec.convert(named[2], Kind),
                title=html.unescape(title[1]) if title else named[2],
                created=created.isoformat(timespec="seconds"),
            )
        )
    return tuple(found)


def read_report(name: str) -> str | None:
    """The page of a report. None for a name that is none of a report, whatever file it may lead to,
    for a link, and for a file that is too large or cannot be read."""
    path = report_folder() / name
    if not _NAME.fullmatch(name) or path.is_symlink() or not path.is_file():
        return None
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def report_folder() -> Path:
    """Where reports are kept."""
    return data_folder() / "reports"


def _names(folder: Path) -> list[str]:
    """The names of reports in the folder, the newest first."""
    try:
        return sorted(
            (one.name for one in folder.iterdir() if _NAME.fullmatch(one.name)), reverse=True
        )
    except OSError:
        return []
