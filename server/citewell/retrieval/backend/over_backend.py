"""What the retrievers over a back end share. Imports nothing of the back ends themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from citewell.model import Problem
from citewell.retrieval.contract import Ranking

if TYPE_CHECKING:
    from citewell.model import Query
    from citewell.retrieval.backend.connection import Ask, Connection
    from citewell.retrieval.backend.contract import Condition

NOTHING = Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))


class OverBackend:
    """A retriever whose candidates a back end proposes."""

    waits = True

    _connection: Connection
    _has_facets: bool
    """Whether the embedded indexes compare authors and venues as the back end does."""

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
