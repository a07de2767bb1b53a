"""Authors and venues of every paper as arrays, for the filters of a search.

Each segment stores the forms of its authors' names and the venues of its records as 32-bit hashes
with their rows. A filter compares a whole column at once: a few milliseconds for a million names,
and nothing for a search without filters.
"""

from __future__ import annotations

import threading
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import distinct
from citewell.corpus.columns import name_hash
from citewell.corpus.compact.catalogue import FOLDER, CompactCatalogue, CompactColumns
from citewell.corpus.compact.codec import load_table, starts_of
from citewell.corpus.errors import unreadable_index
from citewell.corpus.layout import SegmentView
from citewell.corpus.library import Library
from citewell.model import Author, Work
from citewell.model.names import NameForm, forms_of, given_forms
from citewell.retrieval.arrays import open_array, save_array
from citewell.retrieval.attributes import KIND, LANGUAGE, venue_terms

# Authors and venues of a compact segment, by the numbers in its records.

NONE = np.zeros(0, np.int64)


class CompactFacets:
    """Finds the rows of a segment by a person, or of a venue. Thread-safe."""

    def __init__(self, view: SegmentView) -> None:
        """Raises `OSError` or `ValueError`."""
        self._folder = view.path / FOLDER
        self._columns = CompactColumns(view.path, view.count, lambda _: [])
        self._records = CompactCatalogue(self._folder, view.count)
        self._surname: NDArray[np.uint32] = open_array(self._folder / "surname.npy")

    def by(self, person: Collection[NameForm]) -> NDArray[np.int64]:
        """Rows with an author with a name that fits one of the forms, ascending."""
        found = [NONE]
        for family in dict.fromkeys(form.family for form in person):
            authors = self._of_family(family)
            wanted = [form for form in person if form.family == family]
            if all(form.initial for form in wanted):
                authors = authors[self._fitting(authors, wanted)]
            found.append(authors)
        return self._columns.rows_of(distinct(np.concatenate(found)))

    def has(self, form: NameForm) -> bool:
        """Whether an author has exactly this form of a name: a surname with a given name."""
        wanted = form.given, form.initial
        given_names = self._records.given_names(self._of_family(form.family))
        return any(wanted in given_forms(given) for given in dict.fromkeys(given_names))

    def _of_family(self, family: str) -> NDArray[np.int64]:
        """Numbers of the authors with this surname, folded, in one of their forms, ascending."""
        number = np.uint32(name_hash(family))
        others = self._other_authors[self._other_families == number]
        return distinct(np.concatenate([np.flatnonzero(self._surname == number), others]))

    def _fitting(self, authors: NDArray[np.int64], wanted: Sequence[NameForm]) -> NDArray[np.bool_]:
        """Mask of the authors, all with the requested surname, that fit one of the forms."""
        given_names = self._records.given_names(authors)
        family = wanted[0].family
        fits = {
            given: any(
                form.fits(NameForm(family, *own)) for form in wanted for own in given_forms(given)
            )
            for given in dict.fromkeys(given_names)
        }
        return np.array([fits[given] for given in given_names], np.bool_)

    def of_term(self, term: np.uint32) -> NDArray[np.int64]:
        """Rows with the term in their venue, given by its hash, ascending."""
        owner = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))
        groups = np.zeros(len(self._starts) - 1, np.bool_)
        groups[owner[self._term == term]] = True
        return np.flatnonzero(groups[self._venue_of])

    @cached_property
    def _other_families(self) -> NDArray[np.uint32]:
        return self._table("other_families")

    @cached_property
    def _other_authors(self) -> NDArray[np.int32]:
        return self._table("other_authors")

    @cached_property
    def _term(self) -> NDArray[np.uint32]:
        return self._table("venue_terms")

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return starts_of(self._table("venue_sizes"))

    @cached_property
    def _venue_of(self) -> NDArray[np.int32]:
        return self._table("venue_of")

    def _table(self, name: str) -> NDArray[Any]:
        return load_table(self._folder / f"{name}.zst")


# Kind and language of every paper, for filters.
#
# Each segment stores both as 32-bit hashes beside its facets.

_FACETS = "facets"
Hashes = NDArray[np.uint32]


class _Titled(msgspec.Struct, frozen=True):
    title: str = ""


