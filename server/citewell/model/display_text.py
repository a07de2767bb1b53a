"""Text prepared for display: cut, with visible control characters, without lone surrogates."""

from __future__ import annotations

import re
from typing import Any

# Characters that a terminal obeys instead of showing, made visible.
#
# A title, a file name or a line of a manuscript may hold an escape sequence that hides other lines,
# or a mark that reverses the direction of the text. Code that prints foreign text shows these
# characters as Python does, as `\x1b` or `\u202e`.

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINES = "\u2028\u2029"
_HIDDEN = re.compile(rf"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f{_BIDI}{_LINES}]|\r(?!\n)")


def visible(text: str) -> str:
    """The text with C0, C1 and bidi controls as escapes; tabs and line ends stay."""
    return _HIDDEN.sub(lambda found: _written(ord(found[0])), text)


def visible_json(text: str) -> str:
    """JSON of equal meaning, with C0, C1 and bidi controls as `\\u` escapes."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


# Lone surrogates in JSON, left by a program that cut an emoji in half: they cannot be encoded, and
# JSON parsers refuse them.

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_HALF = re.compile("[\ud800-\udfff]")


def whole_json(data: bytes) -> bytes:
    """The JSON text with U+FFFD for each lone surrogate."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)


def whole_texts(value: Any) -> Any:
    """A parsed JSON value with U+FFFD for each lone surrogate in its texts."""
    if isinstance(value, str):
        return value if value.isascii() else _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {whole_texts(name): whole_texts(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_texts(item) for item in value]
    return value


# Truncation of text for display.

_LOOSE = " ,;:."


def shorten(text: str, most: int, *, inside_words: bool = False) -> str:
    """The text on one line of at most `most` characters: truncated between words, or within one if
    there is little room, with an ellipsis at the end."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    if not inside_words and text[most - 1] != " ":
        cut = cut.rsplit(" ", 1)[0]
    return cut.rstrip(_LOOSE) + "…"


def first_line(error: Exception) -> str:
    """The first line of an error's message, without a final period; else the name of its class."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:300]
