"""The static encoder's vocabulary: text to token numbers, in pure Python.

A token is a whole word or a phrase of two words. A word that the vocabulary lacks is cut into the
longest vocabulary words that cover it ("bertscore": "bert", "score"), or dropped. No piece of
another model's vocabulary is used.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

_WORD = re.compile(r"[a-z0-9]+")
SHORTEST_PIECE = 3
LONGEST_WORD = 40
CACHE_LIMIT = 200_000


def words(text: str) -> list[str]:
    """Lower-case ASCII words of a text, accents removed, in order."""
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return _WORD.findall(text)


class Vocabulary:
    """Token numbers of words and two-word phrases. Safe to share between threads."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens: Sequence[str] = list(tokens)
        self._word: dict[str, int] = {}
        self._phrase: dict[tuple[int, int], int] = {}
        for number, token in enumerate(self.tokens):
            if " " not in token:
                self._word[token] = number
        for number, token in enumerate(self.tokens):
            if " " in token:
                first, _, second = token.partition(" ")
                self._phrase[self._word[first], self._word[second]] = number
        self._cache: dict[str, tuple[int, ...]] = {w: (n,) for w, n in self._word.items()}

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        """The vocabulary of a file with one token a line, in the order of the table's rows."""
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1])

    def __len__(self) -> int:
        return len(self.tokens)

    def word(self, word: str) -> tuple[int, ...]:
        """Token numbers of one word: one, those of its pieces, or none."""
        found = self._cache.get(word)
        if found is None:
            found = self._pieces(word)
            if len(self._cache) < CACHE_LIMIT + len(self.tokens):
                self._cache[word] = found
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return ()
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start + SHORTEST_PIECE - 1, -1):
                number = self._word.get(word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return ()
        return tuple(pieces)

    def phrase(self, first: str, second: str) -> int | None:
        """Token number of a two-word phrase, if the vocabulary has it."""
        one, two = self._word.get(first), self._word.get(second)
        return None if one is None or two is None else self._phrase.get((one, two))

    def encode(self, text: str) -> list[int]:
        """Token numbers of a text: each word's, and each adjacent pair's that is a phrase."""
        return self.encode_words(words(text))

    def encode_words(self, parts: Sequence[str]) -> list[int]:
        """Token numbers of words: each word's, and each adjacent pair's that is a phrase."""
        numbers: list[int] = []
        previous = -1
        phrase = self._phrase
        for part in parts:
            found = self.word(part)
            numbers.extend(found)
            if len(found) == 1:
                if previous >= 0 and (joined := phrase.get((previous, found[0]))) is not None:
                    numbers.append(joined)
                previous = found[0]
            else:
                previous = -1
        return numbers