class KindsAndLanguages:
    """The columns of a library. Thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._columns: tuple[Hashes, Hashes] | None = None
        self._lock = threading.Lock()

    def stating(self, column: str, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Mask of the rows with one of the terms in the column `KIND` or `LANGUAGE`, shape
        (rows,)."""
        hashes = np.array([text_hash(term) for term in terms], np.uint32)
        return np.isin(self._read()[column == LANGUAGE], hashes)

    def titles(self, rows: NDArray[np.int64]) -> list[str]:
        """The titles of some rows, in their order."""
        return [one.title for one in self._library.records(rows.tolist(), _Titled)]

    def _read(self) -> tuple[Hashes, Hashes]:
        with self._lock:
            if self._columns is None:
                parts = [self._of_segment(view) for view in self._library.segments]
                empty = np.zeros(0, np.uint32)
                self._columns = (
                    np.concatenate([empty, *(kind for kind, _ in parts)]),
                    np.concatenate([empty, *(language for _, language in parts)]),
                )
            return self._columns

    def _of_segment(self, view: SegmentView) -> tuple[Hashes, Hashes]:
        if CompactColumns.is_in(view.path):
            records = CompactCatalogue(view.path / FOLDER, view.count)
            kinds = np.array([text_hash(kind) for kind in records.kinds()], np.uint32)
            return kinds[records.shared], np.zeros(view.count, np.uint32)
        folder = view.index(_FACETS)
        try:
            kind, language = (open_array(folder / f"{name}.npy") for name in (KIND, LANGUAGE))
            if len(kind) != view.count or len(language) != view.count:
                raise ValueError("its files are inconsistent")
        except (OSError, ValueError) as error:
            raise unreadable_index("The index of kinds and languages", error, folder) from error
        return kind, language


def text_hash(text: str) -> int:
    """32-bit hash of a text; 0 for an empty one."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) if text else 0


FORMAT = 1
NAME = "facets"
_REPORTED = 4096
_FILES = {
    "family": np.uint32,
    "given": np.uint32,
    "initial": np.uint32,
    "author_row": np.int32,
    "venue": np.uint32,
    "venue_row": np.int32,
}
"""`given` and `initial` are 0 if the record has none; rows are ascending."""


def venue_term_hashes(work: Work) -> set[int]:
    """The hashes of a record's venue in the facets."""
    return {text_hash(term) for term in venue_terms(work)}


def _form_hashes(author: Author) -> tuple[tuple[int, int, int], ...]:
    """The hashes of surname, given name and initial of each form of a name."""
    return tuple(
        (text_hash(form.family), text_hash(form.given), text_hash(form.initial))
        for form in forms_of(author)
    )


class FacetsBuilder:
    """Writes the facets of one segment."""

    name = NAME

    def fingerprint(self) -> Mapping[str, Any]:
        """The format alone: there are no settings."""
        return {"format": FORMAT}

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write one .npy file for each column."""
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
            for term in venue_terms(work):
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
        save_array(into / f"{KIND}.npy", np.array(kinds, np.uint32))
        save_array(into / f"{LANGUAGE}.npy", np.array(languages, np.uint32))


class Facets:
    """The facets of a library, mapped from its files. Thread-safe."""

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        """Raises `CitewellError` if a file cannot be read."""
        self._parts = [(view.base, _open(view)) for view in segments]

    def by(self, person: Collection[NameForm], rows: int) -> NDArray[np.bool_]:
        """Mask of the rows with an author with a name that fits one of the forms, shape (rows,)."""
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

    def at(self, terms: Collection[str], rows: int) -> NDArray[np.bool_]:
        """Mask of the rows with one of the venue terms, shape (rows,)."""
        found = np.zeros(rows, np.bool_)
        for term in terms:
            wanted = np.uint32(text_hash(term))
            for base, columns in self._parts:
                if isinstance(columns, CompactFacets):
                    found[base + columns.of_term(wanted)] = True
                else:
                    found[base + columns["venue_row"][columns["venue"] == wanted]] = True
        return found


def _open(view: SegmentView) -> dict[str, NDArray[Any]] | CompactFacets:
    folder = view.index(NAME)
    try:
        if CompactColumns.is_in(view.path):
            return CompactFacets(view)
        columns = {name: open_array(folder / f"{name}.npy") for name in _FILES}
        for group in (("family", "given", "initial", "author_row"), ("venue", "venue_row")):
            if len({len(columns[name]) for name in group}) != 1:
                raise ValueError("its files are inconsistent")
        for name in ("author_row", "venue_row"):
            if len(columns[name]) and int(columns[name][-1]) >= view.count:
                raise ValueError("it refers to papers that the library does not have")
    except (OSError, ValueError) as error:
        raise unreadable_index("The index of authors and venues", error, folder) from error
    return columns
