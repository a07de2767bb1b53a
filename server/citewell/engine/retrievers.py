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
from citewell.retrieval.backend.over_backend import OverBackend
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
    """The encoders whose vectors are searched, the static one first, separated by commas."""
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
    further: tuple[str, ...] = ()
    """Names of the retrievers of encoders beside the static one."""

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
    static = ["static"] if "dense" in opened else []
    return Opened(
        {name: one for name, one in opened.items() if name not in typed},
        ", ".join([*static, *(row.encoder for row in further)]),
        tuple(opening.problems),
        opening.columns,
        filters,
        {name: one for name, one in opened.items() if name in typed},
        opening.aliases,
        tuple(row.name for row in further),
    )


def _open(row: registry.Row, opening: Opening) -> None:
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


def _loaded(row: registry.Row, opening: Opening) -> Retriever:
    found = row.open(opening)
    assert found is not None, row.name
    return found
