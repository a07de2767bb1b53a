"""Look-up of a paper's entry in the project: `find_work` for many papers and large .bib files."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from citewell.documents.bib.work import entry_work, same_work
from citewell.documents.keys.pattern import DEFAULT_PATTERN, make_key
from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.bib import NO_IDENTITY, BibEntry, BibFile
from citewell.model.cancel import cooperative
from citewell.model.identifiers import (
    Identifier,
    address_key,
    arxiv_id,
    identifier_of,
    normalise_doi,
)
from citewell.model.titles import plain_title, title_key

_Place = tuple[str, BibEntry]
"""An entry with the path of its .bib."""
_IDENTITIES = np.dtype([("doi", "q"), ("arxiv", "q"), ("title", "q"), ("title length", "B")])
"""`BibBody.identity_bytes`."""


def entries_identified(
    bibs: Iterable[BibFile], identifier: Identifier
) -> list[tuple[str, BibEntry]]:
    """The entries with this identifier, each with the path of its .bib."""
    return [
        (bib.path, entry)
        for bib in bibs
        for entry in cooperative(bib.entries)
        if entry.key and _is_named(entry, identifier)
    ]


def _is_named(entry: BibEntry, identifier: Identifier) -> bool:
    body = entry.body
    if identifier.kind == "arxiv":
        return body.identity.arxiv == hash(identifier.arxiv) and body.arxiv == identifier.arxiv
    if body.identity.doi and body.identity.doi == hash(identifier.doi):
        return True
    if identifier.kind == "doi":
        return False
    return any(
        (named := identifier_of(entry.get(field))) is not None
        and (named == identifier or address_key(named.value) == address_key(identifier.value) != "")
        for field in ("url", "doi", "eprint")
    )


class _Column:
    """Row numbers by value, in arrays, since a file has many entries."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        """Row i has the value `numbers[i]`; rows with 0 are left out."""
        rows = np.flatnonzero(numbers)
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        self._numbers = array("q", numbers[rows].tobytes())
        self._rows = array("i", rows.astype(np.int32).tobytes())

    def __len__(self) -> int:
        return len(self._numbers)

    def rows(self, number: int) -> array[int]:
        """The rows with a value, ascending."""
        low = bisect_left(self._numbers, number)
        return self._rows[low : bisect_right(self._numbers, number, lo=low)]


class KnownWorks:
    """The entries of some .bib files by DOI, arXiv identifier and title. Immutable.

    The values needed of an entry are cached in its body, so that rebuilding after an edit costs a
    walk over the entries and no parsing.
    """

    def __init__(self, bibs: Iterable[BibFile]) -> None:
        self._bibs = tuple(bibs)
        ends = accumulate((len(bib.entries) for bib in self._bibs), initial=0)
        self._starts = list(ends)[:-1]
        """Row of the first entry of each file."""
        found = b"".join(
            entry.body.identity_bytes if entry.key else NO_IDENTITY
            for bib in self._bibs
            for entry in cooperative(bib.entries)
        )
        identities = np.frombuffer(found, _IDENTITIES)
        self._by_doi = _Column(identities["doi"])
        self._by_arxiv = _Column(identities["arxiv"])
        self._by_title = _Column(identities["title"])

    def find(self, work: Work) -> tuple[str, BibEntry] | None:
        """The entry of the work, with the path of its .bib: by DOI, then by arXiv identifier, then
        by title if authors and years agree."""
        if self._by_doi and (doi := normalise_doi(work.doi)):
            for path, entry in self._places(self._by_doi, doi):
                if entry.body.doi == doi:
                    return path, entry
        if self._by_arxiv and (arxiv := work.arxiv or arxiv_id(work.doi) or arxiv_id(work.url)):
            for path, entry in self._places(self._by_arxiv, arxiv):
                if entry.body.arxiv == arxiv:
                    return path, entry
        title = title_key(work.title) if work.title else ""
        titled = self._places(self._by_title, title) if title else ()
        return next((found for found in titled if same_work(found[1], work)), None)

    def _places(self, column: _Column, text: str) -> Iterator[_Place]:
        for row in column.rows(hash(text)):
            number = bisect_right(self._starts, row) - 1
            bib = self._bibs[number]
            yield bib.path, bib.entries[row - self._starts[number]]


# Look-up of records by name: id, DOI, arXiv id, address, key.

NEAREST = 3
MOST_NEAREST = 5
"""Number of unknown names with a search for titles."""
MAX_WORDS = 300
MOST_KEYS = 5
"""Number of unknown names with a search as citation keys."""
SAME_KEY = 20
"""Number of papers among which one with a key is searched."""
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(r"[^\W\d_]{3,}")


def works_named(engine: Engine, names: Sequence[str]) -> list[Work | None]:
    """The record of each name, in order; None for an unknown name."""
    found = engine.works(names)
    for number, (name, work) in enumerate(zip(names, found, strict=True)):
        if work is None and (identifier := identifier_of(name)) is not None:
            found[number] = work_identified(engine, identifier)
    return found


def work_named(engine: Engine, name: str, pattern: str = DEFAULT_PATTERN) -> Work:
    """The record of a name. Raises `CitewellError` for an unknown name."""
    return all_named(engine, [name], pattern)[0]


def all_named(
    engine: Engine,
    names: Sequence[str],
    pattern: str = DEFAULT_PATTERN,
    bibs: Callable[[], Sequence[BibFile]] = tuple,
) -> list[Work]:
    """The record of each name, in order. A name may be the key of an entry in `bibs`, called if a
    name is no id, or a key that a list suggested, made with `pattern`. Raises `CitewellError` for
    unknown names."""
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
    """The record of the work that an entry describes: by DOI or arXiv id, else by title if authors
    and years agree; None without one."""
    described = entry_work(bib, entry)
    named = [identifier_of(name) for name in (described.doi, described.arxiv) if name]
    for identifier in named:
        found = None if identifier is None else work_identified(engine, identifier)
        if found is not None:
            return found
    titled = engine.lookup(title=described.title) if described.title else []
    return next((work for work in titled if same_work(entry, work)), None)


def _entries(bibs: Sequence[BibFile], keys: set[str]) -> dict[str, tuple[BibFile, BibEntry]]:
    """The entries with these keys; the first file with a key counts."""
    return {
        key: (bib, entry)
        for bib in reversed(bibs)
        for key in keys
        if (entry := bib.by_key.get(key)) is not None
    }


def _unknown(
    engine: Engine, names: Sequence[str], own: dict[str, tuple[BibFile, BibEntry]]
) -> Problem:
    """The problem of unknown names; `own` are the entries that some of them name."""
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
    """The one record with this key, that of its source or one made by `pattern`; None if no record
    has it, or several have."""
    if identifier_of(key) is not None or not _WORD.search(key):
        return None
    found = engine.lookup(bibkey=key)
    if not found:
        words = " ".join(_PIECES.findall(key))[:MAX_WORDS]
        hits = engine.find(Query(text=words), SAME_KEY).hits
        found = [hit.work for hit in hits if make_key(hit.work, pattern, ()) == key]
    return found[0] if len(found) == 1 else None


def nearest_titles(engine: Engine, names: Sequence[str]) -> list[str]:
    """For each unknown name, a sentence with the papers of the nearest titles, which are not the
    named ones; none for an identifier."""
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
    """Raise `CitewellError` without a library: no id is known then."""
    status = engine.status()
    if not status.library and status.problems:
        raise CitewellError(status.problems[0])
