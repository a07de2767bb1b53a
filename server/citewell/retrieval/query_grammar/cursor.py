"""The state of parsing typed words, and the look-ups that rules may use."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from citewell.model.query import PartKind

# Splits typed words into tokens: words, numbers, quoted phrases, operators and punctuation.
#
# Tokenising never fails: an isolated quotation mark or operator is punctuation.

LONGEST = 2_000
"""Maximum number of characters parsed; the rest belongs to the topic."""
MOST = 80
"""Maximum number of tokens parsed."""

Kind = Literal["word", "number", "phrase", "minus", "plus", "field", "mark"]

_TOKEN = re.compile(
    r"""
      (?P<field>(?<!\w)(?:author|by|venue|year|years|type|kind|language|keyword|cites|citing|cited[-_]by|citedby|
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


class QueryToken(msgspec.Struct, frozen=True):
    """A piece of the text."""

    kind: Kind
    text: str
    """A phrase without its quotation marks, a field name in lower case."""
    start: int
    end: int

    @property
    def low(self) -> str:
        """The text in lower case."""
        return self.text.lower()


def tokens_of(text: str) -> list[QueryToken]:
    """The tokens of the first `LONGEST` characters, at most `MOST`."""
    found: list[QueryToken] = []
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
        found.append(QueryToken(kind, shown, match.start(), match.end()))  # type: ignore[arg-type]
    return found


_YEAR = re.compile(r"(?:19|20)\d\d")


class Names:
    """The names in a library; this base class, without a library, knows none."""

    def surname(self, word: str) -> int:
        """Number of papers by authors with this surname; a look-up in an index."""
        return 0

    def spelling(self, word: str) -> str:
        """The word in the library's spelling: "Mikolajczyk" for "Mikołajczyk"."""
        return word

    def titled(self, word: str) -> int:
        """Number of titles with this word."""
        return 0

    def titles_with(self, phrase: str) -> int:
        """Number of titles with these words adjacent, as far as counted."""
        return 0

    def opens_title(self, phrase: str) -> bool:
        """Whether a title begins with these words, as far as known."""
        return False

    def papers_on(self, topic: str) -> int:
        """Number of papers with all words of the topic in title or abstract."""
        return 0

    def has_author(self, name: str) -> bool:
        """Whether a paper has an author with this name, in any form."""
        return False

    def has_person(self, given: str, family: str) -> bool:
        """Whether a paper has an author with exactly these names."""
        return False

    def are_coauthors(self, surnames: Sequence[str]) -> bool:
        """Whether a paper has authors with all of these surnames, at least two."""
        return False

    def venue(self, text: str, *, is_marked: bool) -> str:
        """Short name of the venue in the text, if the library has papers of it, else "". A word
        common in topics names a venue only if the preceding words mark it as one (`is_marked`)."""
        return ""

    def is_system(self, word: str) -> bool:
        """Whether other papers refer to a paper by this word: "bert"."""
        return False

    def is_called(self, name: str) -> bool:
        """Whether others use this name for a paper."""
        return False

    def work(self, text: str) -> str:
        """Id of the work that an identifier, a title or a name denotes, or ""."""
        return ""


class Clause(msgspec.Struct, frozen=True):
    kind: PartKind
    end: int
    """Token after the last one."""
    value: str
    change: dict[str, object]
    """Changes to `TypedQuery`; a tuple is appended to the existing one."""
    kept: str | None = ""
    """The text that stays among the words; None: unchanged."""
    filters: dict[str, object] = {}
    is_bare: bool = False
    asks: bool = False
    """Whether it asks for the literature on a topic."""
    last: int = 0
    """Its last character, if that is not the end of a token."""


class Cursor:
    """The tokens of one text; `at` is always the number of a token."""

    def __init__(self, text: str, names: Names, now: int) -> None:
        """`now` is the year that "last three years" counts from."""
        self.text, self.names, self.now = text, names, now
        self.tokens: list[QueryToken] = tokens_of(text)
        self._low = ["" if one.kind == "phrase" else one.low for one in self.tokens]
        self.has_year = any(_YEAR.fullmatch(token.text) for token in self.tokens)

    def low(self, at: int) -> str:
        """The token in lower case; empty beyond the end, and for a phrase."""
        return self._low[at] if 0 <= at < len(self._low) else ""

    def is_word(self, at: int) -> bool:
        """Whether the token is a word."""
        return at < len(self.tokens) and self.tokens[at].kind == "word"

    def slice(self, begin: int, end: int) -> str:
        """The text from one token up to another."""
        return self.text[self.tokens[begin].start : self.tokens[end - 1].end]

    def follows(self, at: int, words: str) -> int:
        """The index after these consecutive words, or 0."""
        for number, word in enumerate(words.split()):
            if self.low(at + number) != word:
                return 0
        return at + len(words.split())

    def after_any(self, at: int, phrases: tuple[str, ...]) -> int:
        """The index after the longest of the phrases found here, or 0."""
        here = _by_first_word(phrases).get(self.low(at), ())
        return max((self.follows(at, one) for one in here), default=0)


@lru_cache
def _by_first_word(phrases: tuple[str, ...]) -> dict[str, list[str]]:
    """The phrases by their first words: few tokens begin one."""
    found: dict[str, list[str]] = {}
    for phrase in phrases:
        found.setdefault(phrase.split()[0], []).append(phrase)
    return found


Rule = Callable[[Cursor, int], Clause | None]
"""Returns the part that begins at a token, or None."""
