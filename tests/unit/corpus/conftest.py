"""A small library, really built, for the tests that read one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.library import Library
from citewell_corpus.build import build_library
from citewell_corpus.sources import source_at

PAPERS: list[dict[str, Any]] = [
    {
        "id": "1999.test-main.1",
        "title": "Walking on Graphs with Attention",
        "authors": ["Ada Lovelace", "Grace Hopper"],
        "year": 1999,
        "kind": "inproceedings",
        "venue": "TEST",
        "booktitle": "Proceedings of the First Test Conference",
        "doi": "10.5555/Test.1",
        "bibkey": "lovelace-hopper-1999-walking",
        "abstract": "We walk on graphs. " * 20,
        "url": "https://aclanthology.org/1999.test-main.1",
        "source": "acl-anthology",
        "citations": 7,
    },
    {
        "id": "x:two",
        "title": "A Preprint about $k$-Means",
        "authors": ["Jan van der Berg"],
        "year": 2021,
        "kind": "misc",
        "arxiv": "2101.00001v3",
        "source": "made-up",
    },
    {"id": "x:three", "title": "Überraschung: ein Titel", "year": 2005, "source": "made-up"},
    {
        "id": "x:four",
        "title": "Walking on graphs, with attention",
        "authors": ["Somebody Else"],
        "year": 2015,
        "kind": "article",
        "journal": "Journal of Other Walks",
        "source": "made-up",
    },
]


@pytest.fixture
def folder(tmp_path: Path, write_jsonl: Callable[..., Path]) -> Path:
    """Folder of a library with the four papers, without indexes."""
    source = write_jsonl(tmp_path / "papers.jsonl", PAPERS)
    build_library(tmp_path / "library", add=[source_at(str(source))])
    return tmp_path / "library"


@pytest.fixture
def library(folder: Path) -> Iterator[Library]:
    with Library.open(folder) as opened:
        yield opened
