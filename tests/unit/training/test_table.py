"""The token table is fitted to vectors of works, and read as it was fitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.retrieval.encoders.citation import CitationEncoder
from citewell.retrieval.tokens import Vocabulary
from citewell_lab.training.data import TrainingPaper

pytest.importorskip("torch")

from citewell_lab.training.encoder import fresh
from citewell_lab.training.encoder import save as save_network
from citewell_lab.training.table import TokenBags, fit, save

WORDS = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]


def papers(count: int) -> list[TrainingPaper]:
    random = np.random.default_rng(0)
    found = []
    for number in range(count):
        title = " ".join(random.choice(WORDS, 4, replace=False))
        abstract = " ".join(random.choice(WORDS, 8)) if number % 3 else ""
        found.append(TrainingPaper(f"w{number}", title, abstract, (), 2020, ""))
    return found


@pytest.mark.nightly
def test_the_fitted_table_gives_the_vectors_of_works(tmp_path: Path) -> None:
    vocabulary = Vocabulary(WORDS)
    works = papers(3000)
    meaning = np.random.default_rng(1).normal(size=(len(WORDS), 16)).astype(np.float32)
    wanted = np.stack(
        [2 * meaning[vocabulary.encode(p.title)].sum(0) + meaning[vocabulary.encode(p.abstract)].sum(0)
         for p in works]
    )  # fmt: skip
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    table, weights = fit(TokenBags(works, vocabulary), wanted, len(vocabulary), 300)
    save(table, weights, tmp_path / "table.npz")
    save_network(fresh(layers=1, width=48, inner=48), tmp_path / "encoder.npz")
    (tmp_path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    encoder = CitationEncoder(tmp_path)
    found = encoder.encode_papers([(p.title, p.abstract) for p in works])
    assert float((found * wanted).sum(1).mean()) > 0.97
    # A title weighs more than an abstract, as it does in the vectors.
    assert float(weights[1].mean()) > float(weights[0].mean())
