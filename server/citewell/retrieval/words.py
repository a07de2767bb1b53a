"""The split of text into words, for every index and every query.

A word is a run of letters or digits in any script, lower-cased, accents and compatibility forms
folded ("Café" and "cafe" are one word); of Chinese and Japanese each pair of characters.

A library has tens of millions of words, but only a few hundred thousand distinct ones. `Words`
finds and distinguishes them with array operations over the bytes of many texts at once; an object
is created only for a word that was not seen before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.model.titles import in_pairs

_SEPARATE = bytes(byte if byte >= 128 or chr(byte).isalnum() else 32 for byte in range(256))
"""Maps every ASCII byte that is no letter or digit to a space; other bytes are folded before."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
LONGEST_TEXT = 1 << 19
"""Maximum number of characters read of one text; a longer one is no abstract."""
_BATCH = 1 << 19
"""Bytes hashed at once, within the processor's cache."""


class _Fold(dict[str, str]):
    """Folded form of each character beyond ASCII, computed once."""

    def __missing__(self, key: str) -> str:
        folded = "".join(
            character if character.isalnum() else " "
            for character in unicodedata.normalize("NFKD", key).lower()
            if not unicodedata.combining(character)
        )
        self[key] = folded
        return folded


_FOLD = _Fold()


def _bytes(text: str) -> bytes:
    """The folded text as UTF-8; ASCII letters keep their case."""
    if not text.isascii():
        text = in_pairs(_NOT_ASCII.sub(lambda match: _FOLD[match[0]], text))
    return text.encode("utf-8", "ignore")


def split(text: str) -> list[bytes]:
    """The words of the text in order, as UTF-8."""
    return _bytes(text[:LONGEST_TEXT]).lower().translate(_SEPARATE).split()


class Words:
    """A growing list of distinct words with constant numbers."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._words: list[bytes] = []

    def __len__(self) -> int:
        return len(self._words)

    def encode(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Word numbers of all texts in sequence, and the start of each text, shape (n + 1,)."""
        numbers: list[NDArray[np.int32]] = []
        counts: list[NDArray[np.int64]] = []
        batch: list[bytes] = []
        size = 0
        for text in texts:
            coded = _bytes(text[:LONGEST_TEXT])
            if size + len(coded) > _BATCH and batch:
                self._encode(batch, numbers, counts)
                batch, size = [], 0
            batch.append(coded)
            size += len(coded) + 1
        if batch:
            self._encode(batch, numbers, counts)
        starts = np.zeros(sum(map(len, counts)) + 1, np.int64)
        if counts:
            np.cumsum(np.concatenate(counts), out=starts[1:])
        flat = np.concatenate(numbers) if numbers else np.zeros(0, np.int32)
        return flat, starts

    def since(self, first: int) -> list[bytes]:
        """The words numbered `first` and up, in order."""
        return self._words[first:]

    def _encode(
        self,
        texts: Sequence[bytes],
        numbers: list[NDArray[np.int32]],
        counts: list[NDArray[np.int64]],
    ) -> None:
        blob = (b" " + b" ".join(texts) + b" ").lower().translate(_SEPARATE)
        raw = np.frombuffer(blob, np.uint8)
        apart = raw == 32
        edges = np.flatnonzero(apart[1:] != apart[:-1]) + 1
        begin, end = edges[::2], edges[1::2]
        powers, inverses = _powers(len(raw))
        prefix = np.zeros(len(raw) + 1, np.uint64)
        np.multiply(raw, powers, out=prefix[1:])
        np.cumsum(prefix, out=prefix)
        keys = (prefix[end] - prefix[begin]) * inverses[begin]
        order = np.argsort(keys)
        ranked = keys[order]
        opens = np.ones(len(keys), np.bool_)
        np.not_equal(ranked[1:], ranked[:-1], out=opens[1:])
        inverse = np.empty(len(keys), np.int32)
        inverse[order] = np.cumsum(opens, dtype=np.int32) - 1
        distinct, sample = ranked[opens].tolist(), order[opens].tolist()
        known = self._numbers
        own = np.empty(len(distinct), np.int32)
        for place, key in enumerate(distinct):
            number = known.get(key)
            if number is None:
                at = sample[place]
                number = known[key] = len(self._words)
                self._words.append(blob[begin[at] : end[at]])
            own[place] = number
        numbers.append(own[inverse])
        lengths = np.array([len(text) + 1 for text in texts], np.int64)
        bounds = np.searchsorted(begin, np.concatenate([[0], np.cumsum(lengths)]) + 1)
        counts.append(np.diff(bounds))


_PRIME = 0x9E3779B97F4A7C15
"""Odd, so that it has an inverse modulo 2**64."""
_POWERS: list[NDArray[np.uint64]] = []


def _powers(length: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Powers of the prime and of its inverse modulo 2**64, for a rolling hash (Karp and Rabin).

    A word's hash is the sum of byte x power, brought to a start at 0. Half a million words
    collide with a probability below 1e-8.
    """
    if not _POWERS or len(_POWERS[0]) < length:
        size = max(length, _BATCH + LONGEST_TEXT)
        made = []
        for base in (_PRIME, pow(_PRIME, -1, 1 << 64)):
            factors = np.full(size, base, np.uint64)
            factors[0] = 1
            made.append(np.cumprod(factors))
        _POWERS[:] = made
    return _POWERS[0][:length], _POWERS[1][:length]
