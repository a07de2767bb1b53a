"""Records that a program names by what it has of them: an id, a DOI, an arXiv id, an address."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.identifiers import identifier_of

NEAREST = 3
MOST_NEAREST = 5
"""Unknown names for which titles are looked for: each costs a search."""
MAX_WORDS = 300
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(r"[^\W\d_]{3,}")


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
                " ".join(
                    ("Use an id from a search, a DOI or an arXiv id.",
                     *nearest_titles(engine, unknown))
                ),
            )
        )  # fmt: skip
    return [work for work in works if work is not None]


def nearest_titles(engine: Engine, names: Sequence[str]) -> list[str]:
    """For names that no record has a sentence each with the papers of the nearest titles, which are
    not what was named; none for an identifier, whose words say nothing."""
    sentences = []
    for name in names[:MOST_NEAREST]:
        words = " ".join(_PIECES.findall(name.rpartition(":")[2]))
        if identifier_of(name) is not None or not _WORD.search(words):
            continue
        hits = engine.find(Query(text=words[:MAX_WORDS]), NEAREST).hits
        if hits:
            near = "; ".join(f"{hit.work.id} ({hit.work.title[:120]})" for hit in hits)
            sentences.append(f"Nearest titles for {name[:100]!r}: {near}.")
    return sentences


def need_library(engine: Engine) -> None:
    """Raises `CitewellError` where there is no library: no id is known then."""
    status = engine.status()
    if not status.library and status.problems:
        raise CitewellError(status.problems[0])
