"""The papers beside the best ones in the citation graph: one layer, bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.engine.contract import Engine
from citewell.model import Work
from citewell.model.cancel import Cancel
from citewell.model.direction import Direction

STARTS = 10
"""Papers from which links are followed."""
LINKS = 20
"""Papers taken in one direction from one of them."""
DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by", "cocited")


def linked(
    engine: Engine, starts: Sequence[Work], cancel: Cancel
) -> Iterator[tuple[str, list[tuple[Work, str]]]]:
    """For each start and direction with known links: the question in words, and the papers with
    the reason of each, those cited most often first. Raises `Cancelled`."""
    for start in starts[:STARTS]:
        for direction in DIRECTIONS:
            cancel.check()
            found = engine.related(start.id, direction, LINKS)
            if not found.works:
                continue
            papers = [
                (work, _reason(direction, together))
                for work, together in zip(found.works, found.together, strict=True)
            ]
            yield f"{QUESTIONS[direction]} “{start.title}”", papers


QUESTIONS: dict[Direction, str] = {
    "cites": "cited by",
    "cited_by": "citing",
    "cocited": "cited together with",
}


def _reason(direction: Direction, together: int) -> str:
    if direction != "cocited":
        return ""
    return f"by {together} paper" + ("" if together == 1 else "s")
