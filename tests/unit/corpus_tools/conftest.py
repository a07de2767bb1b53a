"""Made-up records, an index builder small enough to look through, and libraries built for real."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.library import Library
from citewell.model import Work
from citewell_corpus.build import BuildReport, build_library
from citewell_corpus.importers import ImportReport, find_importer
from citewell_corpus.sources import source_at

_WORDS = (
    *("attention", "graph", "neural", "parsing", "translation", "sparse", "kernel", "bandit"),
    *("regret", "policy", "gradient", "token", "latent", "causal", "robust", "query", "index"),
    *("corpus", "citation", "entity", "summary", "dialogue", "speech", "vision", "depth"),
    *("pose", "scene", "motion", "segment", "label", "noise", "bound", "convex", "stochastic"),
)
_NAMES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy", "Larch")


class WordIndex:
    """An index builder of the plainest kind: which rows hold a title word, as JSON."""

    name = "words"

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.built: list[int] = []
        """Number of works of each call, to see what was indexed anew."""

    def fingerprint(self) -> Mapping[str, Any]:
        return {"version": self.version}

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        table: dict[str, list[int]] = {}
        for row, work in enumerate(works()):
            for word in set(work.title.lower().split()):
                table.setdefault(word, []).append(row)
        self.built.append(count)
        (into / "words.json").write_text(json.dumps(table), encoding="utf-8")
        progress(count)


@pytest.fixture
def word_index() -> Callable[..., WordIndex]:
    return WordIndex


@pytest.fixture(scope="session")
def made_up() -> Callable[..., list[dict[str, Any]]]:
    """`made_up(n, seed)`: n records of different papers, the same every time."""

    def make(count: int, seed: int = 0, source: str = "made-up") -> list[dict[str, Any]]:
        dice = random.Random(seed)
        return [
            {
                "id": f"{source}:{seed}-{number}",
                "title": f"{' '.join(dice.sample(_WORDS, 5))} {seed} {number}".capitalize(),
                "authors": [f"Kim {name}" for name in dice.sample(_NAMES, 3)],
                "year": dice.randint(1990, 2025),
                "kind": "inproceedings",
                "booktitle": f"Proceedings of Conference {number % 7}",
                "pages": f"{number}--{number + 9}",
                "abstract": " ".join(dice.choices(_WORDS, k=80)),
                "source": source,
            }
            for number in range(count)
        ]

    return make


@pytest.fixture
def read_works() -> Callable[[Path], tuple[list[Work], ImportReport]]:
    """Read a file with whichever importer recognises it."""

    def read(path: Path) -> tuple[list[Work], ImportReport]:
        importer = find_importer(path)
        assert importer is not None, f"{path} was not recognised"
        report = ImportReport()
        return list(importer.read(path, report)), report

    return read


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., BuildReport]:
    """`build(*paths)`: add the files to the library in `tmp_path / "library"`."""

    def run(*paths: Path, **how: Any) -> BuildReport:
        sources = [source_at(str(path)) for path in paths]
        return build_library(tmp_path / "library", add=sources, **how)

    return run


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Library]]:
    """Open that library; closed at the end of the test."""
    libraries = []

    def open_library() -> Library:
        libraries.append(Library.open(tmp_path / "library"))
        return libraries[-1]

    yield open_library
    for library in libraries:
        library.close()
