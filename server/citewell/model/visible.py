"""Characters that a terminal obeys instead of showing, made visible.

A title, a file name or a line of a manuscript may hold an escape sequence that hides other lines,
or a mark that turns the direction of the text. Whoever prints foreign text shows these characters
as `\\x1b` or `\\u202e`, in the way in which Python writes them.
"""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINES = "\u2028\u2029"
_HIDDEN = re.compile(rf"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f{_BIDI}{_LINES}]|\r(?!\n)")


def visible(text: str) -> str:
    """The text with C0, C1 and bidi controls written out; tabs and line ends stay as they are."""
    return _HIDDEN.sub(lambda found: _written(ord(found[0])), text)


def visible_json(text: str) -> str:
    """JSON of equal meaning, with C0, C1 and bidi controls as `\\u` escapes."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
