"""A library of a few records, as a user would build it, and an engine over it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import FileSource


def options_of(records: Iterable[Mapping[str, Any]], folder: Path) -> Options:
    """Builds the library in `folder`; the settings that name it."""
    path = folder / "records.jsonl"
    lines = "".join(json.dumps(one) + "\n" for one in records)
    path.write_text(lines, encoding="utf-8")
    base = Options()
    build_library(
        folder / "small",
        add=[FileSource(path=str(path), format="records")],
        builders=default_builders(base),
    )
    return replace(base, library=replace(base.library, path=folder, name="small"))


def engine_of(records: Iterable[Mapping[str, Any]], folder: Path) -> LocalEngine:
    """An engine over the library of the records; nothing is learned from use."""
    options = options_of(records, folder)
    return LocalEngine.open(replace(options, learning=replace(options.learning, enabled=False)))
