"""Splits text into the tokens of BERT's uncased vocabulary (Devlin et al. 2019), in pure Python.

The `tokenizers` library does the same, but takes 20 MB of an installation and depends on a client
of a model server.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import msgspec

TOKENIZER = Path(__file__).parent.parent / "minilm" / "tokenizer.json"
UNKNOWN, CLS, SEP, MASK = 100, 101, 102, 103
LONGEST_WORD = 100
"""Maximum characters of a word that is split; a longer one is unknown."""
_CACHED = 20_000
"""Number of words with cached pieces."""
_ASCII_PARTS = re.compile(r"[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~]+")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _TokenizerModel(msgspec.Struct):
    vocab: dict[str, int]


class _TokenizerFile(msgspec.Struct):
    model: _TokenizerModel


class WordPiece:
    """Token numbers of texts. Thread-safe."""

    def __init__(self, path: Path = TOKENIZER) -> None:
        """`path` is a `tokenizer.json`. Raises `OSError` and `ValueError`."""
        self._numbers = msgspec.json.decode(path.read_bytes(), type=_TokenizerFile).model.vocab
        self._pieces: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Token numbers of a text, without start and end tokens."""
        found: list[int] = []
        for word in _ASCII_PARTS.findall(_normal(text)):
            pieces = self._pieces.get(word)
            if pieces is None:
                pieces = self._cut(word)
                if len(self._pieces) > _CACHED:
                    self._pieces = {}
                self._pieces[word] = pieces
            found.extend(pieces)
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest known pieces from the left; the unknown token if one is missing."""
        if len(word) > LONGEST_WORD:
            return (UNKNOWN,)
        pieces: list[int] = []
        begin = 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                part = word[begin:end] if begin == 0 else f"##{word[begin:end]}"
                number = self._numbers.get(part)
                if number is not None:
                    pieces.append(number)
                    begin = end
                    break
            else:
                return (UNKNOWN,)
        return tuple(pieces)


def _normal(text: str) -> str:
    """The text in lower case without accents and control characters, with spaces around
    single-character tokens."""
    if text.isascii() and text.isprintable():
        return text.lower()
    spaced = "".join(map(_spaced, text))
    spread = unicodedata.normalize("NFD", spaced)
    plain = "".join(one for one in spread if unicodedata.category(one) != "Mn").lower()
    return "".join(
        f" {one} " if unicodedata.category(one).startswith("P") else one for one in plain
    )


def _spaced(one: str) -> str:
    if one in "\t\n\r" or unicodedata.category(one) == "Zs":
        return " "
    if one in "\0\ufffd" or unicodedata.category(one).startswith("C"):
        return ""
    code = ord(one)
    return f" {one} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else one
