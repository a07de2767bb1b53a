"""Libraries for evaluation, built once from corpus files or a data set's own corpus, and cached."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import FORMAT
from citewell.model import Work
from citewell.options import Options
from citewell_corpus.build import BuildReport, build_library, default_builders
from citewell_corpus.processes import Progress
from citewell_corpus.sources import source_at
from citewell_lab.datasets.contract import DataSet, refuse

LIBRARY = "library"
PATIENCE = 900.0
"""Seconds to wait while another process builds the same library."""
_BLOCK = 1 << 20


def cached_library(
    corpora: Sequence[Path],
    cache: Path,
    options: Options,
    progress: Progress | None = None,
    *,
    patience: float = PATIENCE,
) -> tuple[Path, BuildReport]:
    """The folder of an up-to-date library of these files, and the report of its build.

    The folder's name is a hash of the files' contents; indexes of other builders or encoder weights
    are rebuilt in place. Raises `LibraryError` if a file is missing or of unknown format.
    """
    sources = [source_at(str(path)) for path in corpora]
    folder = cache / "libraries" / content_key(corpora) / LIBRARY
    builders = default_builders(options)
    deadline = time.monotonic() + patience
    while True:
        try:
            report = build_library(folder, add=sources, builders=builders, progress=progress)
            return folder, report
        except LibraryError as error:
            if error.problem.code != "library-locked" or time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def content_key(paths: Sequence[Path]) -> str:
    """Hash of the bytes of the files, their order, and the format."""
    digest = hashlib.sha256(str(FORMAT).encode())
    for path in paths:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
        digest.update(b"\0")
    return digest.hexdigest()[:16]


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
