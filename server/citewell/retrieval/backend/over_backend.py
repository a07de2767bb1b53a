"""What the retrievers over a back end share. Imports nothing of the back ends themselves."""

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
    """A retriever whose candidates a back end proposes."""

    waits = True

    def __init__(self, embedded: Retriever, connection: Connection, *, has_facets: bool) -> None:
        """`has_facets`: the embedded indexes compare authors and venues as the back end does."""
        self.__dict__.update(vars(embedded))
        self._connection, self._has_facets = connection, has_facets

    @property
    def problem(self) -> Problem | None:
        """Why the embedded index answers, as far as that is known."""
        return self._connection.problem

    def wait(self, seconds: float) -> None:
        """Until it is known whether the back end answers, or so long."""
        self._connection.wait(seconds)

    def _where(self, query: Query) -> tuple[Condition, ...] | None:
        """The filters of a query as conditions; None where one of them cannot be expressed."""
        from citewell.retrieval.backend.payload import conditions_of

        return conditions_of(query, has_facets=self._has_facets)

    def _found(self, part: str, where: Sequence[Condition], ask: Ask) -> Ranking | Problem | None:
        """As `Connection.ask`, with rows of the library."""
        from citewell.retrieval.backend.contract import AnyOf

        if any(isinstance(one, AnyOf) and not one.numbers for one in where):
            return NOTHING
        found = self._connection.ask(part, ask)
        if found is None or isinstance(found, Problem):
            return found
        return self._connection.held.ranking(found)
