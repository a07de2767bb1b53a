"""Reference sets: the entries of HALLMARK, and references from papers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from citewell.model.check import Claim, LabelledReference
from citewell.model.fields import VENUE_FIELDS
from citewell.verification.claims import make_claim
from citewell.verification.free_text import parse_reference
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek

_YEAR = re.compile(r"(?:1[5-9]|2\d)\d\d")
_VENUES = (*VENUE_FIELDS, "howpublished")
_VALID = frozenset({"valid", "not_fabricated"})
_NOTES = (
    "Abstaining: a reference that is not found or not checked counts as not flagged. "
    "Strict: it counts as flagged.",
    "The tuning half is where a hash of the id is even; the reporting half is the rest.",
)


class _HallmarkEntry(msgspec.Struct):
    bibtex_key: str
    label: str
    fields: dict[str, str | int | None]
    bibtex_type: str = "misc"
    hallucination_type: str | None = None
    difficulty_tier: int | None = None


class _PrintedReference(msgspec.Struct):
    ref_title: str = ""
    ref_authors_cited: str = ""
    ref_year_cited: str | int | None = None
    ref_venue_cited: str = ""
    ref_url_cited: str | None = None


class _Written(msgspec.Struct):
    id: str
    label: str
    text: str | None = None
    fields: dict[str, str | int | None] | None = None
    bibtex_type: str = "misc"
    ref: _PrintedReference | None = None


class Hallmark:
    """HALLMARK: BibTeX entries labelled valid, or hallucinated with a type."""

    name = "hallmark"
    kind: Kind = "references"
    description = "HALLMARK: .bib entries, valid or hallucinated, by type"

    def fits(self, peek: Peek) -> bool:
        return peek.shape == "lines" and {"bibtex_key", "fields", "label"} <= peek.first.keys()

    def read(self, path: Path) -> DataSet:
        return _read(self.name, path, _HallmarkEntry, _hallmark)


class WrittenReferences:
    """Judged references as text, as fields, or as parsed by another checker."""

    name = "references"
    kind: Kind = "references"
    description = "references as text or BibTeX: fabricated, wrong detail, or valid"

    def fits(self, peek: Peek) -> bool:
        keys = peek.first.keys()
        return peek.shape == "lines" and {"id", "label"} <= keys and bool({"text", "ref"} & keys)

    def read(self, path: Path) -> DataSet:
        return _read(self.name, path, _Written, _written)


Record = TypeVar("Record", _HallmarkEntry, _Written)


def _read(
    name: str, path: Path, kind: type[Record], make: Callable[[Record], LabelledReference | str]
) -> DataSet:
    reading = DataSetReading(path)
    found: list[LabelledReference] = []
    for number, record in source.records(path, kind, reading):
        made = make(record)
        if isinstance(made, str):
            reading.bad(made, number)
        else:
            found.append(made)
            reading.count("valid" if made.valid else "not valid")
    reading.count("references", len(found))
    return DataSet(
        name=path.name.split(".")[0],
        schema=name,
        path=str(path),
        kind="references",
        references=tuple(found),
        counts=reading.counts,
        notes=_NOTES,
        problems=tuple(reading.problems),
    )


def _hallmark(record: _HallmarkEntry) -> LabelledReference:
    valid = record.label.strip().lower() == "valid"
    return LabelledReference(
        id=record.bibtex_key,
        claim=_entry(record.bibtex_key, record.bibtex_type, record.fields),
        valid=valid,
        kind="valid" if valid else record.hallucination_type or "hallucinated",
        tier=record.difficulty_tier,
    )


def _written(record: _Written) -> LabelledReference | str:
    label = record.label.strip().lower()
    valid = label in _VALID
    if record.fields:
        claim = _entry(record.id, record.bibtex_type, record.fields)
    elif record.text:
        claim = parse_reference(record.text)
    elif record.ref is not None:
        claim = _cited(record.id, record.ref)
    else:
        return "The record has neither text nor fields."
    kind = "valid" if valid else label.removeprefix("wrong_detail:")
    return LabelledReference(id=record.id, claim=claim, valid=valid, kind=kind)


def _cited(key: str, ref: _PrintedReference) -> Claim:
    fields: dict[str, str | int | None] = {
        "title": ref.ref_title,
        "author": " and ".join(re.split(r",\s*|\s+and\s+", ref.ref_authors_cited)),
        "booktitle": ref.ref_venue_cited,
        "year": ref.ref_year_cited,
        "url": ref.ref_url_cited,
    }
    return _entry(key, "misc", fields)


def _entry(key: str, kind: str, fields: dict[str, str | int | None]) -> Claim:
    values = {name.lower(): str(value) for name, value in fields.items() if value not in (None, "")}
    venue = next((name for name in _VENUES if values.get(name)), "")
    year = _YEAR.search(values.get("year", "") or values.get("date", ""))
    return make_claim(
        {**values, "venue": values.get(venue, "")},
        key=key,
        kind=kind.lower(),
        year=int(year.group()) if year else None,
        venue_field=venue,
    )
