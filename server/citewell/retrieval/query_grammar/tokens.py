"""Cuts typed words into tokens: words, numbers, quoted phrases, operators and punctuation.

Tokenising never fails: an isolated quotation mark or operator is punctuation.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

LONGEST = 2_000
"""Characters that are read; what follows is part of the topic."""
MOST = 80
"""Tokens that are read."""

Kind = Literal["word", "number", "phrase", "minus", "plus", "field", "mark"]

_TOKEN = re.compile(
    r"""
      (?P<field>(?<!\w)(?:author|by|venue|year|years|type|kind|language|cites|citing|cited[-_]by|citedby|
          like|citations|min[-_]citations)\s?:(?=\s{0,2}["“\w<>=≥.–-]))
    | (?P<phrase>"[^"]{1,300}"|“[^“”]{1,300}”|«[^«»]{1,300}»)
    | (?P<minus>(?<!\S)[-−](?=["“\w]))
    | (?P<plus>(?<!\S)\+(?=["“\w]))
    | (?P<number>(?<![\w.])\d++(?![\w.]*[^\W\d])(?!-[^\W\d])(?!\.\d))
    | (?P<word>[^\W_]+(?:['’](?!s\b)[^\W_]+|[-&/.][^\W_]+)*)
    | (?P<mark>['’]s\b|[^\w\s]|_)
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Token(msgspec.Struct, frozen=True):
    """A piece of the text."""

    kind: Kind
    text: str
    """Of a phrase without its quotation marks, of a field its name in lower case."""
    start: int
    end: int

    @property
    def low(self) -> str:
        """The text in lower case."""
        return self.text.lower()


def tokens_of(text: str) -> list[Token]:
    """The tokens of the first `LONGEST` characters, `MOST` at most."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text[:LONGEST]):
        if len(found) == MOST:
            break
        kind = match.lastgroup or "mark"
        shown = match[0]
        if kind == "phrase":
            shown = " ".join(shown[1:-1].split())
            if not any(character.isalnum() for character in shown):
                kind = "mark"
        elif kind == "field":
            shown = shown.rstrip(": ").lower().replace("_", "-")
        found.append(Token(kind, shown, match.start(), match.end()))  # type: ignore[arg-type]
    return found
