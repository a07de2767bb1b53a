"""Merges several sources' answers about one work, keeping the sources of each field's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from citewell.model import Work
from citewell.model.titles import fold, normalise_title, title_key
from citewell.sources.combine import combine

FIELDS = (
    "title", "authors", "year", "kind", "venue", "booktitle", "journal", "volume", "issue",
    "pages", "publisher", "doi", "arxiv", "retracted",
)  # fmt: skip
_PLACES = frozenset({"venue", "booktitle", "journal", "publisher", "kind"})
"""Sources name the same place in many ways: a difference there is no contradiction."""


class Value(msgspec.Struct, frozen=True):
    """One value of a field, and the sources that give it."""

    text: str
    sources: tuple[str, ...]


class MergedRecords(msgspec.Struct, frozen=True):
    """The work that some records describe, and the value of each field in each source."""

    work: Work
    values_by_field: Mapping[str, tuple[Value, ...]]
    """Field -> its different values, the one that most sources give first."""

    @property
    def conflicts(self) -> dict[str, tuple[Value, ...]]:
        """The fields in which sources contradict each other."""
        return {
            name: values
            for name, values in self.values_by_field.items()
            if len(values) > 1 and name not in _PLACES
        }


def merge(records: Sequence[Work]) -> MergedRecords:
    """The work of one or more records of it; fields are taken by trust, contradictions stay."""
    values_by_field: dict[str, tuple[Value, ...]] = {}
    for name in FIELDS:
        found: dict[str, tuple[str, list[str]]] = {}
        for record in records:
            text = _text(record, name)
            if text:
                source = record.provenance[0].source if record.provenance else record.id
                known = found.setdefault(_alike(name, record, text), (text, []))[1]
                if source not in known:
                    known.append(source)
        values = [Value(text, tuple(sources)) for text, sources in found.values()]
        if values:
            values_by_field[name] = tuple(sorted(values, key=lambda value: -len(value.sources)))
    return MergedRecords(combine(records), values_by_field)


def same_works(records: Sequence[Work]) -> list[list[Work]]:
    """The records grouped by work, in the order of each group's first record.

    By DOI or arXiv identifier, or by title and a common family name.
    """
    groups: list[list[Work]] = []
    by_key: dict[tuple[str, str], int] = {}
    for record in records:
        keys = list(_keys(record))
        at = next((by_key[key] for key in keys if key in by_key), None)
        if at is None:
            at = len(groups)
            groups.append([])
        groups[at].append(record)
        for key in keys:
            by_key.setdefault(key, at)
    return groups


def _keys(work: Work) -> list[tuple[str, str]]:
    keys = [("doi", work.doi)] if work.doi else []
    if work.arxiv:
        keys.append(("arxiv", work.arxiv))
    title = title_key(work.title)
    families = [fold(author.family) for author in work.authors[:1]] or [""]
    return [*keys, *((f"title {title}", family) for family in families if len(title) >= 12)]


def _text(work: Work, name: str) -> str:
    value = getattr(work, name)
    if name == "authors":
        return "; ".join(author.display for author in work.authors)
    if name == "retracted":
        return "yes" if value else ""
    return "" if value is None else str(value)


def _alike(name: str, work: Work, text: str) -> str:
    """The form in which two sources say the same."""
    if name == "authors":
        return " ".join(fold(author.family) for author in work.authors)
    if name == "title":
        return title_key(text)
    if name == "pages":
        return text.partition("-")[0]
    return normalise_title(text) or text
