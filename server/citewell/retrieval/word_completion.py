"""Completes the last word of a query that an author is still typing.

An editor requests a list at every letter, and half a word ("bahd", "graph atten") finds nothing. It
is completed by a word from the titles, the authors or the names of the most cited papers: the one
with the most cited papers, where papers with the previous words count far more (context-sensitive
query auto-completion, Bar-Yossef and Kraus 2011, with papers in place of earlier queries).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, distinct
from citewell.corpus.columns import word_hash
from citewell.retrieval.words import Words, split

SHORTEST = 3
"""Minimum letters of a word that is completed."""
MOST_PAPERS = 100_000
"""Number of the most cited papers of a library that provide the words."""
WHOLE = 1_000
"""Number of titles with a word, from which it is complete."""
_SHARED = 30.0
"""Factor of a paper's weight for each previous word that it contains."""
_SURER = 300.0
"""Factor by which the longer word must outweigh a known word: "ber" is a surname, but after
"devlin" it is the beginning of "bert"."""
_LIKELY = 0.4
"""Minimum share of the best one among all longer words: around a citation, an incomplete word finds
more than a wrong one."""
_CANDIDATES = 8
_BEFORE = 12
"""Maximum number of previous words: more would exceed the range of a float."""
LAST_WORD = re.compile(r"(?:^|(?<=[\s(\"“'’-]))[^\W\d_]\w*\Z")
"""A word at the end of a text. It begins with a letter, and is no part of an address."""

COINED = re.compile(r"\b\w+[A-Z]\w*")
"""A name with an inner capital: "RoBERTa"."""


class WordTable:
    """Words and the papers with them. Thread-safe."""

    def __init__(self, arrays: Arrays) -> None:
        """`arrays` are those of `word_arrays`."""
        blob: Any = arrays["blob"]
        self._blob = memoryview(blob)
        self._ends: NDArray[np.int64] = arrays["ends"]
        self._starts: NDArray[np.int64] = arrays["starts"]
        self._papers: NDArray[np.int32] = arrays["papers"]
        self._weights: NDArray[np.float32] = arrays["weights"]
        self._coined: NDArray[np.bool_] = arrays["coined"]

    def __len__(self) -> int:
        return len(self._ends)

    def longer(
        self, word: bytes, before: Sequence[bytes], *, coined: bool = False
    ) -> tuple[dict[bytes, float], float]:
        """The likeliest longer words with this prefix, only `coined` names or all, with the weights
        of their papers; and the weight of the word itself, 0 without papers."""
        low, high = self._place(word), self._place(word + b"\xff")
        if low == high:
            return {}, 0.0
        begin = int(self._starts[low])
        papers = self._papers[begin : int(self._starts[high])]
        counts = self._weights[papers] * _SHARED ** self._shared(before)[papers]
        total = np.add.reduceat(counts, self._starts[low:high] - begin)
        if coined:
            total[~self._coined[low:high]] = 0.0
        own = 0.0
        if self._word(low) == word:
            own, total[0] = float(total[0]), 0.0
        best = np.argsort(-total, kind="stable")[:_CANDIDATES]
        return {self._word(low + at): float(total[at]) for at in best if total[at]}, own

    def _shared(self, words: Sequence[bytes]) -> NDArray[np.float32]:
        """Number of the words in each paper, shape (papers,)."""
        found = np.zeros(len(self._weights), np.float32)
        for word in words:
            at = self._place(word)
            if at < len(self) and self._word(at) == word:
                found[self._papers[self._starts[at] : self._starts[at + 1]]] += 1
        return found

    def _place(self, word: bytes) -> int:
        return bisect_left(range(len(self)), word, key=self._word)

    def _word(self, at: int) -> bytes:
        begin = int(self._ends[at - 1]) if at else 0
        return self._blob[begin : int(self._ends[at])].tobytes()


def word_arrays(texts: Sequence[str], cited: NDArray[np.float64]) -> Arrays:
    """The table of papers, each given by a text of lines with its words, and its number of
    citations.

    `blob` has the distinct words end to end in alphabetical order, word i up to `ends[i]`; the
    papers that hold it are `papers[starts[i]:starts[i + 1]]`. A paper counts by the root of its
    citations (`weights`): else one famous paper would outweigh all others. `coined` says of each
    word whether most texts write it with a capital inside, as names of systems are written.
    """
    known = Words()
    numbers, starts = known.encode(texts)
    words = known.since(0)
    order = sorted(range(len(words)), key=words.__getitem__)
    rank = np.empty(len(words), np.int64)
    rank[order] = np.arange(len(words))
    paper = np.repeat(np.arange(len(texts)), np.diff(starts))
    pairs = distinct(rank[numbers] << 32 | paper)
    counts = np.bincount(pairs >> 32, minlength=len(words))
    return {
        "blob": np.frombuffer(b"".join(words[at] for at in order), np.uint8),
        "ends": np.cumsum([len(words[at]) for at in order], dtype=np.int64),
        "starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "papers": (pairs & 0xFFFFFFFF).astype(np.int32),
        "weights": np.sqrt(cited + 1).astype(np.float32),
        "coined": 2 * _times_coined(texts, words)[order] >= counts,
    }


