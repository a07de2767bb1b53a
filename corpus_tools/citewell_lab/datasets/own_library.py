"""A library of a data set's own corpus, built once and cached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from citewell.model import Work
from citewell.options import Options
from citewell_corpus.cached import cached_library
from citewell_corpus.progress import Progress
from citewell_lab.datasets.contract import DataSet, refuse


def library_of(
    data: DataSet, cache: Path, options: Options, progress: Progress | None = None
) -> Path:
    """The folder of the library, created or updated below `cache`.

    Raises `DataSetError` if the data set has no corpus, `LibraryError` if the build fails.
    """
    if data.works is None:
        raise refuse(
            "data-set-no-corpus",
            f"This {data.schema} data has no corpus.",
            "Put the corpus file next to it, or search your library without --own-corpus.",
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
