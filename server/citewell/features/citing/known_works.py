"""Which entry of the project is this paper? `find_work`, for many papers and large .bib files."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from citewell.documents.bib.match import same_work
from citewell.model import Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_body import NO_IDENTITY
from citewell.model.cancel import cooperative
from citewell.model.identifiers import (
    Identifier,
    address_key,
    arxiv_id,
    identifier_of,
    normalise_doi,
)
from citewell.model.titles import title_key

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
    """Row numbers by a number that the rows have; in arrays, since a file has many entries."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        """Row i has `numbers[i]`; one that has 0 is left out."""
        rows = np.flatnonzero(numbers)
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        self._numbers = array("q", numbers[rows].tobytes())
        self._rows = array("i", rows.astype(np.int32).tobytes())

    def __len__(self) -> int:
        return len(self._numbers)

    def rows(self, number: int) -> array[int]:
        """The rows with a number, ascending."""
        low = bisect_left(self._numbers, number)
        return self._rows[low : bisect_right(self._numbers, number, lo=low)]


class KnownWorks:
    """The entries of some .bib files by DOI, arXiv identifier and title. Immutable.

    What it asks of an entry is remembered by the entry's body, so that building it again after an
    edit costs a walk over the entries and no parsing.
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
        """The entry that describes the work, with the path of its .bib: by DOI, then by arXiv
        identifier, then by title where authors and years agree."""
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
