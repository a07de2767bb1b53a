"""The token table's vocabulary: text to token numbers, in pure Python.

A token is a whole word or a phrase of two words. A word outside the vocabulary is split into the
longest vocabulary words that cover it ("bertscore": "bert", "score"), or dropped.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[a-z0-9]+")
SHORTEST_PIECE = 3
LONGEST_WORD = 40
CACHE_LIMIT = 200_000
MAPPED_CACHE_LIMIT = 20_000
"""Number of words, and pairs of words, with cached tokens in a mapped vocabulary."""


def words(text: str) -> list[str]:
    """Lower-case ASCII words of a text, accents removed, in order."""
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return _WORD.findall(text)


class Vocabulary:
    """Token numbers of words and two-word phrases. Thread-safe."""

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
        """Read the vocabulary in a file with one token a line, in the order of the table's rows."""
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1])

    def __len__(self) -> int:
        return len(self.tokens)

    def word(self, word: str) -> tuple[int, ...]:
        """Token numbers of one word: one, those of its pieces, or none."""
        found = self._cache.get(word)
        if found is None:
            number = self._number(word)
            found = self._pieces(word) if number is None else (number,)
            if len(self._cache) < CACHE_LIMIT + len(self.tokens):
                self._cache[word] = found
        return found

    def _number(self, word: str) -> int | None:
        return self._word.get(word)

    def _joined(self, first: int, second: int) -> int | None:
        return self._phrase.get((first, second))

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return ()
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start + SHORTEST_PIECE - 1, -1):
                number = self._number(word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return ()
        return tuple(pieces)

    def phrase(self, first: str, second: str) -> int | None:
        """Token number of a two-word phrase, if the vocabulary has it."""
        one, two = self._number(first), self._number(second)
        return None if one is None or two is None else self._joined(one, two)

    def phrases(self) -> Mapping[tuple[int, int], int]:
        """Token number of each two-word phrase, by the numbers of its words."""
        return self._phrase

    def encode(self, text: str) -> list[int]:
        """Token numbers of a text: of each word, and of each adjacent pair that is a phrase."""
        return self.encode_words(words(text))

    def encode_words(self, parts: Sequence[str]) -> list[int]:
        """Token numbers of words: of each word, and of each adjacent pair that is a phrase."""
        numbers: list[int] = []
        previous = -1
        for part in parts:
            found = self.word(part)
            numbers.extend(found)
            if len(found) == 1:
                if previous >= 0 and (joined := self._joined(previous, found[0])) is not None:
                    numbers.append(joined)
                previous = found[0]
            else:
                previous = -1
        return numbers


class MappedVocabulary(Vocabulary):
    """A vocabulary of arrays, possibly mapped from a file: a look-up takes some microseconds, and
    nothing is built or held for unused words."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        """`arrays` are those of `vocabulary_arrays`."""
        self._text = memoryview(arrays["vocabulary_text"])
        self._ends = memoryview(arrays["vocabulary_ends"])
        self._hashes = memoryview(arrays["word_hashes"])
        self._words = memoryview(arrays["word_numbers"])
        self._pair_keys = memoryview(arrays["pair_keys"])
        self._pairs = memoryview(arrays["pair_numbers"])
        self._cache: dict[str, tuple[int, ...]] = {}
        self._known_pairs: dict[tuple[int, int], int | None] = {}

    def __len__(self) -> int:
        return len(self._ends)

    @cached_property
    def tokens(self) -> Sequence[str]:  # type: ignore[override]
        """All tokens, by number."""
        return self._text.tobytes().decode().split("\n")[:-1]

    def word(self, word: str) -> tuple[int, ...]:
        """Token numbers of one word: one, those of its pieces, or none."""
        if len(self._cache) > MAPPED_CACHE_LIMIT:
            self._cache = {}
        return super().word(word)

    def phrase(self, first: str, second: str) -> int | None:
        """Token number of a two-word phrase, if the vocabulary has it."""
        one, two = self.word(first), self.word(second)
        # The numbers of a word in pieces are not its own.
        is_whole = (
            len(one) == len(two) == 1 and self._is(one[0], first) and self._is(two[0], second)
        )
        return self._joined(one[0], two[0]) if is_whole else None

    def _is(self, number: int, word: str) -> bool:
        begin = self._ends[number - 1] + 1 if number else 0
        return self._text[begin : self._ends[number]] == word.encode()

    def _number(self, word: str) -> int | None:
        sought = word.encode()
        wanted = zlib.crc32(sought)
        place = bisect_left(self._hashes, wanted)
        while place < len(self._hashes) and self._hashes[place] == wanted:
            number = int(self._words[place])
            if self._is(number, word):
                return number
            place += 1
        return None

    def _joined(self, first: int, second: int) -> int | None:
        pair = (first, second)
        if pair in self._known_pairs:
            return self._known_pairs[pair]
        wanted = first * len(self) + second
        place = bisect_left(self._pair_keys, wanted)
        is_found = place < len(self._pair_keys) and self._pair_keys[place] == wanted
        found = int(self._pairs[place]) if is_found else None
        if len(self._known_pairs) > MAPPED_CACHE_LIMIT:
            self._known_pairs = {}
        self._known_pairs[pair] = found
        return found


def vocabulary_arrays(vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    """The arrays for `MappedVocabulary`: the text of the tokens and the end of each, the words by
    their hashes, and the phrases by the numbers of their words."""
    tokens = vocabulary.tokens
    coded = [token.encode() for token in tokens]
    words = np.array([n for n, token in enumerate(tokens) if " " not in token], np.int32)
    hashes = np.array([zlib.crc32(coded[n]) for n in words.tolist()], np.uint32)
    order = np.argsort(hashes, kind="stable")
    phrases = vocabulary.phrases()
    keys = np.array([a * len(tokens) + b for a, b in phrases], np.int64)
    numbers = np.array(list(phrases.values()), np.int32)
    by_key = np.argsort(keys)
    return {
        "vocabulary_text": np.frombuffer(b"".join(one + b"\n" for one in coded), np.uint8),
        "vocabulary_ends": (np.cumsum([len(one) + 1 for one in coded]) - 1).astype(np.int32),
        "word_hashes": hashes[order],
        "word_numbers": words[order],
        "pair_keys": keys[by_key],
        "pair_numbers": numbers[by_key],
    }
