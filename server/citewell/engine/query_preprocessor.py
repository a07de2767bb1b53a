"""Preprocessing of queries for the retrievers: typed words are parsed with the library, the last
word is completed, and further queries for the same place are written.
"""

from __future__ import annotations

import datetime
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, mapped_arrays
from citewell.corpus.columns import name_hash, word_hash
from citewell.corpus.library import Library
from citewell.engine.contract import Tier
from citewell.engine.retrievers import Opened, unexpected
from citewell.engine.signals import LibrarySignals
from citewell.engine.threads import BackgroundLoad
from citewell.model import Author, Problem, Query
from citewell.model.cancel import Cancel
from citewell.model.query import Understood
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.encoders.citation import WEIGHTS
from citewell.retrieval.library_names import LibraryNames
from citewell.retrieval.opening import ALIASES
from citewell.retrieval.query_grammar.cursor import Names
from citewell.retrieval.query_grammar.words import asks_for_papers
from citewell.retrieval.structure import (
    KEY,
    NAME,
    TypedText,
    as_read,
    key_words,
    plain_names,
    read_query,
    structured,
    with_conditions,
)
from citewell.retrieval.word_completion import (
    LAST_WORD,
    MOST_PAPERS,
    RARE,
    WHOLE,
    WordTable,
    completed,
    corrected,
    word_arrays,
)

if TYPE_CHECKING:
    from citewell.engine.llm_stage import LlmStage

_WORD = re.compile(r"[^\W\d_]+")
SHORT = 3
"""Letters of a word that is too short to be missed."""


class QueryPreprocessor:
    """Extracts filters from typed words and corrects their spelling. Thread-safe."""

    def __init__(
        self,
        library: Library | None,
        opened: Opened,
        signals: LibrarySignals | None,
    ) -> None:
        columns = opened.columns
        self._library, self._columns, self._signals = library, columns, signals
        self._names = Names()
        self._words: WordTables | None = None
        if library is not None and opened.filters is not None and signals is not None:
            terms, aliases = opened.of(Bm25Retriever), opened.aliases
            self._names = LibraryNames(
                library, opened.filters, terms, columns, counts=self._counts, aliases=aliases
            )
            self._words = WordTables(library, signals)

    def read(self, query: Query, *, waits: bool = False) -> tuple[Query, Understood]:
        """The query to search for, and the interpretation of the typed words, with their positions.

        An unfinished word stays as it is until words can be completed, unless the query `waits`. A
        title that the library holds is taken as it stands: "What does BERT look at?" asks for one
        paper and is no question for papers.
        """
        is_unfinished = query.unfinished
        if is_unfinished:
            query = msgspec.structs.replace(query, unfinished=False)
        if not query.typed:
            return structured(query), Understood()
        typed = as_read(query.text)
        if not typed.text.isascii():
            typed = typed.replaced(_WORD, self._names.spelling)
        typed = typed.replaced(KEY, lambda key: self._key_words(key, _now(query)))
        if is_unfinished:
            typed = self._completed(typed, waits)
        typed = typed.replaced(NAME, self._plain_name)
        if typed.text == query.text:
            return self._read(query)
        read, understood = self._read(msgspec.structs.replace(query, text=typed.text))
        return read, typed.in_original(understood)

    def _key_words(self, key: str, now: int) -> str:
        """The words of a key, unless the library has it as a word or a name."""
        if self._titles(key) or self._names.is_system(key):
            return key
        return key_words(key, now, self._is_author)

    def _plain_name(self, text: str) -> str:
        """The name that the text is a variant of, or the text itself."""
        for name, is_whole in plain_names(text):
            if self._is_title(text) or self._names.is_called(text):
                return text
            is_title = self._is_title(name)
            is_common = " " not in name and self._titles(name) >= WHOLE
            if self._names.is_called(name) or (self._names.is_system(name) and not is_common):
                # "Machine translation systems" differs from the title "Machine Translation".
                if is_whole or not is_title:
                    return name
            elif is_whole and is_title:
                return name
        return text

    def _is_author(self, name: str, mostly: bool) -> bool:
        if self._names.venue(name, is_marked=True):
            return False
        papers = self._names.surname(name)
        if mostly:
            return papers > self._names.titled(name)
        return papers > 0 or self._is_name(name)  # the index of words lacks "He"

    def _completed(self, typed: TypedText, waits: bool) -> TypedText:
        """The typed words with the last one completed, if it is incomplete."""
        tables = () if self._words is None else self._words.get(waits=waits)
        word = LAST_WORD.search(typed.text)
        if not tables or word is None or self._titles(word[0]) >= WHOLE:
            return typed
        whole = completed(typed.text, tables, self._is_known)
        if whole == typed.text or self._is_title(typed.text):
            return typed
        return typed.replaced(LAST_WORD, lambda word: word + whole[len(typed.text) :])

    def _is_known(self, word: str) -> bool:
        """Whether a word is a name, or several titles contain it."""
        return self._titles(word) > RARE or self._is_name(word) or self._names.is_system(word)

    def unknown_words(self, text: str) -> list[str]:
        """The words that no work, author or name of the library has."""
        words = [word for word in _WORD.findall(text) if len(word) > SHORT]
        return [
            word
            for word in words
            if not (self._titles(word) or self._names.papers_on(word) or self._names.surname(word))
            and not (self._is_name(word) or self._names.is_system(word))
        ]

    def _titles(self, word: str) -> int:
        return int(self._counts([word_hash(word.lower())])[0])

    def _read(self, query: Query) -> tuple[Query, Understood]:
        if self._is_title(query.text):
            return msgspec.structs.replace(query, literature=False), Understood()
        reading = read_query(query.text, self._names, _now(query))
        if not query.sentence and (reading.asks or asks_for_papers(query.text)):
            query = msgspec.structs.replace(query, literature=True)
        query, understood = with_conditions(query, reading)
        if self._columns is None or self._signals is None or not query.text:
            return query, understood
        text = corrected(query.text, self._counts, self._is_name)
        if text == query.text:
            return query, understood
        topic = corrected(query.typed_query.topic, self._counts, self._is_name)
        typed_query = msgspec.structs.replace(query.typed_query, topic=topic)
        return msgspec.structs.replace(query, text=text, typed_query=typed_query), understood

    def _is_title(self, text: str) -> bool:
        return self._library is not None and bool(self._library.by_title_rows(text))

    def _counts(self, words: Sequence[int]) -> NDArray[np.int64]:
        if self._signals is None:
            return np.zeros(len(words), np.int64)
        return self._signals.title_counts(words)

    def _is_name(self, word: str) -> bool:
        if self._columns is None:
            return False
        name = np.uint32(name_hash(word))
        return any(
            bool((part.surname == name).any() or (part.opening == name).any())
            for _, part in self._columns.parts()
        )


