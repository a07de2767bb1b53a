"""Reads the words that an author typed, as far as that takes a library."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import name_hash, word_hash
from citewell.corpus.library import Library
from citewell.engine.retrievers import Opened
from citewell.engine.signals import LibrarySignals
from citewell.engine.word_tables import WordTables
from citewell.model import Query
from citewell.model.query import Understood
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.library_names import LibraryNames
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
from citewell.retrieval.word_completion import LAST_WORD, RARE, WHOLE, completed, corrected

_WORD = re.compile(r"[^\W\d_]+")


class QueryPreprocessor:
    """Extracts filters from typed words and corrects their spelling. Safe on any thread."""

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
        """The query as it is asked, and what was understood of it, at its place in what was typed.

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
        """The name that the text is in other words; the text itself where it is none."""
        for name, is_whole in plain_names(text):
            if self._is_title(text) or self._names.is_called(text):
                return text
            is_title = self._is_title(name)
            is_common = " " not in name and self._titles(name) >= WHOLE
            if self._names.is_called(name) or (self._names.is_system(name) and not is_common):
                # "Machine translation systems" are not what is called "Machine Translation".
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
        """The typed words with the last one completed, where it is none yet."""
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

    def _titles(self, word: str) -> int:
        return int(self._counts([word_hash(word.lower())])[0])

    def _read(self, query: Query) -> tuple[Query, Understood]:
        if self._is_title(query.text):
            return msgspec.structs.replace(query, literature=False), Understood()
        if not query.sentence and asks_for_papers(query.text):
            query = msgspec.structs.replace(query, literature=True)
        reading = read_query(query.text, self._names, _now(query))
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
        hashes, counts, _ = self._signals.title_words()
        wanted = np.array(words, np.uint32)
        if not len(hashes):
            return np.zeros(len(wanted), np.int64)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return np.where(hashes[at] == wanted, counts[at], 0)

    def _is_name(self, word: str) -> bool:
        if self._columns is None:
            return False
        name = np.uint32(name_hash(word))
        return any(
            bool((part.surname == name).any() or (part.opening == name).any())
            for _, part in self._columns.parts()
        )


def _now(query: Query) -> int:
    """The year of the citing paper if it is known, else this one."""
    return query.paper.year or datetime.date.today().year
