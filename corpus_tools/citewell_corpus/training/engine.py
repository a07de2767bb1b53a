"""Opens a library as the trainers of rankers need it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.ranking.contract import Ranker


def open_library(library: Path, ranker: Ranker) -> LocalEngine:
    """The engine with this ranker; nothing that was learned from use, nothing of sources."""
    options = Options()
    options = replace(
        options,
        library=replace(options.library, path=library.parent, name=library.name, starter=False),
        learning=replace(options.learning, enabled=False),
        sources=replace(options.sources, keep=False),
    )
    return LocalEngine.open(options, ranker=ranker)
