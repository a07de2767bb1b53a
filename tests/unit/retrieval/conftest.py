"""A small library of invented papers, and its indexes built as a library builds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from citewell.corpus.layout import IndexBuilder, SegmentView
from citewell.model import Author, Work


def _work(number: int, title: str, abstract: str, family: str, year: int, venue: str) -> Work:
    return Work(
        id=f"t:{number}",
        title=title,
        abstract=abstract,
        authors=(Author(family, "A."),),
        year=year,
        venue=venue,
    )


PAPERS = (
    (
        "Grafting orchards in dry valleys",
        "We graft apple trees and measure yield.",
        "Long",
        2001,
        "AGR",
    ),
    (
        "ORCH: A benchmark of orchard yield",
        "Yield of apples in forty orchards.",
        "Brandt",
        2015,
        "AGR",
    ),
    (
        "Deep networks for yield",
        "A neural network predicts yield from weather.",
        "Ruiz",
        2019,
        "NET",
    ),
    (
        "Attention in neural translation",
        "Translation with attention over source words.",
        "Long",
        2016,
        "NET",
    ),
    ("Parsing long sentences", "A parser for long sentences in newspapers.", "Haddad", 2010, "LNG"),
    (
        "Café culture and its words",
        "Naïve speakers in cafés; a field study.",
        "Müller",
        2012,
        "LNG",
    ),
    ("A paper without an abstract", "", "Okafor", 2020, "LNG"),
    ("Neural parsing with attention", "Attention helps a neural parser.", "Ruiz", 2018, "LNG"),
)


@pytest.fixture
def papers() -> list[Work]:
    """Eight papers with words in common."""
    return [_work(number, *paper) for number, paper in enumerate(PAPERS)]


@pytest.fixture(scope="session")
def many_papers() -> list[Work]:
    """Two thousand papers of random words with a natural (Zipf) spread of frequencies."""
    rng = np.random.default_rng(7)
    words = [f"w{number}x" for number in range(900)]
    share = 1 / np.arange(1, len(words) + 1)
    share /= share.sum()
    names = [f"Name{number}" for number in range(60)]
    works = []
    for number in range(2000):
        title = " ".join(rng.choice(words, rng.integers(3, 12), p=share))
        abstract = " ".join(rng.choice(words, rng.integers(0, 120), p=share))
        name = names[rng.integers(len(names))]
        year = int(rng.integers(1990, 2025))
        works.append(_work(number, title, abstract, name, year, f"V{number % 9}"))
    return works


BuildSegments = Callable[..., list[SegmentView]]


@pytest.fixture
def build_segments(tmp_path: Path) -> BuildSegments:
    """`build_segments(works, builders, cuts)`: segments of works[0:cut1], works[cut1:cut2] ..."""

    def build(
        works: Sequence[Work], builders: Iterable[IndexBuilder], cuts: Sequence[int] = ()
    ) -> list[SegmentView]:
        views = []
        bounds = [0, *cuts, len(works)]
        folder = tmp_path / f"library-{len(list(tmp_path.iterdir()))}"
        for begin, end in pairwise(bounds):
            path = folder / f"{begin}-{end}"
            part = works[begin:end]
            for builder in builders:
                into = path / builder.name
                into.mkdir(parents=True)
                builder.build(lambda part=part: iter(part), len(part), into, lambda n: None)
            views.append(SegmentView(path=path, base=begin, count=len(part)))
        return views

    return build


@pytest.fixture
def encoder_weights(tmp_path: Path) -> Path:
    """Weights of the right shape over the words of the small library; random, so not useful."""
    words = sorted(
        {
            word
            for paper in PAPERS
            for text in paper[:2]
            for word in str(text).lower().replace(";", "").replace(".", "").replace(":", "").split()
            if word.isascii()
        }
    )
    tokens = [*words, "neural network", "apple trees", "long sentences"]
    rng = np.random.default_rng(3)
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(t + "\n" for t in tokens), encoding="utf-8")
    np.savez(
        folder / "table.npz",
        table=rng.integers(-127, 128, (len(tokens), 64)).astype(np.int8),
        scale=np.full(len(tokens), 0.01, np.float16),
        title_weight=rng.uniform(0.5, 2, len(tokens)).astype(np.float16),
        abstract_weight=rng.uniform(0.5, 2, len(tokens)).astype(np.float16),
    )
    _write_transformer(folder / "encoder.npz", rng)
    return folder


def _write_transformer(path: Path, rng: np.random.Generator) -> None:
    """One layer of 72 numbers."""
    width = 72
    shapes = {"qkv": (3 * width, width), "out": (width, width), "up": (96, width)}
    arrays: dict[str, np.ndarray] = {
        "words": rng.integers(-127, 128, (30_522, width)).astype(np.int8),
        "words_scale": np.full(30_522, 0.01, np.float32),
        "positions": rng.normal(0, 0.1, (128, width)).astype(np.float16),
    }
    for name, shape in {**shapes, "down": (width, 96)}.items():
        arrays[f"layers.0.{name}"] = rng.integers(-127, 128, shape).astype(np.int8)
        arrays[f"layers.0.{name}_scale"] = np.full(shape[0], 0.002, np.float32)
        arrays[f"layers.0.{name}.bias"] = np.zeros(shape[0], np.float16)
    for name in ("norm", "layers.0.norm", "layers.0.norm2"):
        arrays[f"{name}.weight"] = np.ones(width, np.float16)
        arrays[f"{name}.bias"] = np.zeros(width, np.float16)
    np.savez(path, **arrays)
