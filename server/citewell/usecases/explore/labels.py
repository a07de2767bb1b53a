"""Labels of a screening tool as feedback: papers that answer the question, and papers that do not.

ASReview exports a table (`asreview_label`, in older versions `included`: 1 is relevant, 0 is not,
anything else was not screened) or RIS, whose notes (`N1`) hold "ASReview_relevant" or
"ASReview_irrelevant".
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.engine.contract import Engine
from citewell.features.citing.named_works import works_named
from citewell.model import CitewellError, Problem

MAX_BYTES = 100_000_000
MAX_FIELD = 131_072
"""Characters of one field."""
COLUMNS = (
    "asreview_label", "final_included", "label", "label_included", "included_label",
    "included_final", "included", "included_flag", "include",
)  # fmt: skip
"""Names of the column that has the label; the first one that there is counts."""
_TITLES = ("title", "primary_title")
_NOTE = re.compile(r"\bASReview_(relevant|irrelevant|not_seen)\b")
_RIS_LINE = re.compile(r"^([A-Z][A-Z0-9])  - ?(.*)$")


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A screened record."""

    relevant: bool
    id: str = ""
    """As Citewell exported it."""
    doi: str = ""
    title: str = ""


class ScreenedRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The screened records of a file that the library has."""

    kept: tuple[str, ...] = ()
    """Ids of the relevant ones."""
    rejected: tuple[str, ...] = ()
    """Ids of the others."""
    unknown: tuple[str, ...] = ()
    """Titles of screened records that no record of the library is."""


def read_labels(path: Path) -> list[Label]:
    """The screened records of a table or a RIS file. Raises `CitewellError` for a file that cannot
    be read or has no labels."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise _unreadable(path, "it is too large")
    text = _decoded(data)
    if re.search(r"^TY  -", text, re.MULTILINE):
        if not _NOTE.search(text):
            raise _unreadable(path, "no note (N1) is ASReview_relevant or ASReview_irrelevant")
        return list(_of_ris(text))
    try:
        return list(_of_table(text, path))
    except csv.Error as error:
        raise _unreadable(path, str(error)) from error


def feedback_of(engine: Engine, labels: list[Label]) -> ScreenedRecords:
    """The labels as ids of the library: by id, DOI, or exact title. A record that is labelled
    twice is relevant if one of its labels is."""
    ids = _ids(engine, labels)
    kept = dict.fromkeys(
        name for one, name in zip(labels, ids, strict=True) if name and one.relevant
    )
    rejected = dict.fromkeys(
        name for one, name in zip(labels, ids, strict=True) if name and not one.relevant
    )
    return ScreenedRecords(
        kept=tuple(kept),
        rejected=tuple(name for name in rejected if name not in kept),
        unknown=tuple(
            one.title or one.doi or one.id
            for one, name in zip(labels, ids, strict=True)
            if not name
        ),
    )


def _ids(engine: Engine, labels: list[Label]) -> list[str]:
    """The id of the record of each label; empty where there is none."""
    found = [work.id if work else "" for work in engine.works([one.id for one in labels])]
    for name in ("doi", "title"):
        rest = [n for n, known in enumerate(found) if not known and getattr(labels[n], name)]
        if name == "doi":
            named = works_named(engine, [labels[n].doi for n in rest])
        else:
            named = [next(iter(engine.lookup(title=labels[n].title)), None) for n in rest]
        for number, work in zip(rest, named, strict=True):
            found[number] = work.id if work else ""
    return found


def _of_table(text: str, path: Path) -> Iterator[Label]:
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    csv.field_size_limit(MAX_FIELD)  # one limit for the process: importers allow more
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = {name.strip().lower(): name for name in rows.fieldnames or () if name}
    column = next((names[name] for name in COLUMNS if name in names), None)
    if column is None:
        raise _unreadable(path, f"no column is called {COLUMNS[0]} or {COLUMNS[6]}")
    title = next((names[name] for name in _TITLES if name in names), "")

    def value(row: dict[str, str], name: str) -> str:
        return " ".join((row.get(name) or "").split())

    for row in rows:
        label = value(row, column)
        if label not in ("0", "1", "0.0", "1.0"):
            continue
        yield Label(
            relevant=label.startswith("1"),
            id=value(row, names.get("id", "")),
            doi=value(row, names.get("doi", "")),
            title=value(row, title),
        )


def _of_ris(text: str) -> Iterator[Label]:
    fields: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        match = _RIS_LINE.match(line.lstrip("\ufeff"))
        if match is None:
            # A continued note.
            label = (_NOTE.findall(line) or [label])[-1]
            continue
        tag, value = match[1], match[2].strip()
        if tag == "TY":
            fields, label = {}, ""
        elif tag == "ER":
            if label in ("relevant", "irrelevant"):
                yield Label(
                    relevant=label == "relevant",
                    id=fields.get("ID", ""),
                    doi=fields.get("DO", ""),
                    title=fields.get("TI", "") or fields.get("T1", ""),
                )
            fields, label = {}, ""
        else:
            fields.setdefault(tag, value)
            if tag == "N1":
                label = (_NOTE.findall(value) or [label])[-1]


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _unreadable(path: Path, reason: str) -> CitewellError:
    return CitewellError(
        Problem(
            "labels-unreadable",
            f"The labels cannot be read: {reason}.",
            "Give the CSV or RIS file that ASReview exported.",
            str(path),
        )
    )
