"""Opens the retrievers in the options; a failure is only a problem."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from citewell.corpus.aliases import NO_ALIASES, Aliases
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.library import Library
from citewell.engine.threads import BackgroundLoad
from citewell.model import CitewellError, Evidence, Problem, Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.retrieval import registry
from citewell.retrieval.backend.over_backend import OverBackend
from citewell.retrieval.contract import Ranking, Retriever
from citewell.retrieval.filters import Filters
from citewell.retrieval.opening import Opening

# A retriever that is being loaded: others answer, and it joins when it is ready.


class LateRetriever(Retriever):
    """Loads on a separate thread from its construction.

    A transformer takes seconds to load; without this, the author would have no answer meanwhile. A
    search waits until it is ready, up to its own time limit.
    """

    waits = True

    def __init__(self, name: str, load: Callable[[], Retriever]) -> None:
        self.name = name
        self._retriever = BackgroundLoad(name, load, partial(unexpected, name))

    @property
    def problem(self) -> Problem | None:
        """The problem of loading it, once known."""
        return self._retriever.problem

    def wait(self, seconds: float) -> None:
        """Wait until it is loaded or has failed, at most `seconds`."""
        self._retriever.wait(seconds)

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """Search once it is loaded. Raises `CitewellError` if loading failed."""
        return self._retriever.get(cancel).search(query, k, cancel)

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        """Search once it is loaded, however long that takes."""
        return self._retriever.get().search_batch(queries, k, cancel)

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """Explain like the retriever itself."""
        return self._retriever.get().explain(query, row, rank, score)


def unexpected(name: str, error: Exception) -> Problem:
    """The problem that reports a retriever's unexpected exception."""
    return Problem(
        "retriever-failed",
        f"The retriever {name!r} cannot be opened ({type(error).__name__}: {error}).",
        "The other retrievers answer; `citewell doctor` shows what is installed.",
    )


logger = logging.getLogger(__name__)

T = TypeVar("T")


class Opened(msgspec.Struct, frozen=True):
    """The open retrievers of a library, and their shared parts."""

    retrievers: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name, in the order of their evidence: those for every query."""
    encoder: str = ""
    """The encoders of the searched vectors, the shipped one first, separated by commas."""
    problems: tuple[Problem, ...] = ()
    """The reasons for missing retrievers."""
    columns: LibraryColumns | None = None
    """Columns for the ranker; None for a library without them."""
    filters: Filters | None = None
    """The filters of queries."""
    typed: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name: those for typed words only, if a ranker judges their results."""
    aliases: Aliases = NO_ALIASES
    """Names that others use for papers."""
    further: tuple[str, ...] = ()
    """Names of the retrievers of further encoders."""

    @property
    def not_loaded(self) -> list[Problem]:
        """Problems of retrievers that load or connect on a thread, as far as known."""
        late = [
            one for one in self.retrievers.values() if isinstance(one, LateRetriever | OverBackend)
        ]
        return list(dict.fromkeys(one.problem for one in late if one.problem is not None))

    def of(self, kind: type[T]) -> T | None:
        """The retriever of this kind known to the ranker, or None."""
        for name, one in self.retrievers.items():
            if isinstance(one, kind) and name not in self.further:
                return one
        return None


def open_retrievers(library: Library, options: Options) -> Opened:
    """Open those in the registry that are switched on."""
    opening = Opening(library, options)
    filters = opening.mask
    rows = registry.rows(options)
    for row in rows:
        if row.is_on(options):
            _open(row, opening)
    typed = {row.name for row in rows if row.typed}
    opened = opening.opened
    further = [row for row in rows if row.encoder and row.name in opened]
    shipped = ["citation"] if "dense" in opened else []
    return Opened(
        {name: one for name, one in opened.items() if name not in typed},
        ", ".join([*shipped, *(row.encoder for row in further)]),
        tuple(opening.problems),
        opening.columns,
        filters,
        {name: one for name, one in opened.items() if name in typed},
        opening.aliases,
        tuple(row.name for row in further),
    )


def _open(row: registry.RetrieverSpec, opening: Opening) -> None:
    try:
        if row.check is not None:
            row.check(opening)
        if row.is_slow:
            found: Retriever | None = LateRetriever(row.name, partial(_loaded, row, opening))
        else:
            found = row.open(opening)
    except CitewellError as error:
        opening.problems.append(error.problem)
    except Exception as error:
        logger.exception("The retriever %s cannot be opened", row.name)
        opening.problems.append(unexpected(row.name, error))
    else:
        if found is not None:
            opening.opened[row.name] = found


def _loaded(row: registry.RetrieverSpec, opening: Opening) -> Retriever:
    found = row.open(opening)
    assert found is not None, row.name
    return found