def _now(query: Query) -> int:
    """The year of the citing paper if known, else the current one."""
    return query.paper.year or datetime.date.today().year


# Tables for completing words (`retrieval.word_completion`), of a library and those below it.
#
# Reading the most cited papers takes a second or two: it is done on a thread at the first
# completion, and the table of a large library is cached.

WORDS = "words"
KEPT_FROM = 2_000
"""Minimum number of papers for caching; a smaller table is computed in milliseconds."""
_PRIORS = WEIGHTS / "priors.npz"
_AUTHORS = 20
"""Maximum number of authors of a paper; a collaboration has thousands."""
_STRIPE = 1_000_000
_BATCH = 1_000
_SURE = 0.3
"""Share of the users of a name who mean one paper, above which its prefix is completed."""


class _Named(msgspec.Struct):
    title: str = ""
    authors: tuple[Author, ...] = ()


class WordTables:
    """The tables of one open library. Thread-safe."""

    def __init__(self, library: Library, signals: LibrarySignals) -> None:
        self._library, self._signals = library, signals
        self._load: BackgroundLoad[list[WordTable]] | None = None
        self._lock = threading.Lock()

    def get(self, *, waits: bool = False) -> Sequence[WordTable]:
        """The tables, the library's own first. The first call starts to compute them: until then
        the result is empty, unless it `waits` or the library is small. It is also empty after a
        failure, which is logged."""
        with self._lock:
            if self._load is None:
                self._load = BackgroundLoad(WORDS, self._made, partial(unexpected, WORDS))
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
        """The most cited of some rows, ascending, and their numbers of citations."""
        best, best_cited = np.zeros(0, np.int64), np.zeros(0)
        for begin in range(rows.start, rows.stop, _STRIPE):
            more = np.arange(begin, min(begin + _STRIPE, rows.stop))
            every = np.concatenate([best, more])
            cited = np.concatenate([best_cited, self._signals.cited(more)])
            kept = np.sort(np.argsort(-cited, kind="stable")[:MOST_PAPERS])
            best, best_cited = every[kept], cited[kept]
        return best, best_cited

    def _texts(self, rows: NDArray[np.int64], names: Mapping[int, str]) -> Iterator[str]:
        """The words of each row: a line with its title, and one with its authors and names."""
        for begin in range(0, len(rows), _BATCH):
            some = rows[begin : begin + _BATCH]
            keys = self._signals.keys(some)
            called = [0] * len(some) if keys is None else keys.tolist()
            works = self._library.records(some.tolist(), _Named)
            for work, key in zip(works, called, strict=True):
                yield f"{work.title}\n{_people(work.authors[:_AUTHORS])} {names.get(key, '')}"

    def _names(self) -> Mapping[int, str]:
        """Names that others use mostly for one paper, by its title key."""
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


# Further queries for the same place, written by the language model if the settings allow it.
#
# Each is retrieved like the author's own, into separate lists ("bm25~1"), and all are fused.


def variant_name(retriever: str, number: int) -> str:
    """Name of a retriever's list for the query with that number; 0 is the author's own."""
    return f"{retriever}~{number}" if number else retriever


def variant_of(name: str) -> int:
    """The query's number in a list's name."""
    _, _, number = name.partition("~")
    return int(number) if number.isdecimal() else 0


class ExpandedQueries(msgspec.Struct, frozen=True):
    """The further queries for one place."""

    queries: tuple[Query, ...] = ()
    made_by: tuple[str, ...] = ()
    """The version of the model's program ("reformulate@builtin")."""
    problems: tuple[Problem, ...] = ()
    """The reasons why there are none."""


def expand(stage: LlmStage | None, query: Query, tier: Tier, cancel: Cancel) -> ExpandedQueries:
    """The further queries for the place of one; none without a model. Raises only `Cancelled`."""
    if stage is None or tier != "deep" or not query.model:
        return ExpandedQueries()
    rewritten = stage.rewrite(query, cancel)
    bare = msgspec.structs.replace(query, sentence="", before=(), after=(), section="")
    found = tuple(msgspec.structs.replace(bare, text=text) for text in rewritten.queries)
    problems = () if rewritten.problem is None else (rewritten.problem,)
    return ExpandedQueries(found, (rewritten.program,) if found else (), problems)
