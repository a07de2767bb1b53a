"""Variants of a merged work: the values of each record, where the records disagree.

Merging takes every field from one record. The others stay as variants, because a reference that
agrees with any credible record of its work is no mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from citewell.model.names import is_cut
from citewell.model.titles import fold, normalise_title, title_key
from citewell.model.work import Author, RecordVariant, Work

MOST = 16
"""Variants that one work keeps; a work with more is a cluster of mistakes."""
_PLACES = ("venue", "booktitle", "journal")


def variants_of(merged: Work, records: Sequence[Work]) -> tuple[RecordVariant, ...]:
    """The values of the records that differ from `merged`, their own variants included.

    At most `MOST`, in the order of the records; records that say the same share a variant.
    """
    found: dict[RecordVariant, dict[str, None]] = {}
    for record in records:
        for statement in statements(record):
            variant = _difference(statement, merged)
            if variant is not None:
                found.setdefault(variant, {}).update(dict.fromkeys(statement.sources))
    return tuple(
        msgspec.structs.replace(variant, sources=tuple(sources))
        for variant, sources in list(found.items())[:MOST]
    )


def statements(work: Work) -> tuple[RecordVariant, ...]:
    """Every record of the work with all its fields, the merged one first."""
    varied = {source for variant in work.variants for source in variant.sources}
    agreeing = dict.fromkeys(p.source for p in work.provenance if p.source not in varied)
    first = RecordVariant(
        sources=tuple(agreeing),
        title=work.title,
        authors=work.authors,
        year=work.year,
        venue=work.venue,
        booktitle=work.booktitle,
        journal=work.journal,
        doi=work.doi,
    )
    return (first, *(_filled(variant, first) for variant in work.variants))


def records_of(work: Work) -> tuple[Work, ...]:
    """The work as each of its records describes it, the merged record first.

    Each has the provenance of its own sources; the identifiers are those of the work.
    """
    if not work.variants:
        return (work,)
    found = []
    for number, one in enumerate(statements(work)):
        changes: dict[str, object] = {} if number == 0 else _values(one)
        if one.authors != work.authors:
            changes["others"] = is_cut(one.authors, one.sources)
        origins = tuple(p for p in work.provenance if p.source in one.sources)
        found.append(msgspec.structs.replace(work, **changes, provenance=origins, variants=()))
    return tuple(found)


def without_sources(work: Work, sources: Collection[str]) -> Work:
    """The work without the variants that only these sources gave."""
    kept = tuple(one for one in work.variants if not set(one.sources) <= set(sources))
    return msgspec.structs.replace(work, variants=kept) if kept != work.variants else work


def same_names(one: Sequence[Author], other: Sequence[Author]) -> bool:
    """True when two author lists are spelt alike, accents and case aside."""
    return [fold(a.display) for a in one] == [fold(a.display) for a in other]


def _values(variant: RecordVariant) -> dict[str, object]:
    return {
        "title": variant.title,
        "authors": variant.authors,
        "year": variant.year,
        "venue": variant.venue,
        "booktitle": variant.booktitle,
        "journal": variant.journal,
    }


def _filled(variant: RecordVariant, first: RecordVariant) -> RecordVariant:
    """The variant with what it shares with the merged record.

    A variant that names a place names all of them: the merged record's journal is not its own.
    """
    elsewhere = any(getattr(variant, name) for name in _PLACES)
    return RecordVariant(
        sources=variant.sources,
        title=variant.title or first.title,
        authors=variant.authors or first.authors,
        year=variant.year if variant.year is not None else first.year,
        venue=variant.venue if elsewhere else first.venue,
        booktitle=variant.booktitle if elsewhere else first.booktitle,
        journal=variant.journal if elsewhere else first.journal,
        doi=variant.doi or first.doi,
    )


def _difference(statement: RecordVariant, merged: Work) -> RecordVariant | None:
    """What of the statement is not in the merged record, without sources; None for nothing."""
    title = statement.title if title_key(statement.title) != title_key(merged.title) else ""
    authors = () if same_names(statement.authors, merged.authors) else statement.authors
    year = statement.year if statement.year != merged.year else None
    doi = statement.doi if statement.doi != merged.doi else ""
    places = [getattr(statement, name) for name in _PLACES]
    known = {normalise_title(getattr(merged, name)) for name in _PLACES} - {""}
    moved = any(place and normalise_title(place) not in known for place in places)
    venue, booktitle, journal = places if moved else ("", "", "")
    if not (title or authors or year is not None or doi or moved):
        return None
    return RecordVariant(
        sources=(),
        title=title,
        authors=authors,
        year=year,
        venue=venue,
        booktitle=booktitle,
        journal=journal,
        doi=doi,
    )
