"""The shared parts of the retrievers of one library while they are opened."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from citewell.corpus import columns as columns_module
from citewell.corpus.aliases import NO_ALIASES, Aliases, read_aliases
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.library import Library
from citewell.model import CitewellError, Problem
from citewell.options import Options
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.contract import Retriever
from citewell.retrieval.encoders.citation import WEIGHTS
from citewell.retrieval.facets import Facets, KindsAndLanguages
from citewell.retrieval.filters import Filters

ALIASES = WEIGHTS / "aliases.tsv"
T = TypeVar("T")


class Opening:
    """A library and its settings. Each shared part is read once; an unreadable one is None (or
    empty) and reported in `problems`."""

    def __init__(self, library: Library, options: Options) -> None:
        self.library = library
        self.options = options
        self.opened: dict[str, Retriever] = {}
        """The retrievers so far, by name."""
        self.problems: list[Problem] = []
        self._terms: Bm25Retriever | Exception | None = None

    def retriever(self, name: str, kind: type[T]) -> T | None:
        """The opened retriever with this name, if it is of this kind; else None."""
        found = self.opened.get(name)
        return found if isinstance(found, kind) else None

    def terms(self) -> Bm25Retriever:
        """The BM25 index, also used by filters and exact matches. Raises the error of reading it,
        the same at each call."""
        if self._terms is None:
            try:
                self._terms = Bm25Retriever(self.library.segments)
            except Exception as error:
                self._terms = error
        if isinstance(self._terms, Exception):
            raise self._terms
        return self._terms

    @cached_property
    def known_terms(self) -> Bm25Retriever | None:
        """The BM25 index; None if it cannot be read, which only its retriever reports."""
        try:
            return self.terms()
        except Exception:
            return None

    @cached_property
    def mask(self) -> Filters:
        """The filters of queries, as masks of rows."""
        years = self.library.columns().year
        kinds, holder = KindsAndLanguages(self.library), self.library.holder
        return Filters(years, self.known_terms, self._facets(), self.live, kinds, holder=holder)

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Mask of the live rows, shape (rows,)."""
        return live_rows(self.library)

    @cached_property
    def columns(self) -> LibraryColumns | None:
        """None for a library without them: nothing is then ranked by them."""
        if columns_module.NAME not in self.library.manifest.indexes:
            return None
        try:
            return LibraryColumns(self.library.segments)
        except CitewellError as error:
            self.problems.append(error.problem)
            return None

    @cached_property
    def aliases(self) -> Aliases:
        """Names that others use for papers."""
        try:
            return _shipped_aliases()
        except CitewellError as error:
            self.problems.append(error.problem)
            return NO_ALIASES

    def _facets(self) -> Facets | None:
        """None if they cannot be read."""
        try:
            return Facets(self.library.segments)
        except CitewellError as error:
            self.problems.append(error.problem)
            return None


@cache
def _shipped_aliases() -> Aliases:
    return read_aliases(ALIASES)


def live_rows(library: Library) -> NDArray[np.bool_]:
    """Mask of the live rows, shape (rows,)."""
    live = np.ones(library.rows, np.bool_)
    for segment in library.segments:
        if segment.dead is not None:
            live[segment.base : segment.base + segment.count][segment.dead] = False
    return live
