"""The regular expressions of .bib files, and the finder of entry heads.

Every repetition is possessive, so that no input makes them backtrack: reading is linear in the
length of the text.
"""

from __future__ import annotations

import re
from collections import deque

HEAD = re.compile(r"@\s*+([A-Za-z][\w+-]*+)\s*+([{(])")
BLANK = re.compile(r"\s*+")
SPACES = re.compile(r"[ \t]*+")
CLOSERS = {"{": "}", "(": ")"}

# BibTeX's own rule, less the @, which would hide the next entry's head.
_NAME = r"[^\s\d={},\"#%()'@][^\s={},\"#%()']*+"
_FLAT = r"\{[^{}]*+\}"
_TWO = rf"\{{[^{{}}]*+(?:{_FLAT}[^{{}}]*+)*+\}}"
_THREE = rf"\{{[^{{}}]*+(?:{_TWO}[^{{}}]*+)*+\}}"
_BRACED = rf"\{{[^{{}}]*+(?:{_THREE}[^{{}}]*+)*+\}}"
_QUOTED = rf"\"[^\"{{}}]*+(?:{_THREE}[^\"{{}}]*+)*+\""


def _field(closer: str) -> re.Pattern[str]:
    value = rf"{_BRACED}|{_QUOTED}|\d++(?=\s*+[,{closer}])|{_NAME}"
    return re.compile(rf"\s*+({_NAME})\s*+=\s*+({value})\s*+(,|{closer}|)")


def _key(closer: str) -> re.Pattern[str]:
    return re.compile(rf"\s*+([^\s,{{}}={closer}]*+)\s*+(,|{closer}|)")


FIELD = {"}": _field(r"\}"), ")": _field(r"\)")}
"""One whole field up to its comma or the entry's end; group 3 is empty when neither follows."""
KEY = {"}": _key(r"\}"), ")": _key(r"\)")}
LONG_KEY = re.compile(r"[^\n,={}]*+(?=,)")
"""A key with blanks in it."""
NAME_EQUALS = re.compile(rf"({_NAME})\s*+=\s*+")
NAME_VALUE = re.compile(rf"({_NAME})\s*+(?=[{{\"\d])")
"""A field without its `=`."""
BARE = re.compile(r"[^\s={},\"#%()@]++")
NEXT_FIELD = re.compile(rf",?[ \t]*+\r?\n[ \t]*+(?={_NAME}[ \t]*+=[ \t]*+[\"{{\w])")
"""Where a field whose delimiter was forgotten ends: before a line that begins another."""
AFTER_CLOSER = re.compile(rf",\s*+(?={_NAME}\s*+=\s*+[\"{{\d])")
"""What follows a brace too many, on its line: the rest of the entry."""
RESYNC = {
    closer: re.compile(rf"[,{{{mark}]|\n(?=[ \t]*+{_NAME}[ \t]*+=)")
    for closer, mark in (("}", "}"), (")", ")}"))
}


class Heads:
    """The `@type{` heads of a text from an offset on, found as they are asked for."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._found = HEAD.finditer(text, at)
        self._queue: deque[re.Match[str]] = deque()
        self._line_heads: deque[re.Match[str]] = deque()
        self.comment_sight = 0
        """Offset up to which text was examined to decide whether a head is commented out."""

    def next(self, at: int) -> re.Match[str] | None:
        """The first head at or after `at`, which must not decrease from call to call."""
        while self._queue or self._pull():
            head = self._queue.popleft()
            if head.start() >= at:
                while self._line_heads and self._line_heads[0].start() <= head.start():
                    self._line_heads.popleft()
                return head
        return None

    def limit(self, at: int, count: int = 1) -> int:
        """Start of the `count`-th head after `at` that begins a line; else the text's length.

        There the author began another entry, whatever is still open.
        """
        head = self._line_head(at, count)
        return len(self._text) if head is None else head.start()

    def sight(self, at: int, count: int = 1) -> int:
        """How far `limit` looks: to the end of that head, or one beyond the end of the text."""
        head = self._line_head(at, count)
        return len(self._text) + 1 if head is None else head.end()

    def _line_head(self, at: int, count: int) -> re.Match[str] | None:
        index = 0
        while True:
            while index >= len(self._line_heads):
                if not self._pull():
                    return None
            head = self._line_heads[index]
            index += 1
            if head.start() > at:
                count -= 1
                if count == 0:
                    return head

    def _pull(self) -> bool:
        for head in self._found:
            start = head.start()
            before = self._text[max(0, start - 16) : start]
            if before and (before[-1].isalnum() or before[-1] == "."):
                continue  # an address: user@example (work)
            line = max(before.rfind("\n"), before.rfind("\r"))
            indent = before[line + 1 :].strip(" \t\ufeff")
            if indent == "%" and self._commented_out(head.end()):
                continue
            self._queue.append(head)
            if not indent and (line >= 0 or start < 16):
                self._line_heads.append(head)
            return True
        return False

    def _commented_out(self, at: int) -> bool:
        """True when the next line is a comment too: `%@article{...` of a disabled entry."""
        end = self._text.find("\n", at, at + 4096)
        begin = end + 1 if end >= 0 else min(at + 4096, len(self._text))
        self.comment_sight = max(self.comment_sight, begin + 17)
        return end >= 0 and self._text[begin : begin + 16].lstrip().startswith("%")
