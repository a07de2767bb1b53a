"""LaTeX markup of names and titles as plain Unicode: one scanner, and the tables of pylatexenc.

A scanner of our own because a library has hundreds of thousands of titles: pylatexenc's parser
takes a hundred times as long (`tests/bench/tex_bench.py`).
"""

from __future__ import annotations

import re
import unicodedata

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.tex_symbols import MATH_ACCENTS, accented, symbol

_DROPS_ARGUMENT = frozenset(
    {
        "noopsort", "singleletter", "hspace", "vspace", "label", "href", "cite", "citep", "citet",
        "textcolor", "color", "selectlanguage", "foreignlanguage", "bibinfo", "switchargs",
        "SortNoop"
    }
)  # fmt: skip

_ADDRESS = frozenset({"url", "path", "nolinkurl"})

_TOKEN = lazy_pattern(
    r"""\\(?P<accent>[`'^"~=.]|[uvHtcdbrkGhU](?![a-zA-Z]))\s*+
          (?:\{\s*+(?P<braced>\\[ij](?![a-zA-Z])|[^\W\d_])?\s*+\}|(?P<bare>\\[ij](?![a-zA-Z])\s*+|[^\W\d_]))
      | \\(?P<macro>[a-zA-Z]++)\*?(?P<gap>[ \t\r\n]*+)
      | \\(?P<escape>[^a-zA-Z])
      | (?P<dash>---?) | (?P<quote>``|'') | (?P<mark>[{}~$`]) | (?P<script>[_^])""",
    re.VERBOSE,
)
_BRACES = str.maketrans("", "", "{}")
_LETTER = re.compile(r"\{\s*(\w)\s*\}|(\w)")
_ARGUMENT = re.compile(r"\s*\{[^{}]*\}")


def tex_to_unicode(text: str) -> str:
    """`text` with its LaTeX markup resolved: accents composed, braces gone, blanks collapsed.

    Never raises: an unknown macro is dropped and its argument kept. Math is flattened ("H$_2$O"
    becomes "H2O"), which is what search and comparison need.
    """
    # One pattern for all marks takes four times as long as these look-ups.
    if "\\" in text or "$" in text or "~" in text or "`" in text or "--" in text or "''" in text:
        text = _decode(text)
    elif "{" in text or "}" in text:
        text = text.translate(_BRACES)
    return " ".join(text.split())


def _decode(text: str) -> str:
    out: list[str] = []
    at = 0
    in_math = False
    while (token := _TOKEN.search(text, at)) is not None:
        start = token.start()
        if start > at:
            out.append(text[at:start])
        at = token.end()
        kind = token.lastgroup
        if token["accent"] is not None:
            out.append(_accented(token["accent"], token["braced"] or token["bare"] or ""))
        elif kind == "mark":
            mark = token["mark"]
            if mark == "$":
                in_math = not in_math
            elif mark in "~`":
                out.append(" " if mark == "~" else "‘")
        elif token["macro"] is not None:
            piece, at = _macro(text, token["macro"], at)
            out.append(piece)
        elif kind == "escape":
            out.append(_escape(token["escape"]))
            if token["escape"] in "()":
                in_math = token["escape"] == "("
        elif kind == "dash":
            out.append("—" if len(token["dash"]) == 3 else "–")
        elif kind == "quote":
            out.append("“" if token["quote"] == "``" else "”")
        elif not in_math:
            out.append(token["script"])
    out.append(text[at:])
    return unicodedata.normalize("NFC", "".join(out))


def _accented(accent: str, base: str) -> str:
    base = base.strip()
    if not base:
        return {"~": "~", "^": "^", "'": "´", "`": "`", '"': "¨"}.get(accent, "")
    return accented(accent, base)


def _escape(char: str) -> str:
    if char in "&%$#_{}":
        return char
    if char in " \t\n\r\\,;:":
        return " "
    return "" if char in "/-!()[]*@" else char


def _macro(text: str, name: str, at: int) -> tuple[str, int]:
    """The replacement of the macro, and the offset after it."""
    if name in MATH_ACCENTS:
        argument = _LETTER.match(text, at)
        if argument is not None:
            return accented(name, argument[1] or argument[2]), argument.end()
        return "", at
    argument = _ARGUMENT.match(text, at)
    if argument is not None and (name in _ADDRESS or name in _DROPS_ARGUMENT):
        # In an address `~` and `_` are themselves.
        address = argument.group().strip(" \t\r\n{}").replace("\\", "")
        return (address if name in _ADDRESS else ""), argument.end()
    return symbol(name) or "", at
