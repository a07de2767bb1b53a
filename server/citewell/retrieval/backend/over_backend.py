"""The base of the retrievers over a back end. Imports no back end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.model import Problem
from citewell.retrieval.contract import NOTHING, Ranking, Retriever

if TYPE_CHECKING:
    from citewell.model import Query
    from citewell.retrieval.backend.connection import Ask, Connection
    from citewell.retrieval.backend.contract import Condition


class OverBackend(Retriever):
    """A retriever with candidates from a back end."""

    waits = True

    def __init__(self, embedded: Retriever, connection: Connection) -> None:
        self.__dict__.update(vars(embedded))
        self._connection = connection

    @property
    def problem(self) -> Problem | None:
        """The reason why the embedded index answers, as far as known."""
        return self._connection.problem

    def wait(self, seconds: float) -> None:
        """Wait until it is known whether the back end answers, at most `seconds`."""
        self._connection.wait(seconds)

    def _where(self, query: Query) -> tuple[Condition, ...] | None:
        """The filters of a query as conditions; None if one cannot be expressed."""
        from citewell.retrieval.backend.payload import conditions_of

        return conditions_of(query)

    def _found(self, part: str, where: Sequence[Condition], ask: Ask) -> Ranking | Problem | None:
        """The result of `Connection.ask`, with rows of the library."""
        from citewell.retrieval.backend.contract import AnyOf

        if any(isinstance(one, AnyOf) and not one.numbers for one in where):
            return NOTHING
        found = self._connection.ask(part, ask)
        if found is None or isinstance(found, Problem):
            return found
        return self._connection.held.ranking(found)
