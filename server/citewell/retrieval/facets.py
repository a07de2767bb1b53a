"""Authors and venues of every paper as arrays: what filters of a search read.

Each segment holds the forms of its authors' names and the venues that its records name, as 32-bit
hashes with their rows. A filter compares a whole column at once: a few milliseconds for a million
names, and nothing for a search without filters.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.contract import SegmentView
from citewell.model import Author, CitewellError, Problem, Work
from citewell.model.name_forms import NameForm, forms_of
from citewell.model.venue_names import ACRONYMS
from citewell.model.venues import content_words, work_venues
from citewell.retrieval.arrays import open_array, save_array
from citewell.retrieval.compact_facets import CompactFacets
from citewell.retrieval.kinds import KIND, LANGUAGE, text_hash

FORMAT = 1
NAME = "facets"
_REPORTED = 4096
_CAPITALS = re.compile(r"\b(?=\w*[A-Z]\w*[A-Z])\w+")
_ONCE_TAKEN_FOR = {"aaai": "aistats", "icdm": "sdm"}
"""Venues that older libraries hold for each paper of another one: the names of AISTATS and SDM end
with those of AAAI and ICDM."""
_FILES = {
    "family": np.uint32,
    "given": np.uint32,
    "initial": np.uint32,
    "author_row": np.int32,
    "venue": np.uint32,
    "venue_row": np.int32,
}
"""`given` and `initial` are 0 where the record has none; rows rise."""


def venues_in(work: Work) -> frozenset[str]:
    """Ids of the venues of a record; also of those that its venue names only by an acronym
    ("Findings of the Association for Computational Linguistics: EMNLP 2020")."""
    found = set(work_venues(work))
    for text in (work.venue, work.booktitle, work.journal):
        if text:
            found |= _named_by_acronym(text)
    return frozenset(found)


@lru_cache(maxsize=16384)
def _named_by_acronym(text: str) -> frozenset[str]:
    names = (name.lower() for name in _CAPITALS.findall(text))
    return frozenset(ACRONYMS[name] for name in names if name in ACRONYMS)


def _venue_terms(work: Work) -> Iterable[str]:
    yield from (f"={name}" for name in venues_in(work))
    yield from _distinctive_words(f"{work.venue} {work.booktitle} {work.journal}")


@lru_cache(maxsize=16384)
def _distinctive_words(texts: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(content_words(texts)))


def venue_term_hashes(work: Work) -> set[int]:
    """What the facets hold of the venue of a record."""
    return {text_hash(term) for term in _venue_terms(work)}


def _form_hashes(author: Author) -> tuple[tuple[int, int, int], ...]:
    """Of each form of a name, the hashes of surname, given name and initial."""
    return tuple(
        (text_hash(form.family), text_hash(form.given), text_hash(form.initial))
        for form in forms_of(author)
    )


class FacetsBuilder:
    """Writes the facets of one segment."""

    name = NAME

    def fingerprint(self) -> Mapping[str, Any]:
        """The format alone: nothing can be set."""
        return {"format": FORMAT}

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write one .npy a column."""
        codes = {np.uint32: "I", np.int32: "i"}
        columns = {name: array(codes[kind]) for name, kind in _FILES.items()}
        kinds, languages = array("I"), array("I")
        names = [columns[name] for name in ("family", "given", "initial")]
        # Authors, venues and kinds recur, and hashing takes several times as long as a cache.
        hashed = lru_cache(maxsize=65536)(text_hash)
        forms = lru_cache(maxsize=65536)(_form_hashes)
        rows = 0
        for row, work in enumerate(works()):
            for form in dict.fromkeys(f for author in work.authors for f in forms(author)):
                for column, value in zip(names, form, strict=True):
                    column.append(value)
                columns["author_row"].append(row)
            for term in _venue_terms(work):
                columns["venue"].append(hashed(term))
                columns["venue_row"].append(row)
            kinds.append(hashed(work.kind))
            languages.append(hashed(work.language))
            rows += 1
            if rows % _REPORTED == 0:
                progress(_REPORTED)
        if rows != count:
            raise ValueError(f"{count} works were announced and {rows} came")
        progress(rows % _REPORTED)
        for name, kind in _FILES.items():
            save_array(into / f"{name}.npy", np.array(columns[name], kind))
        # Older facets lack these two: `KindsAndLanguages` then reads the records.
        save_array(into / f"{KIND}.npy", np.array(kinds, np.uint32))
        save_array(into / f"{LANGUAGE}.npy", np.array(languages, np.uint32))


