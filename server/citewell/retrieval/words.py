"""How text becomes words: one split for every index and every query.

A word is a run of letters or digits in any script, lower-cased, accents and compatibility forms
folded ("Café" and "cafe" are one word). The split works on bytes because a quarter of a million
abstracts pass through it: `bytes.translate` and `bytes.split` are three times as fast as a
regular expression.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_SEPARATE = bytes(byte if byte >= 128 or chr(byte).isalnum() else 32 for byte in range(256))
"""Maps every ASCII byte that is no letter or digit to a space; other bytes are folded before."""


class _Fold(dict[int, str]):
    """Code point to its folded form, found once each: the table of `str.translate`."""

    def __missing__(self, code: int) -> str:
        folded = "".join(
            character if character.isalnum() else " "
            for character in unicodedata.normalize("NFKD", chr(code)).lower()
            if not unicodedata.combining(character)
        )
        self[code] = folded
        return folded


_FOLD = _Fold()


def split(text: str) -> list[bytes]:
    """The words of the text in order, as UTF-8."""
    if not text.isascii():
        text = text.translate(_FOLD)
    return text.lower().encode("utf-8", "ignore").translate(_SEPARATE).split()


class Words:
    """A growing list of distinct words, each numbered by its first appearance."""

    def __init__(self) -> None:
        self._numbers = _Numbers()

    def __len__(self) -> int:
        return len(self._numbers)

    def encode(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Word numbers of all texts end to end, and where each text begins, shape (n + 1,)."""
        number = self._numbers.__getitem__
        flat = array("i")
        starts = array("q", (0,))
        for text in texts:
            flat.extend(map(number, split(text)))
            starts.append(len(flat))
        return np.array(flat, np.int32), np.array(starts, np.int64)

    def since(self, first: int) -> list[bytes]:
        """The words numbered `first` and up, in order."""
        return list(islice(self._numbers, first, None))


class _Numbers(dict[bytes, int]):
    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        return number
