"""Corrects typing errors in queries with the words of the library's titles.

A word that hardly any title has, and that is no author's name, is replaced by the commonest title
word one edit away (a letter exchanged, dropped, added or replaced: Damerau 1964), if that is far
commoner. A library stores the words of titles as hashes, so all neighbours are generated and looked
up, some five hundred of them for a word of ten letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import word_hash

SHORTEST = 5
"""Minimum length of a word that is corrected: a shorter one has too many neighbours."""
LONGEST = 24
MOST_WORDS = 20
"""Longer texts are pasted, not typed."""
RARE = 2
"""Titles that may hold a word which is still taken for an error."""
COMMONER = 20
"""How many times commoner the word must be that is put in its place."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"[^\W\d_]+")

Counts = Callable[[Sequence[int]], NDArray[np.int64]]
"""Maps word hashes to the number of titles that contain each word."""
Known = Callable[[str], bool]
"""Whether a word is the name of an author or of a system."""


def corrected(text: str, counts: Counts, known: Known) -> str:
    """The text with its typing errors corrected; most texts have none and are unchanged."""
    found = list(_WORD.finditer(text))
    # A colon within the first word makes it an identifier; one behind it, the name of a title.
    if len(found) > MOST_WORDS or "?" in text or ":" in text.partition(" ")[0][:-1]:
        return text
    # A word with other letters is a name ("Søgaard"), or of a language with words of its own.
    long = [
        match
        for match in found
        if SHORTEST <= len(match[0]) <= LONGEST
        and match[0].isascii()
        and not _is_behind_apostrophe(text, match.start())
    ]
    if not long:
        return text
    held = counts([word_hash(match[0].lower()) for match in long])
    for match, count in reversed(list(zip(long, held.tolist(), strict=True))):
        word = match[0]
        # A capital inside a word marks a coined name: "RoBERTa".
        if count > RARE or word[1:] != word[1:].lower() or known(word):
            continue
        better = _neighbour(word.lower(), int(count), counts)
        if better:
            better = better.capitalize() if word[0].isupper() else better
            text = text[: match.start()] + better + text[match.end() :]
    return text


def _is_behind_apostrophe(text: str, at: int) -> bool:
    """Whether what begins here is the end of a word such as "O'Connor"."""
    return at > 1 and text[at - 1] in "'’" and text[at - 2].isalpha()


def _neighbour(word: str, count: int, counts: Counts) -> str:
    near = neighbours(word)
    held = counts([word_hash(one) for one in near])
    best = int(np.argmax(held))
    return near[best] if held[best] >= COMMONER * max(count, 1) else ""


def neighbours(word: str) -> list[str]:
    """Every other word one edit away; the first letter, which is seldom wrong, stays."""
    parts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    found = [a + b[1:] for a, b in parts if b]
    found += [a + b[1] + b[0] + b[2:] for a, b in parts if len(b) > 1]
    found += [a + c + b[1:] for a, b in parts if b for c in _LETTERS]
    found += [a + c + b for a, b in parts for c in _LETTERS]
    return [one for one in dict.fromkeys(found) if one != word]
