"""A library of a data set's own corpus, built once and kept in the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from citewell.model import Work
from citewell.options import Options
from citewell_corpus.cached import cached_library
from citewell_corpus.datasets.contract import DataSet, refuse
from citewell_corpus.progress import Progress


def library_of(
    data: DataSet, cache: Path, options: Options, progress: Progress | None = None
) -> Path:
    """The folder of the library, made or brought up to date below `cache`.

    Raises `DataSetError` when the data set brings no corpus, `LibraryError` when the build fails.
    """
    if data.works is None:
        raise refuse(
            "data-set-no-corpus",
            f"The {data.schema} data at hand has no corpus of its own.",
            "Put the corpus file beside it, or search your library without --own-corpus.",
            data.path,
        )
    records = cache / "corpora" / f"{data.schema}-{data.name}.jsonl"
    records.parent.mkdir(parents=True, exist_ok=True)
    part = records.with_suffix(".part")
    with part.open("wb") as stream:
        for work in data.works():
            stream.write(msgspec.json.encode(_record(work, data.schema)) + b"\n")
    part.replace(records)
    return cached_library([records], cache, options, progress)[0]


def _record(work: Work, schema: str) -> dict[str, Any]:
    return {
        "id": work.id,
        "title": work.title,
        "abstract": work.abstract,
        "bibkey": work.bibkey,
        "kind": work.kind,
        "source": schema,
    }
