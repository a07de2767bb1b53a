"""A retriever that is still being loaded: others answer, and it joins when it is ready."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from citewell.engine.background_load import BackgroundLoad
from citewell.model import Evidence, Problem, Query
from citewell.model.cancel import Cancel
from citewell.retrieval.contract import Ranking, Retriever


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

    @property
    def loaded(self) -> Retriever | None:
        """The retriever itself; None while it is being loaded or when it could not be."""
        return self._retriever.value

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