class Facets:
    """The facets of a library, mapped from its files. Safe to call from any thread."""

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        """Raises `CitewellError` where a file cannot be read."""
        self._parts = [(view.base, _open(view)) for view in segments]

    def by(self, person: Collection[NameForm], rows: int) -> NDArray[np.bool_]:
        """Which rows have an author whose name fits one of the forms, shape (rows,)."""
        found = np.zeros(rows, np.bool_)
        for base, columns in self._parts:
            if isinstance(columns, CompactFacets):
                found[base + columns.by(person)] = True
                continue
            family, given, initial = columns["family"], columns["given"], columns["initial"]
            for form in person:
                at = np.flatnonzero(family == np.uint32(text_hash(form.family)))
                if form.initial:
                    own, same = given[at], initial[at] == np.uint32(text_hash(form.initial))
                    if form.given:
                        fits = (own == np.uint32(text_hash(form.given))) | (same & (own == 0))
                    else:
                        fits = same
                    at = at[fits]
                found[base + columns["author_row"][at]] = True
        return found

    def has(self, form: NameForm) -> bool:
        """Whether an author has exactly this form of a name: a surname with a given name."""
        for _, columns in self._parts:
            if isinstance(columns, CompactFacets):
                if columns.has(form):
                    return True
                continue
            at = np.flatnonzero(columns["family"] == np.uint32(text_hash(form.family)))
            if (columns["given"][at] == np.uint32(text_hash(form.given))).any():
                return True
        return False

    def of_venues(self, ids: Collection[str], rows: int) -> NDArray[np.bool_]:
        """Which rows are of one of the venues with these ids, shape (rows,)."""
        found = np.zeros(rows, np.bool_)
        for name in ids:
            own = self._any([f"={name}"], rows)
            if name in _ONCE_TAKEN_FOR:
                own &= ~self._any([f"={_ONCE_TAKEN_FOR[name]}"], rows)
            found |= own
        return found

    def named(self, words: Sequence[str], rows: int) -> NDArray[np.bool_]:
        """Which rows have all the words in the name of their venue, shape (rows,)."""
        found = np.full(rows, bool(words))
        for word in dict.fromkeys(words):
            found &= self._any([word], rows)
        return found

    def _any(self, terms: Sequence[str], rows: int) -> NDArray[np.bool_]:
        found = np.zeros(rows, np.bool_)
        wanted = [np.uint32(text_hash(term)) for term in terms]
        for base, columns in self._parts:
            if isinstance(columns, CompactFacets):
                found[base + columns.of_terms(wanted)] = True
                continue
            for term in wanted:
                found[base + columns["venue_row"][columns["venue"] == term]] = True
        return found


def _open(view: SegmentView) -> dict[str, NDArray[Any]] | CompactFacets:
    folder = view.index(NAME)
    try:
        if CompactFacets.is_in(view):
            return CompactFacets(view)
        columns = {name: open_array(folder / f"{name}.npy") for name in _FILES}
        for group in (("family", "given", "initial", "author_row"), ("venue", "venue_row")):
            if len({len(columns[name]) for name in group}) != 1:
                raise ValueError("its files are inconsistent")
        for name in ("author_row", "venue_row"):
            if len(columns[name]) and int(columns[name][-1]) >= view.count:
                raise ValueError("it refers to papers that the library does not have")
    except (OSError, ValueError) as error:
        raise CitewellError(
            Problem(
                "index-unreadable",
                f"The index of authors and venues cannot be read ({error}).",
                "Run `citewell library build` to rebuild it.",
                path=str(folder),
            )
        ) from error
    return columns
