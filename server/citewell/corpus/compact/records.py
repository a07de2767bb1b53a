"""The fields of a work in a compact segment, and their conversion to and from a `Work`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import load_table, save_table
from citewell.model import Author, Work
from citewell.model.identifiers import arxiv_id, plain_arxiv_venue
from citewell.model.names import is_cut
from citewell.model.work import Provenance, RecordVariant

_ID, _DOI, _UPPER = "\x01", "\x02", "\x03"
_BETWEEN = "\x1f"


class Variant(msgspec.Struct, frozen=True, array_like=True):
    """A `RecordVariant` with venue, booktitle and journal as label numbers."""

    sources: tuple[int, ...]
    title: str
    authors: tuple[Author, ...]
    year: int | None
    venue: int
    booktitle: int
    journal: int
    doi: str


class CompactRecord(msgspec.Struct, frozen=True, array_like=True):
    """The fields of a work that have no column of their own."""

    id: str
    volume: str = ""
    issue: str = ""
    pages: str = ""
    doi: str = ""
    arxiv: str = ""
    url: str = ""
    bibkey: str = ""
    same_as: tuple[str, ...] = ()
    provenance: tuple[tuple[int, int | str], ...] = ()
    """Number of the source; then the number k of the id in `same_as` that is the source's own, -1 -
    k if the source omits its prefix, or any other id verbatim."""
    variants: tuple[Variant, ...] = ()
    citations: int | None = None
    retracted: bool = False
    notice: str = ""
    title: str = ""
    """Title that is too long for the column."""
    authors: tuple[Author, ...] = ()
    """Authors that are too many for the column."""


class Shared(msgspec.Struct, frozen=True):
    """Fields shared by the works of one venue and volume, as label numbers."""

    venue: int
    booktitle: int
    journal: int
    publisher: int
    kind: int


class Labels:
    """Assigns numbers to texts in the order of the calls; 0 is the empty text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        """The text's number, assigned if it is new."""
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        """Every text, by number."""
        return list(self._numbers)


def record_of(work: Work, labels: Labels, sources: Labels) -> CompactRecord:
    """The record of a work without title and authors; `work_of` is its inverse."""
    ids = (work.id, *(one for one in work.same_as if one != work.id))
    bare = _bare(work.id)
    doi = work.doi.replace(bare, _ID) if bare else work.doi
    return CompactRecord(
        id=work.id,
        volume=work.volume,
        issue=work.issue,
        pages=work.pages,
        doi=doi,
        arxiv=work.arxiv,
        url=_shorten(work.url, bare, work.doi),
        bibkey=_shorten(work.bibkey, bare, ""),
        same_as=tuple(ids[1:]),
        provenance=tuple(
            (sources.number(origin.source), _own_id(origin.source_id, ids))
            for origin in work.provenance
        ),
        variants=tuple(
            Variant(
                tuple(sources.number(source) for source in variant.sources),
                variant.title,
                variant.authors,
                variant.year,
                labels.number(variant.venue),
                labels.number(variant.booktitle),
                labels.number(variant.journal),
                variant.doi,
            )
            for variant in work.variants
        ),
        citations=work.citations,
        retracted=work.retracted,
        notice=work.notice,
    )


def work_of(
    record: CompactRecord,
    shared: tuple[str, str, str, str, str],
    title: str,
    authors: tuple[Author, ...],
    year: int | None,
    *,
    labels: Sequence[str],
    sources: tuple[str, ...],
) -> Work:
    """The work of a record; `shared` are venue, booktitle, journal, publisher and kind."""
    ids = (record.id, *record.same_as)
    bare = _bare(record.id)
    doi = record.doi.replace(_ID, bare)
    venue, booktitle, journal, publisher, kind = shared
    authors = record.authors or authors
    variants = tuple(
        RecordVariant(
            sources=tuple(sources[source] for source in variant.sources),
            title=variant.title,
            authors=variant.authors,
            year=variant.year,
            venue=labels[variant.venue],
            booktitle=labels[variant.booktitle],
            journal=labels[variant.journal],
            doi=variant.doi,
        )
        for variant in record.variants
    )
    varied = {source for variant in variants if variant.authors for source in variant.sources}
    agreeing = {sources[source] for source, _ in record.provenance} - varied
    return Work(
        id=record.id,
        title=record.title or title,
        authors=authors,
        others=is_cut(authors, agreeing, record.id),
        year=year,
        kind=kind,
        venue=venue,
        booktitle=booktitle,
        journal=plain_arxiv_venue(journal),
        volume=record.volume,
        issue=record.issue,
        pages=record.pages,
        publisher=publisher,
        doi=doi,
        arxiv=record.arxiv or arxiv_id(plain_arxiv_venue(journal)),
        url=_expand(record.url, bare, doi),
        bibkey=_expand(record.bibkey, bare, ""),
        citations=record.citations,
        retracted=record.retracted,
        notice=record.notice,
        same_as=ids,
        provenance=tuple(
            Provenance(source=sources[source], source_id=_full_id(own, ids))
            for source, own in record.provenance
        ),
        variants=variants,
    )


