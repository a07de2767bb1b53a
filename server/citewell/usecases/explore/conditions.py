"""Which conditions of the words a paper of a literature search meets, read off its record.

As in `citewell find`, conditions are strong evidence and no filters: papers that meet all of them
come first, then those that meet fewer. The topic is no condition here; the judge weighs it.
"""

from __future__ import annotations

from citewell.engine.contract import Engine
from citewell.model import Work
from citewell.model.direction import Direction
from citewell.model.name_forms import is_by
from citewell.model.typed_query import TypedQuery
from citewell.retrieval.criteria import (
    AUTHOR,
    NEAR_YEAR,
    PHRASE,
    RELATED,
    VENUE,
    YEAR,
    relations,
)
from citewell.retrieval.filters import is_of_venue
from citewell.retrieval.phrases import holds_phrase

MOST_LINKED = 2_000
"""Papers that are fetched for a condition such as "citing BERT". Where more are linked, the
condition is left to the search."""
_DIRECTIONS: dict[str, Direction] = {"cites": "cited_by", "cited_by": "cites", "like": "cocited"}
"""Papers that should cite a work are found among those by which it is cited."""


class Conditions:
    """The conditions of one question over one engine."""

    def __init__(self, engine: Engine, typed: TypedQuery) -> None:
        """`typed`: as the search for the words applied them."""
        self._typed = typed
        self._linked = [
            linked
            for relation, names in relations(typed)
            for name in names
            if (linked := _linked(engine, name, _DIRECTIONS[relation])) is not None
        ]
        self._known: dict[str, float] = {}
        self.names_author = bool(typed.authors)
        """Whether the question names an author."""
        self.most = (
            AUTHOR * bool(typed.authors)
            + VENUE * bool(typed.venues)
            + YEAR * (typed.year_from is not None or typed.year_to is not None)
            + PHRASE * bool(typed.phrases)
            + RELATED * len(self._linked)
        )
        """The points of a paper that meets all conditions; 0 where there are none."""

    def points(self, work: Work) -> float:
        """The sum of what the paper meets, with the weights of `retrieval.criteria`."""
        if not self.most:
            return 0.0
        if work.id not in self._known:
            self._known[work.id] = self._points(work)
        return self._known[work.id]

    def _points(self, work: Work) -> float:
        typed = self._typed
        by = [is_by(name, work.authors) for name in typed.authors]
        at = [is_of_venue(venue, work) for venue in typed.venues]
        held = [holds_phrase(work, phrase) for phrase in typed.phrases]
        found = 0.0
        for weight, met in ((AUTHOR, by), (VENUE, at), (PHRASE, held)):
            found += weight * sum(met) / len(met) if met else 0.0
        found += RELATED * sum(work.id in ids for ids in self._linked)
        return round(found + self._of_year(work.year or 0), 3)

    def _of_year(self, year: int) -> float:
        low, high = self._typed.year_from, self._typed.year_to
        if low is None and high is None:
            return 0.0
        if (low or 1) <= year <= (9999 if high is None else high):
            return YEAR
        return NEAR_YEAR if low == high and year and abs(year - (low or 0)) == 1 else 0.0


def _linked(engine: Engine, name: str, direction: Direction) -> frozenset[str] | None:
    """Ids of the papers beside one; None where they are unknown or too many."""
    found = engine.related(name, direction, MOST_LINKED)
    if not found.known or found.total > len(found.works):
        return None
    return frozenset(work.id for work in found.works)
