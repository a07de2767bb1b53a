"""The words that complete others (`retrieval.word_completion`), of a library and those below it.

Reading the most cited papers takes a second or two: it is done on a thread when the first word is
to be completed, and the table of a large library is kept in the cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, mapped_arrays
from citewell.corpus.library import Library
from citewell.engine.background_load import BackgroundLoad
from citewell.engine.retrievers import unexpected
from citewell.engine.signals import LibrarySignals
from citewell.model import Author
from citewell.retrieval.encoders.static import WEIGHTS
from citewell.retrieval.opening import ALIASES
from citewell.retrieval.word_completion import MOST_PAPERS, WordTable, word_arrays

NAME = "words"
KEPT_FROM = 2_000
"""A table of fewer papers is made in some milliseconds."""
_PRIORS = WEIGHTS / "priors.npz"
_AUTHORS = 20
"""Of a paper; a collaboration has thousands."""
_STRIPE = 1_000_000
_BATCH = 1_000
_SURE = 0.3
"""Share of the users of a name who mean one paper, from which its beginning stands for it."""


class _Named(msgspec.Struct):
    title: str = ""
    authors: tuple[Author, ...] = ()


class WordTables:
    """Of one open library. Safe to call from any thread."""

    def __init__(self, library: Library, signals: LibrarySignals) -> None:
        self._library, self._signals = library, signals
        self._load: BackgroundLoad[list[WordTable]] | None = None
        self._lock = threading.Lock()

    def get(self, *, waits: bool = False) -> Sequence[WordTable]:
        """The tables, the library's own first. The first call begins to make them: until then there
        are none, unless it `waits` or the library is small; none, too, where they cannot be made,
        which is logged."""
        with self._lock:
            if self._load is None:
                self._load = BackgroundLoad(NAME, self._made, lambda error: unexpected(NAME, error))
        if waits or self._library.rows < KEPT_FROM:
            self._load.wait(threading.TIMEOUT_MAX)
        return self._load.value or ()

    def _made(self) -> list[WordTable]:
        names = self._names()
        return [WordTable(self._arrays(part, rows, names)) for part, rows in _parts(self._library)]

    def _arrays(self, part: Library, rows: range, names: Mapping[int, str]) -> Arrays:
        def make() -> Arrays:
            chosen, cited = self._most_cited(rows)
            return word_arrays(list(self._texts(chosen, names)), cited)

        if len(rows) < KEPT_FROM:
            return make()
        sources = [path for path in (_PRIORS, ALIASES) if path.exists()]
        return mapped_arrays("words-1", sources, make, facts=part.snapshot)

    def _most_cited(self, rows: range) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The most cited of some rows, rising, and how often each is cited."""
        best, best_cited = np.zeros(0, np.int64), np.zeros(0)
        for begin in range(rows.start, rows.stop, _STRIPE):
            more = np.arange(begin, min(begin + _STRIPE, rows.stop))
            every = np.concatenate([best, more])
            cited = np.concatenate([best_cited, self._signals.cited(more)])
            kept = np.sort(np.argsort(-cited, kind="stable")[:MOST_PAPERS])
            best, best_cited = every[kept], cited[kept]
        return best, best_cited

    def _texts(self, rows: NDArray[np.int64], names: Mapping[int, str]) -> Iterator[str]:
        """The words of each row: a line with its title, and one with its authors and its names."""
        for begin in range(0, len(rows), _BATCH):
            some = rows[begin : begin + _BATCH]
            keys = self._signals.keys(some)
            called = [0] * len(some) if keys is None else keys.tolist()
            works = self._library.records(some.tolist(), _Named)
            for work, key in zip(works, called, strict=True):
                yield f"{work.title}\n{_people(work.authors[:_AUTHORS])} {names.get(key, '')}"

    def _names(self) -> Mapping[int, str]:
        """By title key: the names by which others mostly mean that paper."""
        found: dict[int, str] = {}
        for name, works in self._signals.aliases().items():
            if works and works[0].strength >= _SURE:
                # In capitals: names are coined words.
                found[works[0].key] = f"{found.get(works[0].key, '')} {name.upper()}"
        return found


def _people(authors: Iterable[Author]) -> str:
    return " ".join(f"{one.family} {one.given}" for one in authors)


def _parts(library: Library) -> Iterator[tuple[Library, range]]:
    """The library and those below it, each with its own rows."""
    part: Library | None = library
    begin = 0
    while part is not None:
        end = begin + sum(segment.count for segment in part.own_segments)
        yield part, range(begin, end)
        part, begin = part.below, end
