"""Opens the retrievers that the options name; one that cannot be opened is a problem, no more."""

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

# A retriever that is still being loaded: others answer, and it joins when it is ready.


class LateRetriever(Retriever):
    """Loads on a thread of its own from the moment it is made.

    A transformer takes seconds to load; an engine that waited for it would leave the author
    without any answer. A search before it is ready waits, until its own time is up.
    """

    waits = True

    def __init__(self, name: str, load: Callable[[], Retriever]) -> None:
        self.name = name
        self._retriever = BackgroundLoad(name, load, partial(unexpected, name))

    @property
    def problem(self) -> Problem | None:
        """Why it could not be loaded, once that is known."""
        return self._retriever.problem

    def wait(self, seconds: float) -> None:
        """Until it is loaded, or could not be, or so long."""
        self._retriever.wait(seconds)

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """As soon as it is loaded. Raises `CitewellError` if it could not be."""
        return self._retriever.get(cancel).search(query, k, cancel)

    def search_batch(self, queries: Sequence[Query], k: int, cancel: Cancel) -> list[Ranking]:
        """Waits as long as loading takes."""
        return self._retriever.get().search_batch(queries, k, cancel)

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """As the retriever itself does."""
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
    """The open retrievers of a library, and what they share."""

    retrievers: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name, in the order of their evidence: those that are asked for every query."""
    encoder: str = ""
    """The encoders whose vectors are searched, the shipped one first, separated by commas."""
    problems: tuple[Problem, ...] = ()
    """Why a retriever that was asked for is missing."""
    columns: LibraryColumns | None = None
    """Columns that the ranker reads; None for a library built without them."""
    filters: Filters | None = None
    """Says which papers pass the filters of a query."""
    typed: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name: those that are asked for typed words only, where a ranker judges what they bring."""
    aliases: Aliases = NO_ALIASES
    """Names by which others cite papers."""
    further: tuple[str, ...] = ()
    """Names of the retrievers of encoders beside the shipped one."""

    @property
    def not_loaded(self) -> list[Problem]:
        """Why retrievers that load or connect on a thread cannot, as far as that is known."""
        late = [
            one for one in self.retrievers.values() if isinstance(one, LateRetriever | OverBackend)
        ]
        return list(dict.fromkeys(one.problem for one in late if one.problem is not None))

    def of(self, kind: type[T]) -> T | None:
        """The retriever of this kind that the ranker knows; None without one."""
        for name, one in self.retrievers.items():
            if isinstance(one, kind) and name not in self.further:
                return one
        return None


def open_retrievers(library: Library, options: Options) -> Opened:
    """Those of the registry that are switched on and can be opened."""
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
