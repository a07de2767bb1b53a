"""A library of a data set's own corpus, built once and kept in the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from citewell.model import Work
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.datasets.contract import DataSet, refuse
from citewell_corpus.progress import Progress
from citewell_corpus.sources import Source

_RECORDS = "corpus.jsonl"


def library_of(data: DataSet, cache: Path, options: Options, progress: Progress) -> Path:
    """The folder of the library, made or brought up to date below `cache`.

    Raises `DataSetError` when the data set brings no corpus, `LibraryError` when the build fails.
    """
    if data.works is None:
        raise refuse(
            "data-set-no-corpus",
            f"The {data.schema} data at hand has no corpus of its own.",
            "Put the corpus file beside it, or evaluate with --library.",
            data.path,
        )
    place = cache / f"{data.schema}-{_key(data)}"
    records = place / _RECORDS
    if not records.is_file():
        place.mkdir(parents=True, exist_ok=True)
        part = place / f"{_RECORDS}.part"
        with part.open("wb") as stream:
            for work in data.works():
                stream.write(msgspec.json.encode(_record(work, data.schema)) + b"\n")
        part.replace(records)
    library = place / "library"
    build_library(
        library,
        add=[Source(path=str(records), format="records")],
        builders=default_builders(options),
        progress=progress,
    )
    return library


def _record(work: Work, schema: str) -> dict[str, Any]:
    return {
        "id": work.id,
        "title": work.title,
        "abstract": work.abstract,
        "bibkey": work.bibkey,
        "kind": work.kind,
        "source": schema,
    }


def _key(data: DataSet) -> str:
    """Changes when a file of the data set does."""
    path = Path(data.path).resolve()
    files = sorted(path.rglob("*") if path.is_dir() else path.parent.glob("*"))
    facts = [str(path)]
    for file in files:
        if file.is_file():
            state = file.stat()
            facts.append(f"{file.name}:{state.st_size}:{state.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode("utf-8")).hexdigest()[:16]
