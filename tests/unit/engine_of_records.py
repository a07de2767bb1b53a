"""An engine over a library of a few records, as a user would build it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import Source


def engine_of(records: Iterable[Mapping[str, Any]], folder: Path) -> LocalEngine:
    """Builds the library in `folder` and opens it; nothing is learned from use."""
    path = folder / "records.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    base = Options()
    build_library(
        folder / "small",
        add=[Source(path=str(path), format="records")],
        builders=default_builders(base),
    )
    library = replace(base.library, path=folder, name="small")
    learning = replace(base.learning, enabled=False)
    return LocalEngine.open(replace(base, library=library, learning=learning))
