"""Recognises the schema of a file by its first record, and reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell_lab.datasets import source
from citewell_lab.datasets.beir import Beir
from citewell_lab.datasets.citeme import CiteMe
from citewell_lab.datasets.contexts import Contexts
from citewell_lab.datasets.contract import DataSet, Schema, refuse
from citewell_lab.datasets.hatten import Hatten
from citewell_lab.datasets.literature import AutoScholar, SparBench
from citewell_lab.datasets.litsearch import LitSearch, LitSearchMteb
from citewell_lab.datasets.pool import Pool
from citewell_lab.datasets.references import Hallmark, WrittenReferences
from citewell_lab.datasets.scholarcopilot import ScholarCopilot

SCHEMAS: tuple[Schema, ...] = (
    Contexts(),
    AutoScholar(),
    SparBench(),
    ScholarCopilot(),
    LitSearch(),
    LitSearchMteb(),
    CiteMe(),
    Hatten(),
    Hallmark(),
    WrittenReferences(),
    Beir(),
    Pool(),
)
"""In the order of detection: the first match wins."""


def recognise(path: Path, schemas: Sequence[Schema] = SCHEMAS) -> Schema:
    """The schema of the file or folder. Raises `DataSetError` if it is unknown."""
    look = source.peek(path)
    for schema in schemas:
        if schema.fits(look):
            return schema
    fields = ", ".join(sorted(look.first)[:12]) or ", ".join(look.names[:12]) or "nothing"
    raise refuse(
        "data-set-schema",
        f"Unknown schema of {path.name}; its first record has: {fields}.",
        "Give it with --schema: " + ", ".join(schema.name for schema in schemas) + ".",
        path,
    )


def schema_named(name: str, path: Path) -> Schema:
    """The schema with this name. Raises `DataSetError` with the known names."""
    for schema in SCHEMAS:
        if schema.name == name:
            return schema
    raise refuse(
        "data-set-schema",
        f"Unknown schema {name!r}.",
        "Known: " + ", ".join(schema.name for schema in SCHEMAS) + ".",
        path,
    )


def open_data(path: Path, schema: str = "") -> DataSet:
    """The data set at `path`. Raises `DataSetError` if it has nothing to evaluate."""
    if not path.exists():
        source.peek(path)
    chosen = schema_named(schema, path) if schema else recognise(path)
    try:
        data = chosen.read(path)
    except (OSError, EOFError) as error:
        raise refuse(
            "data-set-unreadable", f"The data cannot be read: {error}.", "Check the file.", path
        ) from error
    if not (data.questions if chosen.kind == "questions" else data.references):
        first = f" The first: {data.problems[0].message}" if data.problems else ""
        raise refuse(
            "data-set-empty",
            f"No {chosen.kind[:-1]} could be read as {chosen.name}.{first}",
            "Check the schema.",
            path,
        )
    return data
