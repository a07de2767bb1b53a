"""The words of others' citations of a paper, nearest to the mark, as an inverted index.

"the Adam optimizer [CITATION]" names its paper as no title does. Citewell ships the words nearest
to citations of known papers, as 32-bit hashes without their order, and ranks a paper by how well
the words at the place match those of its citations. These are the citation context profiles of the
literature (arXiv 2603.17361), but one for each citation instead of each paper, so that a single
close match suffices.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct, ranges
from citewell.model import CitewellError, Problem, Query
from citewell.model.languages import STOPWORDS
from citewell.model.query import MARK, OTHER
from citewell.retrieval.tokens import words

SIGNALS = ("profile_best", "profile_sum", "profile_share")
_LEFT, _RIGHT = 12, 6
"""Number of words kept before and after the mark."""
_DECAY = 6.0
"""Distance in words at which a word's weight has fallen to 1/e."""
_RIGHT_SHARE = 0.7
_TYPED = 24
_STOP = frozenset(word.decode() for word in STOPWORDS)


class PassageWords(msgspec.Struct, frozen=True):
    """C citing passages as an inverted index over W words."""

    word: NDArray[np.uint32]
    """Hashes of words and of the pair before the mark, ascending, shape (W,)."""
    word_starts: NDArray[np.int32]
    """Bounds of each word's postings, shape (W + 1,)."""
    passage: NDArray[np.int32]
    """Passage of each posting."""
    nearness: NDArray[np.uint8]
    """Weight of the word in the passage, in 255ths."""
    cited: NDArray[np.uint64]
    """Title key of the paper cited in each passage, shape (C,)."""
    citing: NDArray[np.uint64]
    """Key of the citing paper, shape (C,)."""


def near_words(sentence: str) -> dict[str, float]:
    """The words nearest to the mark with their weight in (0, 1], and the pair right before it."""
    left, _, right = sentence.replace(OTHER, " ").partition(MARK)
    before = [w for w in reversed(words(left)) if w not in _STOP and len(w) > 1][:_LEFT]
    after = [w for w in words(right) if w not in _STOP and len(w) > 1][:_RIGHT]
    found: dict[str, float] = {}
    for share, side in ((1.0, before), (_RIGHT_SHARE, after)):
        for place, word in enumerate(side):
            weight = share * float(np.exp(-place / _DECAY))
            found[word] = max(found.get(word, 0.0), weight)
    if len(before) > 1:
        found[f"{before[1]} {before[0]}"] = 1.0
    return found


