"""Records that a program names by what it has of them: an id, a DOI, an arXiv id, an address."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.model import CitewellError, Problem, Work
from citewell.model.identifiers import identifier_of


def works_named(engine: Engine, names: Sequence[str]) -> list[Work | None]:
    """The record of each name, in order; None for a name that no record has."""
    found = engine.works(names)
    for number, (name, work) in enumerate(zip(names, found, strict=True)):
        if work is None and (identifier := identifier_of(name)) is not None:
            found[number] = work_identified(engine, identifier)
    return found


def work_named(engine: Engine, name: str) -> Work:
    """One record. Raises `CitewellError` for a name that no record has."""
    return all_named(engine, [name])[0]


def all_named(engine: Engine, names: Sequence[str]) -> list[Work]:
    """The record of each name, in order. Raises `CitewellError` for names that no record has."""
    works = works_named(engine, names)
    unknown = [name for name, work in zip(names, works, strict=True) if work is None]
    if unknown:
        need_library(engine)
        raise CitewellError(
            Problem(
                "record-unknown",
                f"No record has the id {', '.join(map(repr, unknown))[:200]}.",
                "Take an id that a search returned, a DOI or an arXiv id.",
            )
        )
    return [work for work in works if work is not None]


def need_library(engine: Engine) -> None:
    """Raises `CitewellError` where there is no library: no id is known then."""
    status = engine.status()
    if not status.library and status.problems:
        raise CitewellError(status.problems[0])
