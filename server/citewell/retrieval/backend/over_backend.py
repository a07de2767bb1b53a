"""What the retrievers over a back end share. Imports nothing of the back ends themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.model import Problem

if TYPE_CHECKING:
    from citewell.retrieval.backend.connection import Ask, Connection
    from citewell.retrieval.contract import Ranking


class OverBackend:
    """A retriever whose candidates a back end proposes."""

    _connection: Connection

    @property
    def problem(self) -> Problem | None:
        """Why the embedded index answers, as far as that is known."""
        return self._connection.problem

    def wait(self, seconds: float) -> None:
        """Until it is known whether the back end answers, or so long."""
        self._connection.wait(seconds)

    def _ask(self, part: str, ask: Ask) -> Ranking | Problem | None:
        """As `Connection.ask`, with rows of the library."""
        found = self._connection.ask(part, ask)
        if found is None or isinstance(found, Problem):
            return found
        return self._connection.held.ranking(found)