def gather_passages(passages: Iterable[tuple[int, int, str]]) -> PassageWords:
    """The index of (title key of the cited paper, key of the citing one, sentence) triples."""
    postings: dict[int, list[tuple[int, int]]] = defaultdict(list)
    cited: list[int] = []
    citing: list[int] = []
    for number, (paper, own, sentence) in enumerate(passages):
        cited.append(paper)
        citing.append(own)
        for word, weight in near_words(sentence).items():
            postings[zlib.crc32(word.encode())].append((number, max(1, round(255 * weight))))
    order = sorted(postings)
    counts = [len(postings[word]) for word in order]
    flat = [one for word in order for one in postings[word]]
    return PassageWords(
        np.array(order, np.uint32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        np.array([number for number, _ in flat], np.int32),
        np.array([weight for _, weight in flat], np.uint8),
        np.array(cited, np.uint64),
        np.array(citing, np.uint64),
    )


def joined_passages(parts: Sequence[PassageWords]) -> PassageWords:
    """The passages of all parts in sequence, as one index."""
    if len(parts) == 1:
        return parts[0]
    base = np.cumsum([0] + [len(part.cited) for part in parts[:-1]])
    words_of = [np.repeat(part.word, np.diff(part.word_starts)) for part in parts]
    word = np.concatenate(words_of)
    passage = np.concatenate(
        [part.passage + start for part, start in zip(parts, base, strict=True)]
    )
    nearness = np.concatenate([part.nearness for part in parts])
    order = np.lexsort((passage, word))
    found, counts = np.unique(word, return_counts=True)
    return PassageWords(
        found,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        passage[order].astype(np.int32),
        nearness[order],
        np.concatenate([part.cited for part in parts]),
        np.concatenate([part.citing for part in parts]),
    )


class Profiles:
    """Signals of the index for queries. Stateless and thread-safe."""

    def __init__(self, index: PassageWords) -> None:
        self._index = index
        self._passages_of = np.argsort(index.cited, kind="stable")
        cited = index.cited[self._passages_of]
        self._keys = distinct(cited)
        self._starts = np.append(np.searchsorted(cited, self._keys), len(cited))
        """The passages that cite the paper i of the keys: [_starts[i], _starts[i + 1])."""
        counts = np.maximum(np.diff(index.word_starts), 1)
        self._idf = np.log1p(len(index.cited) / counts).astype(np.float32)

    def signals(self, query: Query, own: int, keys: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Shape (n, len(SIGNALS)) for papers by title key; 0 where nothing matches.

        They are the best passage, the root of the sum of squares over all passages, and the best as
        a share of a perfect match. Passages of the paper `own` are ignored.
        """
        index = self._index
        wanted = near_words(query.sentence) if query.sentence else {}
        for word in words(query.text)[:_TYPED]:
            if word not in _STOP:
                wanted[word] = 1.0
        score = np.zeros(len(index.cited), np.float32)
        most = 0.0
        for word, weight in wanted.items():
            at = self._find(zlib.crc32(word.encode()))
            if at >= 0:
                part = slice(index.word_starts[at], index.word_starts[at + 1])
                gain = float(self._idf[at]) * weight
                # A word lists each passage only once, so that the indexed addition loses nothing.
                score[index.passage[part]] += gain / 255 * index.nearness[part]
                most += gain
        out = np.zeros((len(keys), len(SIGNALS)), np.float32)
        if not len(self._keys):
            return out
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        has = np.flatnonzero((self._keys[place] == keys) & (keys != 0))
        begin = self._starts[place[has]]
        numbers, owner = ranges(begin, self._starts[place[has] + 1])
        passages = self._passages_of[numbers]
        found = score[passages]
        if own:
            found[index.citing[passages] == np.uint64(own)] = 0
        best, total = np.zeros(len(keys), np.float32), np.zeros(len(keys), np.float32)
        np.maximum.at(best, has[owner], found)
        np.add.at(total, has[owner], found**2)
        out[:, 0], out[:, 1] = best, np.sqrt(total)
        out[:, 2] = out[:, 0] / max(most, 1e-6)
        return out

    def _find(self, word: int) -> int:
        at = int(np.searchsorted(self._index.word, np.uint32(word)))
        return at if at < len(self._index.word) and int(self._index.word[at]) == word else -1


def read_passages(path: Path) -> PassageWords:
    """The index of a file. Raises CitewellError when it cannot be read."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            index = PassageWords(**{name: file[name] for name in PassageWords.__struct_fields__})
        if (
            len(index.word_starts) != len(index.word) + 1
            or index.word_starts[0] != 0
            or (np.diff(index.word_starts) < 0).any()
            or index.word_starts[-1] != len(index.passage)
            or len(index.nearness) != len(index.passage)
            or len(index.citing) != len(index.cited)
            or index.passage.min(initial=0) < 0
            or index.passage.max(initial=-1) >= len(index.cited)
        ):
            raise ValueError("its arrays are inconsistent")
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise CitewellError(
            Problem(
                "priors-unreadable",
                f"The words of citing passages cannot be read ({error}).",
                "Reinstall citewell.",
                path=str(path),
            )
        ) from error
    return index


def write_passages(index: PassageWords, path: Path) -> None:
    """Write the index as one .npz file."""
    arrays = {name: getattr(index, name) for name in PassageWords.__struct_fields__}
    np.savez_compressed(path, **arrays)
