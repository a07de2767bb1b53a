"""Settings files: where they lie, and what they hold with the line of each name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from citewell.model.problem import Problem
from citewell.options.folders import config_folder

WORKSPACE_FILE = "citewell.toml"
CONFIG_VARIABLE = "CITEWELL_CONFIG"
"""Names another user file; not a setting itself."""
MAX_FILE_BYTES = 1_000_000


class SettingsFile(Struct, frozen=True):
    """A file that was read: its tables, and the 1-based line of each dotted name."""

    content: Mapping[str, Any]
    lines: Mapping[str, int]


def default_user_file() -> Path:
    """`citewell/config.toml` in the user's configuration folder."""
    return config_folder() / "config.toml"


def find_workspace_file(start: Path | None, root: Path | None) -> Path | None:
    """The nearest `citewell.toml` from `start` upward, `root` included.

    Without a root the search ends at the first folder that holds `.git`, else at the home folder
    or the top of the file system.
    """
    if start is None:
        return None
    try:
        folder = start.absolute()
        last = root.absolute() if root is not None else None
        home = Path.home()
    except (OSError, RuntimeError):
        return None
    if not folder.is_dir():
        folder = folder.parent
    for candidate in (folder, *folder.parents):
        if (candidate / WORKSPACE_FILE).is_file():
            return candidate / WORKSPACE_FILE
        if candidate == last:
            return None
        if last is None and (candidate == home or (candidate / ".git").exists()):
            return None
    return None


def read_settings(path: Path, *, required: bool) -> SettingsFile | Problem | None:
    """The file's settings; None for one that is not there and need not be."""
    text = _text_of(path, required)
    if text is None or isinstance(text, Problem):
        return text
    import tomllib  # most users have no settings file

    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        return Problem(
            code="settings-syntax",
            message=f"The settings file is not valid TOML: {error}.",
            hint="Correct that line; until then the whole file is ignored.",
            path=str(path),
            line=int(line.group(1)) if line else None,
        )
    return SettingsFile(content, _lines(text))


def _text_of(path: Path, required: bool) -> str | Problem | None:
    reason = ""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data.decode("utf-8-sig")
        reason = f"it is larger than {MAX_FILE_BYTES} bytes"
    except FileNotFoundError:
        if not required:
            return None
        reason = "the file does not exist"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
    return Problem(
        code="settings-unreadable",
        message=f"The settings file cannot be read: {reason}.",
        hint="Correct or remove it; until then the defaults apply.",
        path=str(path),
    )


def _lines(text: str) -> dict[str, int]:
    """1-based line of each dotted name, as far as a line scan finds it."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        if header:
            table = _bare(header.group(1)) + "."
            continue
        assignment = re.match(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*'|\s*\.\s*)+?)\s*=", line)
        if assignment:
            found.setdefault(table + _bare(assignment.group(1)), number)
    return found


def _bare(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
