"""A library of the fixtures' papers, opened once, and records as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LearningOptions, LibraryOptions

PAPERS = sorted((Path(__file__).parents[1] / "fixtures").glob("*papers.jsonl"))


@pytest.fixture(scope="session")
def paper_options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Settings whose library holds the fixtures' papers; nothing is learned from use."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import source_at

    options, folder = Options(), tmp_path_factory.mktemp("papers")
    sources = [source_at(str(path)) for path in PAPERS]
    build_library(folder / "default", add=sources, builders=default_builders(options))
    return replace(
        options,
        library=LibraryOptions(path=folder),
        learning=LearningOptions(enabled=False),
        # On a busy machine a retriever that is late would change what is found.
        retrieval=replace(options.retrieval, timeout_ms=60_000),
    )


@pytest.fixture(scope="session")
def paper_engine(paper_options: Options) -> Iterator[LocalEngine]:
    engine = LocalEngine.open(paper_options)
    engine.load(60)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def write_jsonl() -> Callable[[Path, Iterable[dict[str, Any]]], Path]:
    def write(path: Path, records: Iterable[dict[str, Any]]) -> Path:
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        path.write_text(text, encoding="utf-8")
        return path

    return write
