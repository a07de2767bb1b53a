"""Authors and venues of a compact segment: by the numbers that its records have anyway."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.array_sets import distinct
from citewell.corpus.columns import name_hash
from citewell.corpus.compact.catalogue import FOLDER, CompactCatalogue
from citewell.corpus.compact.codec import load_table, starts_of
from citewell.corpus.compact.columns import CompactColumns
from citewell.corpus.contract import SegmentView
from citewell.model.name_forms import NameForm, given_forms
from citewell.retrieval.arrays import open_array

NONE = np.zeros(0, np.int64)


class CompactFacets:
    """Which rows of a segment are by a person, or of a venue. Safe to call from any thread."""

    def __init__(self, view: SegmentView) -> None:
        """Raises `OSError` or `ValueError`."""
        self._folder = view.path / FOLDER
        self._columns = CompactColumns(view.path, view.count, lambda _: [])
        self._records = CompactCatalogue(self._folder, view.count)
        self._surname: NDArray[np.uint32] = open_array(self._folder / "surname.npy")

    @staticmethod
    def is_in(view: SegmentView) -> bool:
        """True for a compact segment."""
        return CompactColumns.is_in(view.path)

    def by(self, person: Collection[NameForm]) -> NDArray[np.int64]:
        """Rows with an author whose name fits one of the forms, rising."""
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
        """Numbers of the authors with this surname, folded, in one of their forms, rising."""
        number = np.uint32(name_hash(family))
        others = self._other_authors[self._other_families == number]
        return distinct(np.concatenate([np.flatnonzero(self._surname == number), others]))

    def _fitting(self, authors: NDArray[np.int64], wanted: Sequence[NameForm]) -> NDArray[np.bool_]:
        """Which of the authors, all of the surname that is wanted, fit one of the forms."""
        given_names = self._records.given_names(authors)
        family = wanted[0].family
        fits = {
            given: any(
                form.fits(NameForm(family, *own)) for form in wanted for own in given_forms(given)
            )
            for given in dict.fromkeys(given_names)
        }
        return np.array([fits[given] for given in given_names], np.bool_)

    def of_terms(self, terms: Sequence[Any]) -> NDArray[np.int64]:
        """Rows whose venue has one of the terms, given by their hashes, rising."""
        has = np.isin(self._term, np.array(terms, np.uint32))
        owner = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))
        groups = np.zeros(len(self._starts) - 1, np.bool_)
        groups[owner[has]] = True
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
