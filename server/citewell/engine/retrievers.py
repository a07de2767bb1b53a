"""Opens the retrievers that the options name; one that cannot be opened is a problem, no more."""

from __future__ import annotations

import logging
from functools import partial
from typing import TypeVar

import msgspec

from citewell.corpus.aliases import NO_ALIASES, Aliases
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.library import Library
from citewell.engine.late import LateRetriever, unexpected
from citewell.model import CitewellError, Problem
from citewell.options import Options
from citewell.retrieval import registry
from citewell.retrieval.contract import Retriever
from citewell.retrieval.filters import Filters
from citewell.retrieval.opening import Opening

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Opened(msgspec.Struct, frozen=True):
    """What answers over a library."""

    retrievers: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name, in the order of their evidence: those that are asked for every query."""
    encoder: str = ""
    problems: tuple[Problem, ...] = ()
    """Why a retriever that was asked for is missing."""
    columns: LibraryColumns | None = None
    """What the ranker reads; None for a library built without it."""
    filters: Filters | None = None
    """Says which papers pass the filters of a query."""
    typed: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name: those that are asked for typed words only, where a ranker judges what they bring."""
    aliases: Aliases = NO_ALIASES
    """Names by which others cite papers."""

    def of(self, kind: type[T]) -> T | None:
        """The retriever of this kind; None without one, and while it is being loaded."""
        for one in self.retrievers.values():
            found = one.loaded if isinstance(one, LateRetriever) else one
            if isinstance(found, kind):
                return found
        return None


def open_retrievers(library: Library, options: Options) -> Opened:
    """Those of the registry that are switched on and can be opened."""
    opening = Opening(library, options)
    filters = opening.mask
    for row in registry.RETRIEVERS:
        if row.is_on(options):
            _open(row, opening)
    typed = {row.name for row in registry.RETRIEVERS if row.typed}
    opened = opening.opened
    return Opened(
        {name: one for name, one in opened.items() if name not in typed},
        options.retrieval.encoder if "dense" in opened else "",
        tuple(opening.problems),
        opening.columns,
        filters,
        {name: one for name, one in opened.items() if name in typed},
        opening.aliases,
    )


def _open(row: registry.Row, opening: Opening) -> None:
    try:
        if row.is_slow is not None and row.is_slow(opening.options):
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


def _loaded(row: registry.Row, opening: Opening) -> Retriever:
    found = row.open(opening)
    assert found is not None, row.name
    return found
