"""The records behind a work of a library, with their differences."""

from __future__ import annotations

import msgspec

from citewell.corpus.library import Library
from citewell.model.identifiers import identifier_of
from citewell.model.work import RecordVariant, Work

_FIELDS = ("title", "authors", "year", "venue", "booktitle", "journal", "doi")


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One record that was merged into a work."""

    source: str
    source_id: str
    retrieved: str
    """ISO 8601 date; empty when unknown."""
    differs: dict[str, str]
    """Field -> this record's value, where it differs from the merged work."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A work and the records merged into it."""

    work: Work
    added_from: tuple[str, ...]
    """Sources of the library that contain a record of it."""
    records: tuple[SourceRecord, ...]


def explain(library: Library, name: str) -> list[Explanation]:
    """The works identified by an id of the library or of a merged record, a DOI, an arXiv id, a
    citation key of a source, or a full title; empty if there is none."""
    row = int(library.rows_of([name])[0])
    if row >= 0:
        return [_explained(library, row)]
    found = identifier_of(name)
    works = library.lookup(
        doi=found.doi if found else "", arxiv=found.arxiv if found else "", title=name, bibkey=name
    )
    return [_explained(library, int(library.rows_of([work.id])[0])) for work in works]


def _explained(library: Library, row: int) -> Explanation:
    work = library.works([row], whole=True)[0]
    variants: dict[str, RecordVariant] = {
        source: variant for variant in work.variants for source in variant.sources
    }
    return Explanation(
        work=work,
        added_from=library.origins_of(row),
        records=tuple(
            SourceRecord(
                source=origin.source,
                source_id=origin.source_id,
                retrieved=origin.retrieved,
                differs=_differences(variants.get(origin.source)),
            )
            for origin in work.provenance
        ),
    )


def _differences(variant: RecordVariant | None) -> dict[str, str]:
    if variant is None:
        return {}
    values = {name: getattr(variant, name) for name in _FIELDS}
    if values["authors"]:
        values["authors"] = "; ".join(author.display for author in variant.authors)
    return {name: str(value) for name, value in values.items() if value}
