"""The order of literature questions: its features, its file, and when it is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.model import CitewellError
from citewell.ranking.features import UNKNOWN
from citewell.ranking.literature import (
    NAMES,
    LiteratureInputs,
    LiteratureModel,
    literature_features,
)
from citewell.retrieval.encoders.citation import WEIGHTS

COUNT = 30


@pytest.fixture
def listed() -> LiteratureInputs:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(COUNT, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return LiteratureInputs(
        np.linspace(3, -3, COUNT).astype(np.float32),
        vectors,
        vectors @ vectors[0],
        np.zeros(COUNT, np.float32),
        np.zeros(COUNT, np.float32),
        random.random(COUNT).astype(np.float32),
        np.full(COUNT, UNKNOWN, np.float32),
        random.integers(2000, 2020, COUNT).astype(np.int16),
        random.random(COUNT) > 0.5,
    )


def test_the_shipped_file_fits_the_features() -> None:
    model = LiteratureModel.read(WEIGHTS / "literature.npz")
    assert model.order.shape == (len(NAMES) + 1,)
    assert model.order[-1] > 0, "a better score of the head never makes a paper worse"


def test_features_are_standardised_within_the_list(listed: LiteratureInputs) -> None:
    table = literature_features(listed)
    assert table.shape == (COUNT, len(NAMES))
    np.testing.assert_allclose(table.mean(axis=0), 0, atol=0.1)
    assert np.abs(table).max() <= 4


def test_a_paper_is_no_witness_for_itself(listed: LiteratureInputs) -> None:
    same = listed.vectors.copy()
    same[1] = same[0]
    nearest = NAMES.index("nearest")
    table = literature_features(replace(listed, vectors=same))
    assert table[0, nearest] == table[1, nearest] == table[:, nearest].max()
    alone = literature_features(listed)
    assert alone[0, nearest] < table[0, nearest]


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut"])
def test_a_file_that_does_not_fit_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "literature.npz"
    path.write_bytes(content)
    with pytest.raises(CitewellError) as caught:
        LiteratureModel.read(path)
    assert caught.value.problem.code == "ranker-weights"
