"""Reads the words that an author typed, as far as that takes a library."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import name_hash
from citewell.corpus.library import Library
from citewell.engine.retrievers import Opened
from citewell.engine.signals import LibrarySignals
from citewell.model import Query
from citewell.model.typed_query import Understood
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.library_names import LibraryNames
from citewell.retrieval.query_grammar.cursor import Names, NoNames
from citewell.retrieval.query_grammar.reading import read_query
from citewell.retrieval.query_grammar.words import asks_for_papers
from citewell.retrieval.spelling import corrected
from citewell.retrieval.structure import structured, with_conditions
from citewell.retrieval.typed_text import as_read

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
        self._names: Names = NoNames()
        if library is not None and opened.filters is not None and signals is not None:
            terms, aliases = opened.of(Bm25Retriever), opened.aliases
            self._names = LibraryNames(
                library, opened.filters, terms, columns, counts=self._counts, aliases=aliases
            )

    def read(self, query: Query) -> tuple[Query, Understood]:
        """The query as it is asked, and what was understood of it, at its place in what was typed.

        A title that the library holds is taken as it stands: "What does BERT look at?" asks for one
        paper and is no question for papers.
        """
        if not query.typed:
            return structured(query), Understood()
        typed = as_read(query.text)
        if not typed.text.isascii():
            typed = typed.replaced(_WORD, self._names.spelling)
        if typed.text == query.text:
            return self._read(query)
        read, understood = self._read(msgspec.structs.replace(query, text=typed.text))
        return read, typed.in_original(understood)

    def _read(self, query: Query) -> tuple[Query, Understood]:
        if self._is_title(query.text):
            return msgspec.structs.replace(query, literature=False), Understood()
        if not query.sentence and asks_for_papers(query.text):
            query = msgspec.structs.replace(query, literature=True)
        now = query.paper.year or datetime.date.today().year
        query, understood = with_conditions(query, read_query(query.text, self._names, now))
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
        assert self._signals is not None
        hashes, counts, _ = self._signals.title_words()
        wanted = np.array(words, np.uint32)
        if not len(hashes):
            return np.zeros(len(wanted), np.int64)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return np.where(hashes[at] == wanted, counts[at], 0)

    def _is_name(self, word: str) -> bool:
        assert self._columns is not None
        name = np.uint32(name_hash(word))
        return any(
            bool((part.surname == name).any() or (part.opening == name).any())
            for _, part in self._columns.parts()
        )
