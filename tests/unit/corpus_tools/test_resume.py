"""A build that is killed at any moment leaves the library whole, and the next one goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.citing import ARRAYS
from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import digest
from citewell.corpus.library import Library
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

CHILD = """
import sys
from pathlib import Path
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at
from citewell.options import Options

class Told:
    def stage(self, name, total):
        print(name, flush=True)
    def advance(self, steps):
        pass

folder, *sources = sys.argv[1:]
build_library(
    Path(folder),
    add=[source_at(source) for source in sources],
    builders=default_builders(Options()),
    progress=Told(),
)
print("built", flush=True)
"""

STAGES = ("Read", "How others cite", "Merge", "Write", "Index: bm25", "Index: dense", "Seal")


@pytest.fixture(scope="module")
def corpora(
    tmp_path_factory: pytest.TempPathFactory,
    made_up: Callable[..., list[dict[str, Any]]],
    write_jsonl: Callable[..., Path],
) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpora")
    first = [record | {"citations": n % 40} for n, record in enumerate(made_up(1500))]
    second = [
        *made_up(400, seed=1),
        *(r | {"id": f"b:{r['id']}", "source": "b"} for r in first[:300]),
    ]
    return [write_jsonl(folder / "one.jsonl", first), write_jsonl(folder / "two.jsonl", second)]


@pytest.fixture(scope="module")
def expected(corpora: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("expected") / "library"
    return built(folder, corpora)


def built(folder: Path, corpora: list[Path]) -> dict[str, Any]:
    """What a build that nobody disturbs comes to."""
    sources = [source_at(str(path)) for path in corpora]
    build_library(folder, add=sources, builders=default_builders(Options()))
    return content(folder)


def content(folder: Path) -> dict[str, Any]:
    with Library.open(folder) as library:
        assert library.verify() == []
        (segment,) = library.segments
        return {
            "works": list(library.iter_works()),
            "citing": [
                digest((part.path / f"{name}.npy").read_bytes())
                for part in library.citing
                for name in ARRAYS
            ],
            "indexes": {
                path.relative_to(segment.path).as_posix(): digest(path.read_bytes())
                for name in ("bm25", "dense")
                for path in sorted(segment.index(name).rglob("*"))
                if path.is_file()
            },
        }


def is_whole(folder: Path) -> bool:
    """The library is either not there yet or whole: never anything between."""
    try:
        with Library.open(folder) as library:
            return library.verify() == []
    except LibraryError as error:
        assert error.problem.code == "library-missing", error
        return True


def start(folder: Path, corpora: list[Path]) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", CHILD, str(folder), *map(str, corpora)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def kill(child: subprocess.Popen[str]) -> None:
    if os.name == "nt":
        child.kill()
    else:
        child.send_signal(signal.SIGKILL)
    child.wait()


@pytest.mark.parametrize("stage", STAGES)
def test_a_build_killed_in_a_stage_goes_on_to_the_same_library(
    stage: str, corpora: list[Path], expected: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "library"
    with start(folder, corpora) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(stage):
                time.sleep(0.005)
                break
        kill(child)
    assert is_whole(folder)
    assert built(folder, corpora) == expected


def test_a_build_killed_again_and_again_at_random_ends_as_if_nothing_had_been(
    corpora: list[Path], expected: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "library"
    dice = random.Random(20)
    kills = 0
    for _ in range(8):
        with start(folder, corpora) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(dice.uniform(0, 0.15))
            kills += child.poll() is None
            kill(child)
        assert is_whole(folder)
    assert kills
    assert built(folder, corpora) == expected


def test_an_addition_killed_midway_leaves_the_old_papers_and_then_adds_all(
    corpora: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "library"
    built(folder, corpora[:1])
    for stage in ("Write", "Index: dense", "Seal"):
        with start(folder, corpora) as child:
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith(stage):
                    break
            kill(child)
        assert is_whole(folder)
    sources = [source_at(str(path)) for path in corpora]
    report = build_library(folder, add=sources, builders=default_builders(Options()))
    assert report.works == 1900
    with Library.open(folder) as library:
        assert len(library) == len(list(library.iter_works())) == 1900
        assert library.verify() == []


def test_finished_stages_are_not_done_again(corpora: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with start(folder, corpora) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith("Index: dense"):
                break
        kill(child)
    with start(folder, corpora) as child:
        output, _ = child.communicate()
    assert "built" in output
    for stage in ("Read", "How others cite", "Merge", "Write", "Index: bm25"):
        assert stage not in output, output


def test_a_plan_that_changed_begins_anew(corpora: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with start(folder, corpora) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith("Index: dense"):
                break
        kill(child)
    report = build_library(folder, add=[source_at(str(corpora[0]))], fresh=True)
    # Both sources were recorded before the kill, and no index is asked for this time.
    assert report.works == 1900
    with Library.open(folder) as library:
        assert not library.segments[0].index("bm25").exists()
