"""What LaTeX macros print, by the tables of pylatexenc: symbols, and accents on a letter.

pylatexenc is loaded at the first macro. Its parser is not used: see `model/tex.py`.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

_ADDED = {
    "SS": "ẞ", "textquotedbl": '"', "textunderscore": "_", "textbar": "|", "textless": "<",
    "textgreater": ">", "textbraceleft": "{", "textbraceright": "}", "copyright": "©",
    "degree": "°", "pounds": "£", "euro": "€", "S": "§", "P": "¶", "slash": "/", "lq": "‘",
    "rq": "’", "TeX": "TeX", "LaTeX": "LaTeX", "BibTeX": "BibTeX", "space": " ", "newline": " ",
    "linebreak": " ", "enspace": " ", "thinspace": " ", "nobreakspace": " ", "par": " ",
    "newblock": " ", "and": " and ", "ordfeminine": "ª", "ne": "≠", "argmax": "argmax",
}  # fmt: skip
"""Macros that pylatexenc does not know."""
_CHANGED = {"textasciicircum": "^", "textperiodcentered": "·", "quad": " ", "qquad": " ",
            "sqrt": "√"}  # fmt: skip
"""Macros of which pylatexenc prints another character ("ˆ", "˙"), or more than one."""
_OTHER_ACCENTS = {
    "bar": "\u0304", "G": "\u030f", "h": "\u0309", "U": "\u030e", "t": "\u0361",
    "mathring": "\u030a", "widehat": "\u0302", "widetilde": "\u0303",
}  # fmt: skip
"""Accents that pylatexenc does not know, and one that it draws over the letter (U+0305)."""
ACCENTS = frozenset("`'^~\"=.uvHcdbrktGhU")
"""Commands of one character that put an accent on the next letter."""
MATH_ACCENTS = frozenset(
    {
        "acute", "grave", "hat", "tilde", "ddot", "bar", "dot", "breve", "check", "mathring",
        "widehat", "widetilde"
    }
)  # fmt: skip
"""Names of accent commands in formulas."""
_LONGEST = 8
"""Characters of the longest text that is a symbol."""


@lru_cache(maxsize=4096)
def symbol(name: str) -> str | None:
    """The text that a macro without arguments prints, such as "ß" for "ss"; None if unknown."""
    known = _CHANGED.get(name) or _ADDED.get(name)
    if known is not None:
        return known
    from pylatexenc.latex2text import get_default_latex_context_db

    spec = get_default_latex_context_db().get_macro_spec(name)
    text = getattr(spec, "simplify_repl", None)
    # "%s" stands for an argument.
    is_symbol = isinstance(text, str) and "%" not in text and 0 < len(text) <= _LONGEST
    return text if is_symbol else None


def accented(accent: str, letter: str) -> str:
    """The letter with an accent on it: "ö" for '"' and "o"; a dotless letter counts as plain."""
    base = {"\\i": "i", "\\j": "j", "ı": "i", "ȷ": "j"}.get(letter, letter)
    if not base:
        return ""
    return unicodedata.normalize("NFC", base[0] + _combining(accent)) + base[1:]


@cache
def _combining(accent: str) -> str:
    """The combining character of an accent."""
    if accent in _OTHER_ACCENTS:
        return _OTHER_ACCENTS[accent]
    from pylatexenc.latex2text import LatexNodes2Text

    return unicodedata.normalize("NFD", LatexNodes2Text().latex_to_text(f"\\{accent}{{o}}"))[1:]
