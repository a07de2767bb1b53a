"""The training of the encoder, in small: it learns, and what it writes is read as it was trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.retrieval.encoders.citation import work_tokens
from citewell.retrieval.encoders.transformer import HEADS, Transformer
from citewell.retrieval.encoders.wordpiece import CLS, SEP, WordPiece
from citewell_lab.training.data import CitationContext, TrainingPaper
from citewell_lab.training.pairs import Citations
from citewell_lab.training.works import merged

pytest.importorskip("torch")

from citewell_lab.training.encoder import (
    Network,
    Trainer,
    TrainingExamples,
    examples,
    fresh,
    save,
)

SUBJECTS = (
    "parsing",
    "translation",
    "summarization",
    "speech",
    "vision",
    "robots",
    "proofs",
    "birds",
)
WIDTH = 4 * HEADS


def paper(number: int) -> TrainingPaper:
    subject = SUBJECTS[number]
    return TrainingPaper(
        f"w{number}", f"A study of {subject}", f"We study {subject}.", ("Ada Lin",), 2020, ""
    )


def context(number: int, at: int) -> CitationContext:
    return CitationContext(
        f"c{number}-{at}", "repository", f"paper {at}", f"Paper number {at} on many things",
        f"Early work on {SUBJECTS[number]} [CITATION] was short.", (), "", (f"w{number}",), (), 2020,
        True, "dev",
    )  # fmt: skip


@pytest.fixture(scope="module")
def data() -> TrainingExamples:
    works = merged(map(paper, range(len(SUBJECTS))))
    contexts = [context(n, at) for n in range(len(SUBJECTS)) for at in range(4)]
    return examples(works, Citations(contexts, [], {}))


def tiny() -> Network:
    return fresh(layers=2, width=WIDTH, inner=2 * WIDTH)


def test_a_work_is_read_by_title_names_year_and_abstract() -> None:
    one = paper(0)
    found = work_tokens(WordPiece(), one.title, one.authors, one.year, one.abstract)
    cut = WordPiece().encode
    expected = (
        CLS,
        *cut("A study of parsing"),
        SEP,
        *cut("Lin 2020"),
        SEP,
        *cut("We study parsing."),
    )
    assert found == expected


def test_what_a_paper_cites_is_never_a_wrong_answer(data: TrainingExamples) -> None:
    trainer = Trainer(data, tiny())
    papers = trainer._paper[:4]
    rows = trainer._gold[None].expand(4, -1)
    # Every paper cites every work here, each once.
    assert bool(trainer._cites(papers, rows).all())


@pytest.mark.nightly
def test_training_brings_passages_to_the_works_that_they_cite(data: TrainingExamples) -> None:
    # Without what is known of the lists, so that the other works are wrong answers.
    alone = TrainingExamples(
        data.works, data.passages, data.gold, data.paper, data.weight, np.array([-1], np.int64)
    )
    trainer = Trainer(alone, tiny(), peak=3e-3)

    def hits() -> int:
        found = trainer.embed(trainer._passages) @ trainer.embed(trainer.works).T
        return int((found.argmax(1) == trainer._gold).sum())

    before = hits()
    trainer.train(0.0, steps=60, batch=16)
    assert hits() > max(before, 24)


def test_the_file_is_read_as_the_network_reads(data: TrainingExamples, tmp_path: Path) -> None:
    trainer = Trainer(data, tiny())
    trainer.train(0.0, steps=5, batch=8)
    save(trainer.network, tmp_path / "encoder.npz")
    reader = Transformer(tmp_path / "encoder.npz")
    trained = trainer.embed(trainer._passages[:6]).numpy()
    for tokens, expected in zip(data.passages[:6], trained, strict=True):
        found = reader.read(tokens[tokens != 0].tolist())
        assert float(found @ expected / np.linalg.norm(found)) > 0.995
