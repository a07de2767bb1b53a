"""The confidence of a citing sentence's candidates."""

from pathlib import Path

import numpy as np
import pytest

from citewell.engine.local import CONFIDENCE
from citewell.model import CitewellError
from citewell.ranking.confidence import INPUTS, SentenceConfidence, known_inputs, shapes
from citewell.ranking.features import UNKNOWN, feature_names
from citewell.ranking.learned import PRIOR_SIGNALS
from citewell.ranking.named import NAMES

FEATURES = feature_names(PRIOR_SIGNALS)


@pytest.fixture(scope="module")
def shipped() -> SentenceConfidence:
    return SentenceConfidence(CONFIDENCE)


def inputs(count: int, **values: float) -> np.ndarray:
    table = np.zeros((count, len(FEATURES)), np.float32)
    words = np.zeros((count, len(NAMES)), np.float32)
    for name, value in values.items():
        where, names = (words, NAMES) if name in NAMES else (table, FEATURES)
        where[0, names.index(name)] = value
    return known_inputs(table, FEATURES, words)


def scores(count: int) -> np.ndarray:
    return -np.arange(count, dtype=np.float32) / 10


def test_a_named_paper_is_surer_and_one_that_a_neighbour_names_less(
    shipped: SentenceConfidence,
) -> None:
    plain = shipped.of(scores(400), inputs(400))[0]
    assert shipped.of(scores(400), inputs(400, name_at=1.0))[0] > plain
    assert shipped.of(scores(400), inputs(400, alias_at=0.8))[0] > plain
    assert shipped.of(scores(400), inputs(400, name_beside=1.0))[0] < plain
    assert shipped.of(scores(400), inputs(400, stranger_author=1.0))[0] < plain


def test_unknown_facts_count_as_absent_and_not_as_minus_99() -> None:
    row = dict(zip(INPUTS[len(shapes(scores(1))[0]) :], inputs(1, memory_popularity=UNKNOWN)[0],
                   strict=True))  # fmt: skip
    assert row["memory_popularity"] == 0
    assert row["no_memory_popularity"] == 1


def test_a_file_of_other_inputs_is_refused(tmp_path: Path) -> None:
    for weights, names in (
        (np.zeros(len(INPUTS)), ("other", *INPUTS[1:])),
        (np.zeros(3), INPUTS),
        (np.full(len(INPUTS), np.nan), INPUTS),
    ):
        np.savez(tmp_path / "confidence.npz", weights=weights, names=np.array(names))
        with pytest.raises(CitewellError) as caught:
            SentenceConfidence(tmp_path / "confidence.npz")
        assert caught.value.problem.code == "ranker-weights"
