"""How the score of Citewell's own cross-encoder is added to the ranker's, and what the model reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.model import Query, Work
from citewell.model.names import parse_author
from citewell.model.query import CitingPaper
from citewell.ranking.citation_cross_encoder import (
    PAPER_TOKENS,
    PASSAGE_TOKENS,
    Combination,
    PairTexts,
    combine,
    read_combination,
    write_combination,
)
from citewell.ranking.contract import Ordering
from citewell.retrieval.encoders.onnx import TOKENIZER

HOW = Combination(weight=0.5)
RANKED = Ordering(np.array([7, 5, 9, 2, 4]), np.array([2.0, 1.8, 1.0, 0.9, 0.1], np.float32))


def test_the_score_is_added_to_the_rankers_and_the_places_below_stay_below():
    found, moved = combine(RANKED, np.array([-1.0, 1.0, 0.0], np.float32), HOW)
    assert found.order.tolist() == [5, 7, 9, 2, 4]
    assert found.scores == pytest.approx([2.3, 1.5, 1.0, 0.9, 0.1])
    assert [(one.rank, one.before) for one in moved] == [(1, 2), (2, 1), (3, 3)]


def test_a_paper_that_loses_its_place_does_not_fall_below_those_that_were_not_read():
    found, _ = combine(RANKED, np.array([0.0, 0.0, -9.0], np.float32), HOW)
    assert found.order.tolist() == [7, 5, 9, 2, 4]
    assert np.all(np.diff(found.scores) <= 0)


def _sigmoid(scores):
    return np.asarray(1 / (1 + np.exp(-scores)), np.float32)


def test_the_model_takes_confidence_and_never_gives_it():
    alone = _sigmoid(RANKED.scores)
    ranked = Ordering(RANKED.order, RANKED.scores, alone, _sigmoid)
    found, _ = combine(ranked, np.array([-4.0, 4.0, 0.0], np.float32), HOW)
    assert found.order.tolist() == [5, 9, 7, 2, 4]
    assert found.confidence is not None and found.calibrate is not None
    # 5 rises to the first place with the confidence that it had; 7 falls, and is less sure.
    assert found.confidence == pytest.approx([alone[1], alone[2], 0.5, 0.5, 0.5])
    assert found.calibrate(found.scores) == pytest.approx(found.confidence)


def test_what_was_learned_from_use_still_raises_the_confidence():
    ranked = Ordering(RANKED.order, RANKED.scores, _sigmoid(RANKED.scores), _sigmoid)
    found, _ = combine(ranked, np.array([-4.0, 4.0, 0.0], np.float32), HOW)
    assert found.confidence is not None and found.calibrate is not None
    learned = found.calibrate(found.scores + np.array([1, 0, 0, 0, 0], np.float32))
    assert learned[0] == pytest.approx(_sigmoid(np.array([2.8]))[0])
    assert learned[1:] == pytest.approx(found.confidence[1:])


def test_a_model_that_was_not_fitted_leaves_order_and_confidence_as_they_are():
    def halved(scores):
        return np.asarray(scores / 2, np.float32)

    ranked = Ordering(RANKED.order, RANKED.scores, halved(RANKED.scores), halved)
    found, _ = combine(ranked, np.array([-4.0, 4.0, 0.0], np.float32), Combination(weight=0.0))
    assert found.order.tolist() == ranked.order.tolist()
    assert found.confidence == pytest.approx(ranked.confidence)
    assert found.calibrate is halved


def test_nothing_read_changes_nothing():
    found, moved = combine(RANKED, np.zeros(0, np.float32), HOW)
    assert found is RANKED and not moved


def test_a_combination_is_read_as_it_was_written_and_another_file_is_refused(tmp_path: Path):
    write_combination(HOW, tmp_path)
    assert read_combination(tmp_path) == HOW
    (tmp_path / "combination.json").write_text('{"weight": "much"}', encoding="utf-8")
    with pytest.raises(ValueError, match="weight"):
        read_combination(tmp_path)


@pytest.fixture(scope="module")
def texts() -> PairTexts:
    tokenizers = pytest.importorskip("tokenizers", reason="the `rerank` extra is not installed")
    return PairTexts(tokenizers.Tokenizer.from_file(str(TOKENIZER)))


def test_a_passage_keeps_the_words_around_its_place(texts: PairTexts):
    query = Query(
        sentence="far " * 90 + "orchards grow [CITATION] in valleys" + " away" * 90,
        before=("Nobody reads this.", "The last one counts."),
        paper=CitingPaper(title="Fruit"),
    )
    ids = texts.passage(query)
    assert len(ids) <= PASSAGE_TOKENS
    plain = texts._tokenizer.decode(ids, skip_special_tokens=False)
    assert "orchards grow [MASK] in valleys" in plain
    assert "[SEP] fruit [SEP] the last one counts." in plain
    assert "nobody" not in plain


def test_a_paper_is_its_title_author_year_and_the_start_of_its_abstract(texts: PairTexts):
    work = Work(
        id="w:1",
        title="Grafting Orchards",
        authors=(parse_author("Ada Lovelace"),),
        year=1999,
        abstract="We graft. " * 200,
    )
    (ids,) = texts.papers([work])
    assert len(ids) == PAPER_TOKENS
    plain = texts._tokenizer.decode(ids, skip_special_tokens=False)
    assert plain.startswith("[CLS] grafting orchards [SEP] lovelace 1999 [SEP] we graft.")


def test_lone_surrogates_and_empty_records_are_read(texts: PairTexts):
    assert texts.passage(Query(sentence="\ud800 [CITATION]"))
    assert texts.papers([Work(id="w:2", title="")])[0]