def _times_coined(texts: Sequence[str], words: Sequence[bytes]) -> NDArray[np.int64]:
    """For each word, the number of texts that write it with an inner capital, without lines in
    capitals."""
    times = Counter(
        word
        for text in texts
        for line in text.splitlines()
        if not line.isupper()
        for name in set(COINED.findall(line))
        for word in split(name)
    )
    return np.array([times[word] for word in words], np.int64)


def completed(text: str, tables: Sequence[WordTable], is_known: Callable[[str], bool]) -> str:
    """The text with its last word completed; unchanged if it ends in no word, or in a complete one:
    `is_known` is true for names and for words of titles."""
    match = LAST_WORD.search(text)
    typed = split(match[0]) if match else []
    if match is None or len(match[0]) < SHORTEST or len(typed) != 1:
        return text
    before = list(dict.fromkeys(split(text[: match.start()])))[-_BEFORE:]
    longer: defaultdict[bytes, float] = defaultdict(float)
    own = 0.0
    coined = COINED.fullmatch(match[0]) is not None
    for table in tables:
        words, same = table.longer(typed[0], before, coined=coined)
        for word, counted in words.items():
            longer[word] += counted
        own += same
    if not longer:
        return text
    best, count = max(longer.items(), key=lambda pair: pair[1])
    is_sure = count >= _SURER * max(own, 1.0) and count >= _LIKELY * sum(longer.values())
    if not is_sure and (own or is_known(match[0])):
        return text
    return text + _rest(best.decode(), match[0])


def _rest(word: str, typed: str) -> str:
    """The rest of the word after the typed prefix."""
    rest = word[len(split(typed)[0].decode()) :]
    return rest.upper() if len(typed) > 1 and typed.isupper() else rest


# Corrects typing errors in queries with the words of the library's titles.
#
# A word that hardly any title has, and that is no author's name, is replaced by the commonest title
# word one edit away (a letter exchanged, dropped, added or replaced: Damerau 1964), if that is far
# commoner. A library stores the words of titles as hashes, so all neighbours are generated and
# looked up, about five hundred for a word of ten letters.

SHORTEST_CORRECTED = 5
"""Minimum length of a word that is corrected: a shorter one has too many neighbours."""
LONGEST = 24
MOST_WORDS = 20
"""Longer texts are pasted, not typed."""
RARE = 2
"""Maximum number of titles with a word that is still taken for an error."""
COMMONER = 20
"""Factor by which the replacement must be commoner."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"(?<![\d_])[^\W\d_]++(?![\d_])")
"""A word without digits beside it: "geant4" is a name."""

Counts = Callable[[Sequence[int]], NDArray[np.int64]]
"""Maps word hashes to the number of titles that contain each word."""
Known = Callable[[str], bool]
"""Whether a word is the name of an author or of a system."""


def corrected(text: str, counts: Counts, known: Known) -> str:
    """The text with its typing errors corrected; most texts have none and are unchanged."""
    found = list(_WORD.finditer(text))
    # A colon within the first word marks an identifier; one after it, the name of a title.
    if len(found) > MOST_WORDS or "?" in text or ":" in text.partition(" ")[0][:-1]:
        return text
    # A word with other letters is a name ("Søgaard"), or of a language with its own words.
    long = [
        match
        for match in found
        if SHORTEST_CORRECTED <= len(match[0]) <= LONGEST
        and match[0].isascii()
        and not _is_behind_apostrophe(text, match.start())
    ]
    if not long:
        return text
    held = counts([word_hash(match[0].lower()) for match in long])
    for match, count in reversed(list(zip(long, held.tolist(), strict=True))):
        word = match[0]
        # An inner capital marks a coined name: "RoBERTa".
        if count > RARE or word[1:] != word[1:].lower() or known(word):
            continue
        better = _neighbour(word.lower(), int(count), counts)
        if better:
            better = better.capitalize() if word[0].isupper() else better
            text = text[: match.start()] + better + text[match.end() :]
    return text


def _is_behind_apostrophe(text: str, at: int) -> bool:
    """Whether the end of a word such as "O'Connor" begins here."""
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
