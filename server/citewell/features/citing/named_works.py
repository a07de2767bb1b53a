"""Records that a program names by what it has of them: id, DOI, arXiv id, address, key."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.documents.keys.pattern import DEFAULT_PATTERN, make_key
from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.identifiers import identifier_of

NEAREST = 3
MOST_NEAREST = 5
"""Unknown names for which titles are looked for: each costs a search."""
MAX_WORDS = 300
MOST_KEYS = 5
"""Unknown names that are read as citation keys: each costs a search."""
SAME_KEY = 20
"""Papers among which the one with a key is looked for."""
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(r"[^\W\d_]{3,}")


def works_named(engine: Engine, names: Sequence[str]) -> list[Work | None]:
    """The record of each name, in order; None for a name that no record has."""
    found = engine.works(names)
    for number, (name, work) in enumerate(zip(names, found, strict=True)):
        if work is None and (identifier := identifier_of(name)) is not None:
            found[number] = work_identified(engine, identifier)
    return found


def work_named(engine: Engine, name: str, pattern: str = DEFAULT_PATTERN) -> Work:
    """One record. Raises `CitewellError` for a name that no record has."""
    return all_named(engine, [name], pattern)[0]


def all_named(engine: Engine, names: Sequence[str], pattern: str = DEFAULT_PATTERN) -> list[Work]:
    """The record of each name, in order; a name may be a key that a list suggested, made with
    `pattern`. Raises `CitewellError` for names that no record has."""
    works = works_named(engine, names)
    missing = [number for number, work in enumerate(works) if work is None]
    for number in missing[:MOST_KEYS]:
        works[number] = _work_with_key(engine, names[number], pattern)
    unknown = [name for name, work in zip(names, works, strict=True) if work is None]
    if unknown:
        need_library(engine)
        raise CitewellError(
            Problem(
                "record-unknown",
                f"No record has the id {', '.join(map(repr, unknown))[:200]}.",
                " ".join(
                    ("Use an id or a key from a search, a DOI or an arXiv id.",
                     *nearest_titles(engine, unknown))
                ),
            )
        )  # fmt: skip
    return [work for work in works if work is not None]


def _work_with_key(engine: Engine, key: str, pattern: str) -> Work | None:
    """The one record with this key: that of its source, or the one that `pattern` makes; None where
    no record has it, or several have."""
    if identifier_of(key) is not None or not _WORD.search(key):
        return None
    found = engine.lookup(bibkey=key)
    if not found:
        words = " ".join(_PIECES.findall(key))[:MAX_WORDS]
        hits = engine.find(Query(text=words), SAME_KEY).hits
        found = [hit.work for hit in hits if make_key(hit.work, pattern, ()) == key]
    return found[0] if len(found) == 1 else None


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
