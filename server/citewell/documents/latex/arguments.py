"""Reading the arguments of LaTeX commands in text that may break off anywhere.

Every reader returns None instead of raising, and never looks further than a bound, so that a scan
stays linear whatever it is given.
"""

from __future__ import annotations

import re

_GAP = re.compile(r"(?:[ \t]|%[^\n]*\n[ \t]*)*(?:\r?\n[ \t]*)?(?:%[^\n]*\n[ \t]*)*")
_BRACES = re.compile(r"\\.|[{}]|(?<!\\)%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[{}\[\]]|%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_RAW = re.compile(r"\{[^{}\n]{0,2000}(?:\{[^{}\n]{0,500}\}[^{}\n]{0,2000}){0,8}\}")

MAX_OPTION = 2_000
MAX_GROUP = 20_000


def skip_gap(text: str, position: int) -> int:
    """The place after spaces, comments and at most one line end; never past a blank line."""
    match = _GAP.match(text, position, position + 1_000)
    return match.end() if match else position


class ArgumentReader:
    """Reads groups and options of one text, with a budget for those that never close."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Failed searches may overlap, so that their sum is bounded rather than each alone.
        self._budget = 4 * len(text) + 20_000

    def group(self, position: int, limit: int = MAX_GROUP, *, blank: bool = True) -> int | None:
        """The place after the `}` that closes the `{` at `position`, or None.

        With `blank` false a blank line ends the search: no argument of that command has one.
        """
        if self._budget <= 0:
            limit = min(limit, 100)
        depth = 0
        stop = min(len(self.text), position + limit)
        for match in _BRACES.finditer(self.text, position, stop):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth <= 0:
                    return match.end()
            elif token[0] == "\n" and not blank:
                stop = match.start()
                break
        self._budget -= stop - position
        return None

    def option(self, position: int) -> int | None:
        """The place after the `]` that closes the `[` at `position`, or None."""
        limit = MAX_OPTION if self._budget > 0 else 100
        depth = 0
        stop = min(len(self.text), position + limit)
        for match in _BRACKETS.finditer(self.text, position + 1, stop):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    break
            elif token == "]" and depth == 0:
                return match.end()
            elif token[0] == "\n":
                break
        self._budget -= stop - position
        return None

    def raw_group(self, position: int) -> int | None:
        """The place after a group in which `%` and `\\` mean nothing, as in `\\url{..}`."""
        match = _RAW.match(self.text, position)
        return match.end() if match else None

    def optional(self, position: int) -> int:
        """The offset after the star and all options at `position`."""
        if self.text.startswith("*", position):
            position += 1
        while True:
            start = skip_gap(self.text, position)
            end = self.option(start) if self.text.startswith("[", start) else None
            if end is None:
                return position
            position = end

    def argument(self, position: int, limit: int = MAX_GROUP) -> tuple[int, int, int] | None:
        """Start and end of the contents of the next group and the place after it, or None."""
        start = skip_gap(self.text, position)
        if not self.text.startswith("{", start):
            return None
        end = self.group(start, limit)
        return None if end is None else (start + 1, end - 1, end)
