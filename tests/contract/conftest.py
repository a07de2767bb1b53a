"""A library of invented papers for the contracts' suites: one per contract, over every kind."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace
from tests.fakes.hashed_words import NAME, HashedWords

from citewell.corpus.library import Library
from citewell.engine.retrievers import open_retrievers
from citewell.options import Options
from citewell.retrieval.contract import Retriever
from citewell.retrieval.encoders import registry

TOPICS = (
    "orchards",
    "parsing",
    "translation",
    "yield",
    "attention",
    "valleys",
    "weather",
    "speech",
)
WORDS = ("study", "survey", "benchmarks", "study")
NAMES = ("A. Name{}", "Anna Name{}", "Bert Name{}", "Name{}")
KINDS = ("article", "article", "inproceedings", "phdthesis", "misc")
VENUES = ("ACL", "", "Transactions on Orchards", "NeurIPS", "Workshop on Valleys and Weather")


@pytest.fixture(scope="module")
def further_encoder() -> Iterator[str]:
    """Name of an encoder beside the static one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.ENCODERS, NAME, HashedWords)
        yield NAME


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory, further_encoder: str) -> Options:
    """Settings of a library in two segments; the second holds a newer record of a paper."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    folder = tmp_path_factory.mktemp("libraries")
    rng = np.random.default_rng(5)
    base = Options()
    base = replace(base, retrieval=replace(base.retrieval, encoders=(further_encoder,)))
    for part, count in (("first", 160), ("second", 60)):
        lines = [
            {
                "id": f"{part}:{number}",
                "title": "Attention in parsing"
                if number == 7
                else f"{' '.join(rng.choice(TOPICS, 3))} {WORDS[number % 4]} {part} {number}",
                "abstract": f"We study {' '.join(rng.choice(TOPICS, 12))}.",
                "year": int(rng.integers(2000, 2024)),
                "authors": [NAMES[number % len(NAMES)].format(number % 7), "Zoë van der Berg"][
                    : 1 + (number % 5 == 0)
                ],
                "kind": KINDS[number % len(KINDS)],
                "venue": VENUES[number % len(VENUES)],
                "language": ("", "en", "de")[number % 3],
                "doi": "10.5555/shared" if number == 7 else f"10.5555/{part}.{number}",
                "source": part,
            }
            for number in range(count)
        ]
        source = folder / f"{part}.jsonl"
        source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        build_library(
            folder / "small",
            add=[FileSource(path=str(source), format="records")],
            builders=default_builders(base),
        )
    library = replace(base.library, path=folder, name="small")
    return replace(base, library=library)


@pytest.fixture(scope="module")
def library(options: Options) -> Iterator[Library]:
    assert options.library.path is not None
    with Library.open(options.library.path / "small") as opened:
        yield opened


@pytest.fixture(scope="module")
def retrievers(library: Library, options: Options) -> dict[str, Retriever]:
    """Every retriever that the engine opens, by name."""
    return open_retrievers(library, options).retrievers
