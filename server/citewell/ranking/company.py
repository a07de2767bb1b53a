"""What the author already cites, in the paper and around the place at hand, as the ranker needs
it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.array_sets import distinct
from citewell.model import Query
from citewell.ranking.contract import Signals
from citewell.ranking.features import UNKNOWN, Company, Nearby, company_of

_MOST_REFERENCES = 200


class CompanyReader:
    """Looks up the paper's references. Safe to call from any thread."""

    def __init__(self) -> None:
        self._last: tuple[tuple[int, list[str]], Company | None] | None = None

    def of(self, query: Query, signals: Signals) -> Company | None:
        """The references that the library has; None without any. The last ones are kept: they stay
        the same while an author types."""
        titles = [r.title for r in query.paper.references if r.title][:_MOST_REFERENCES]
        if not titles:
            return None
        key, last = (id(signals), titles), self._last
        if last is not None and last[0] == key:
            return last[1]
        found = _company(titles, signals)
        self._last = key, found
        return found


def _company(titles: list[str], signals: Signals) -> Company | None:
    rows = signals.rows_of_titles(titles)
    rows = distinct(rows[rows >= 0])
    vectors, columns = signals.vectors(rows), signals.facts(rows)
    if not len(rows) or vectors is None or columns is None:
        return None
    return company_of(rows, vectors, columns)


def nearby_of(query: Query, signals: Signals, rows: NDArray[np.int64]) -> Nearby | None:
    """What is cited around the place, beside the candidates `rows`; None where the library has none
    of it."""
    if not query.nearby:
        return None
    found = signals.rows_of_titles(query.nearby)
    found = distinct(found[found >= 0])
    vectors = signals.vectors(found)
    if not len(found) or vectors is None:
        return None
    cocited = signals.cocited(query, rows)
    if cocited is None:
        cocited = np.full((len(rows), 2), UNKNOWN, np.float32)
    return Nearby(found, vectors, cocited)
