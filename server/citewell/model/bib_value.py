"""The value of a BibTeX field as plain Unicode."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citewell.model.fields import with_trait
from citewell.model.tex import tex_to_unicode

MONTHS: Mapping[str, str] = {
    "jan": "January", "feb": "February", "mar": "March", "apr": "April", "may": "May",
    "jun": "June", "jul": "July", "aug": "August", "sep": "September", "oct": "October",
    "nov": "November", "dec": "December",
}  # fmt: skip
"""The macros that every BibTeX style defines."""

_VERBATIM = with_trait("verbatim")

_PART = re.compile(r"\s*(?:#\s*)?(?:(\d+)|([^\s\"{}#,]+)|([\"{]))")
_ESCAPED = re.compile(r"\\([_%&#$~{}])|[{}\s]")
_URL = re.compile(r"^\s*\\(?:url|path|nolinkurl)\s*\{(.*)\}\s*$", re.DOTALL)


def plain_value(name: str, raw: str, strings: Mapping[str, str]) -> str:
    """The plain text of a field's raw value: delimiters, braces, accents, macros, `#` resolved.

    `strings` maps the file's own @string macros (lower case) to raw values; an unknown macro yields
    its name. A value without its closing delimiter is read to its end.
    """
    text = literal_value(raw, strings)
    if name in _VERBATIM:
        found = _URL.match(text)
        return _ESCAPED.sub(r"\1", found[1] if found else text)
    return tex_to_unicode(text)


def literal_value(raw: str, strings: Mapping[str, str], depth: int = 0) -> str:
    """The value with macros and `#` resolved and LaTeX markup left in."""
    if not raw:
        return ""
    first = raw[0]
    if first in '{"' and "#" not in raw:
        closing = "}" if first == "{" else '"'
        return raw[1:-1] if len(raw) > 1 and raw[-1] == closing else raw[1:]
    if first.isdigit() and raw.isdigit():
        return raw
    return "".join(_parts(raw, strings, depth))


def _parts(raw: str, strings: Mapping[str, str], depth: int) -> list[str]:
    parts: list[str] = []
    at = 0
    while (token := _PART.match(raw, at)) is not None:
        if token[3] is None:
            parts.append(token[1] or _macro(token[2], strings, depth))
            at = token.end()
            continue
        begin = token.end()
        at = literal_end(raw, begin - 1, len(raw))
        if at < 0:
            parts.append(raw[begin:])
            break
        parts.append(raw[begin : at - 1])
    return parts


def _macro(name: str, strings: Mapping[str, str], depth: int) -> str:
    lower = name.lower()
    raw = strings.get(lower)
    if raw is None:
        return MONTHS.get(lower, name)
    # Ends recursive macros.
    return literal_value(raw, strings, depth + 1) if depth < 8 else name


_BRACE = re.compile(r"[{}]")
_BRACE_OR_QUOTE = re.compile(r"[{}\"]")


def literal_end(text: str, start: int, limit: int) -> int:
    """Offset after the delimiter that closes the literal opened at `start`, or -1. BibTeX counts
    every brace, escaped or not; a quote inside braces does not close."""
    depth = 0
    if text[start] == "{":
        for brace in _BRACE.finditer(text, start, limit):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                return brace.end()
        return -1
    for mark in _BRACE_OR_QUOTE.finditer(text, start + 1, limit):
        char = mark.group()
        if char == '"':
            if depth == 0:
                return mark.end()
        else:
            depth += 1 if char == "{" else -1
            if depth < 0:
                return -1
    return -1
