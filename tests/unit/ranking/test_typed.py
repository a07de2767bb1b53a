"""What typed words alone say of the candidates, and the order that it gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.corpus.aliases import Alias, Aliases
from citewell.corpus.columns import columns_of, title_key
from citewell.engine.local import TYPED
from citewell.model import Author, CitewellError, Work
from citewell.ranking.lexical import TitleWords
from citewell.ranking.typed import TypedModel
from citewell.ranking.typed_features import NAMES, TypedInputs, typed_features

WORKS = [
    Work(id="0", title="BERT: Pre-training of Deep Bidirectional Transformers",
         authors=(Author("Devlin"), Author("Chang")), year=2019),
    Work(id="1", title="How Deep is a BERT?", authors=(Author("Chang"),), year=2020),
    Work(id="2", title="Long Short-Term Memory", authors=(Author("Hochreiter"),), year=1997),
    Work(id="3", title="Pretraining in Deep Water", authors=(Author("van der Berg"),), year=2021),
    Work(id="4", title="", year=None),
]  # fmt: skip


def table(text: str, *, head: list[float] | None = None) -> dict[str, list[float]]:
    values = features(text, head=head)
    return {name: values[:, at].round(3).tolist() for at, name in enumerate(NAMES)}


NAMED = Aliases(
    {
        "memnet": (Alias(title_key("Long Short-Term Memory"), 6, 9),),
        "gone": (Alias(title_key("Another Work"), 3, 3),),
    }
)


def features(text: str, *, head: list[float] | None = None) -> np.ndarray:
    columns = columns_of(WORKS)
    words, counts = np.unique(columns.word, return_counts=True)
    even = np.zeros(len(WORKS), np.float32)
    given = TypedInputs(
        text=text,
        columns=columns,
        bm25=even,
        likeness=even,
        head=np.array(head or even, np.float32),
        popularity=even,
        citations=even,
        in_sentence=False,
        aliases=NAMED,
    )
    return typed_features(given, TitleWords(words, counts, len(WORKS)))


def test_a_whole_title_is_exact_whatever_its_case_and_marks() -> None:
    found = table("long short term memory")
    assert found["exact"] == [0, 0, 1, 0, 0]
    assert found["typed_explained"][2] == found["title_covered"][2] == 1
    assert found["in_order"][2] == found["opens_title"][2] == 1


def test_words_of_a_title_are_explained_and_its_first_ones_open_it() -> None:
    found = table("short memory")
    assert found["typed_explained"][2] == 1 and 0 < found["title_covered"][2] < 1
    assert found["in_order"][2] == found["opens_title"][2] == 0
    assert table("long short")["opens_title"] == [0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "at"), [("pretraining transformers", 0), ("pre training water", 3)]
)
def test_a_word_matches_though_one_parts_it_and_the_other_does_not(text: str, at: int) -> None:
    found = table(text)
    assert found["typed_explained"][at] == 1
    assert max(found["typed_explained"]) > sorted(found["typed_explained"])[-2]


def test_authors_are_told_apart_by_their_place_and_in_several_words() -> None:
    found = table("chang deep")
    assert found["first_author"] == [0, 1, 0, 0, 0]
    assert found["any_author"] == [1, 1, 0, 0, 0]
    assert table("van der berg 2021")["author_and_year"] == [0, 0, 0, 1, 0]


def test_a_typed_year_speaks_for_a_paper_and_against_the_others() -> None:
    assert table("chang 2020")["year"] == [0.5, 1, -1, 0.5, -1]
    assert table("chang")["year"] == [0, 0, 0, 0, 0]
    assert table("chang 2020")["typed_explained"][1] == 1


def test_a_systems_name_opens_the_title_of_its_paper_and_initials_name_theirs() -> None:
    found = table("bert")
    assert found["opening"] == found["opening_whole"] == [1, 0, 0, 0, 0]
    assert table("bert deep")["opening_whole"] == [0, 0, 0, 0, 0]
    assert table("LSTM")["initials"] == [0, 0, 1, 0, 0]
    assert table("lstm")["typed_explained"] == [0, 0, 1, 0, 0]


def test_a_name_that_others_use_explains_the_typed_words() -> None:
    found = table("MemNets")
    assert found["typed_explained"] == [0, 0, 1, 0, 0]
    assert found["called"] == found["called_whole"] == pytest.approx([0, 0, 0.6, 0, 0])
    assert found["called_gap"][2] == 0 > found["called_gap"][0]
    assert table("memnet deep")["called_whole"] == [0] * 5


def test_a_name_of_a_work_that_is_not_there_speaks_against_all_others() -> None:
    assert table("gone")["called_gap"] == [-0.75] * 5


def test_an_exact_title_stands_first_whatever_the_head_says() -> None:
    ordering = TypedModel(TYPED).order(features("long short-term memory", head=[5, 4, -5, 3, 2]))
    assert ordering.order[0] == 2
    assert (np.diff(ordering.scores) <= 0).all()


def test_the_calibration_follows_changed_scores_in_their_own_order() -> None:
    ordering = TypedModel(TYPED).order(features("bert deep bidirectional", head=[2, 1, 0, 0, 0]))
    assert ordering.confidence is not None and ordering.calibrate is not None
    np.testing.assert_allclose(ordering.calibrate(ordering.scores), ordering.confidence)
    lower = ordering.scores.copy()
    lower[0] -= 3
    assert ordering.calibrate(lower)[0] < ordering.confidence[0]


def test_weights_of_other_features_are_refused_with_a_cure(tmp_path: Path) -> None:
    with np.load(TYPED, allow_pickle=False) as file:
        arrays = dict(file)
    arrays["names"] = arrays["names"][::-1]
    np.savez(tmp_path / "typed.npz", **arrays)
    with pytest.raises(CitewellError) as caught:
        TypedModel(tmp_path / "typed.npz")
    assert caught.value.problem.code == "ranker-weights"
