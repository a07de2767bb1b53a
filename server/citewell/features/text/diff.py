"""What a set of file edits would change, as a unified diff."""

from __future__ import annotations

import difflib


def unified_diff(before: str, after: str, path: str, *, new: bool = False) -> str:
    """A unified diff of one file, ready for `patch -p1`; empty when nothing changes.

    Lines are split at line feeds only, so a carriage return stays part of its line and the diff of
    a file with Windows line ends applies to it.
    """
    if before == after:
        return ""
    old, young = _lines(before), _lines(after)
    parts: list[str] = []
    origin = "/dev/null" if new else f"a/{path}"
    for line in difflib.unified_diff(old, young, origin, f"b/{path}", n=2):
        if line.endswith("\n"):
            parts.append(line)
        else:
            parts.append(f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])