def author_text(author: Author) -> str:
    """An author as one text; `author_of` is its inverse."""
    parts = (author.family, author.given, author.suffix)
    return _BETWEEN.join(parts if author.suffix else parts[: 2 if author.given else 1])


def author_of(text: str) -> Author:
    """The author of a text."""
    return Author(*text.split(_BETWEEN))


def given_of(text: str) -> str:
    """The given names in the text of an author."""
    return text.split(_BETWEEN, 2)[1] if _BETWEEN in text else ""


def _bare(identifier: str) -> str:
    return identifier.partition(":")[2]


def _shorten(text: str, bare: str, doi: str) -> str:
    if doi and doi in text:
        text = text.replace(doi, _DOI)
    elif doi and doi.upper() in text:
        text = text.replace(doi.upper(), _UPPER)
    elif bare and bare in text:
        text = text.replace(bare, _ID)
    return text


def _expand(text: str, bare: str, doi: str) -> str:
    return text.replace(_DOI, doi).replace(_UPPER, doi.upper()).replace(_ID, bare)


def _own_id(source_id: str, ids: tuple[str, ...]) -> int | str:
    if source_id in ids:
        return ids.index(source_id)
    bare = [_bare(one) for one in ids]
    return -1 - bare.index(source_id) if source_id in bare else source_id


def _full_id(own: int | str, ids: tuple[str, ...]) -> str:
    if isinstance(own, str):
        return own
    return ids[own] if own >= 0 else _bare(ids[-1 - own])


# The positions of a compact segment's papers in their proceedings, as differences of neighbours.
#
# Papers of one volume are adjacent: a number is often one more than the previous one, and a first
# page follows the previous last page.

_BITS, _VOLUME, _KEYS = "minor.zst", "volume.zst", "volume_keys.zst"
_NUMBER, _FIRST, _PAGES = "number.zst", "first_page.zst", "pages.zst"


def save_places(folder: Path, columns: Sequence[NDArray[Any]]) -> None:
    """Write the columns of `corpus.volumes.Places`, in their order."""
    minor, volume, number, first_page, last_page = columns
    folder.mkdir(parents=True, exist_ok=True)
    keys, place = np.unique(volume, return_inverse=True)
    before = np.concatenate([np.zeros(1, np.int32), last_page[:-1]])
    save_table(folder / _BITS, np.packbits(minor))
    save_table(folder / _KEYS, keys)
    save_table(folder / _VOLUME, place.reshape(-1).astype(np.int32))
    save_table(folder / _NUMBER, np.diff(number, prepend=0).astype(np.int32))
    save_table(folder / _FIRST, (first_page - before).astype(np.int32))
    save_table(folder / _PAGES, (last_page - first_page).astype(np.int32))


def load_places(folder: Path, count: int) -> tuple[NDArray[Any], ...] | None:
    """Read the columns written by `save_places`, in its order; None if there are none. Raises
    `OSError` or `ValueError`."""
    if not (folder / _BITS).is_file():
        return None
    minor = np.unpackbits(load_table(folder / _BITS), count=count).astype(np.bool_)
    keys, place = load_table(folder / _KEYS), load_table(folder / _VOLUME)
    number = np.cumsum(load_table(folder / _NUMBER), dtype=np.int32)
    pages = load_table(folder / _PAGES)
    # first[i] is its difference and first[i - 1] + pages[i - 1].
    steps = load_table(folder / _FIRST).astype(np.int64)
    steps[1:] += pages[:-1]
    first = np.cumsum(steps).astype(np.int32)
    if {len(place), len(number), len(pages), len(first)} != {count}:
        raise ValueError("the files do not belong together")
    return minor, keys[place], number, first, first + pages
