"""Records that are named by what is known of them: id, DOI, arXiv id, address, key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from citewell.documents.bib.match import same_work
from citewell.documents.bib.work import entry_work
from citewell.documents.keys.pattern import DEFAULT_PATTERN, make_key
from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.identifiers import identifier_of
from citewell.model.titles import plain_title

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


def all_named(
    engine: Engine,
    names: Sequence[str],
    pattern: str = DEFAULT_PATTERN,
    bibs: Callable[[], Sequence[BibFile]] = tuple,
) -> list[Work]:
    """The record of each name, in order. A name may be the key of an entry in `bibs`, which are
    asked for if a name is no id, or a key that a list suggested, made with `pattern`. Raises
    `CitewellError` for names that no record has."""
    works = works_named(engine, names)
    missing = [number for number, work in enumerate(works) if work is None]
    own = _entries(bibs() if missing else (), {names[number] for number in missing})
    for number in missing:
        if names[number] in own:
            works[number] = work_of_entry(engine, *own[names[number]])
    others = [number for number in missing if names[number] not in own]
    for number in others[:MOST_KEYS]:
        works[number] = _work_with_key(engine, names[number], pattern)
    unknown = [name for name, work in zip(names, works, strict=True) if work is None]
    if unknown:
        need_library(engine)
        raise CitewellError(_unknown(engine, unknown, own))
    return [work for work in works if work is not None]


def work_of_entry(engine: Engine, bib: BibFile, entry: BibEntry) -> Work | None:
    """The record of the work that an entry describes: by DOI or arXiv id, else by title where
    authors and years agree; None without one."""
    described = entry_work(bib, entry)
    named = [identifier_of(name) for name in (described.doi, described.arxiv) if name]
    for identifier in named:
        found = None if identifier is None else work_identified(engine, identifier)
        if found is not None:
            return found
    titled = engine.lookup(title=described.title) if described.title else []
    return next((work for work in titled if same_work(entry, work)), None)


def _entries(bibs: Sequence[BibFile], keys: set[str]) -> dict[str, tuple[BibFile, BibEntry]]:
    """The entries with these keys; of several files with one, that of the first counts."""
    return {
        key: (bib, entry)
        for bib in reversed(bibs)
        for key in keys
        if (entry := bib.by_key.get(key)) is not None
    }


def _unknown(
    engine: Engine, names: Sequence[str], own: dict[str, tuple[BibFile, BibEntry]]
) -> Problem:
    """The problem of names that no record has; `own` are the entries that some of them name."""
    sentences, hints = [], []
    if others := [name for name in names if name not in own]:
        sentences.append(f"No record has the id {', '.join(map(repr, others))[:200]}.")
        hints += ["Use an id or a key from a search, a DOI or an arXiv id.",
                  *nearest_titles(engine, others)]  # fmt: skip
    for name in names:
        if name in own:
            title = plain_title(own[name][1].get("title"))[:120]
            sentences.append(f"The library has no record of {name!r} (“{title}”).")
    if own and len(others) < len(names):
        hints.append("Add the .bib to the library with `citewell library add`.")
    return Problem("record-unknown", " ".join(sentences), " ".join(hints))


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
