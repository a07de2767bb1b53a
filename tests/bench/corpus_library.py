"""The library that a benchmark measures on when none is named: of the public data beside the
checkout, built once and kept under `.cache`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell.options import Options
from citewell_lab.datasets.cached_library import cached_library

REPOSITORY = Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY.parent / "shared" / "data" / "corpus"


def corpus_library(names: Sequence[str] = ("acl", "ml")) -> Path | None:
    """Its folder; None, and a word why, where the data is not there."""
    files = [CORPUS / f"{name}.jsonl.zst" for name in names]
    if not all(path.exists() for path in files):
        print(f"skipped: needs {CORPUS}")
        return None
    return cached_library(files, REPOSITORY / ".cache", Options())[0]
