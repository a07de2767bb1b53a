"""The words in which others cite a paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.model import CitewellError, Query
from citewell.retrieval.citation_context import PASSAGES
from citewell.retrieval.passages import (
    SIGNALS,
    Profiles,
    gather_passages,
    near_words,
    read_passages,
    write_passages,
)

ADAM, GLOVE, OTHER = 100, 200, 300
ONE, TWO = 7, 8
INDEX = gather_passages(
    [
        (ADAM, ONE, "We train with the Adam optimizer [CITATION] for ten epochs."),
        (ADAM, TWO, "Learning rates are set by Adam [CITATION]."),
        (GLOVE, ONE, "Words start as GloVe embeddings [CITATION] of 300 dimensions."),
        (GLOVE, TWO, "Pretrained embeddings [CITATION] were kept fixed."),
    ]
)
KEYS = np.array([ADAM, GLOVE, OTHER, 0], np.uint64)


def signals(query: Query, own: int = 0) -> dict[str, list[float]]:
    table = Profiles(INDEX).signals(query, own, KEYS)
    return {name: table[:, at].tolist() for at, name in enumerate(SIGNALS)}


def test_the_words_beside_the_mark_count_most_and_function_words_not_at_all() -> None:
    found = near_words("It is the best of the Adam optimizer [CITATION] in practice [OTHER].")
    assert found["optimizer"] == 1.0
    assert found["adam optimizer"] == 1.0
    assert found["optimizer"] > found["adam"] > found["best"]
    assert found["practice"] < found["adam"]
    assert "the" not in found and "other" not in found


def test_a_paper_is_found_by_the_words_in_which_others_cite_it() -> None:
    found = signals(Query(sentence="All models use the Adam optimizer [CITATION]."))
    assert found["profile_best"][0] > 0
    assert found["profile_best"][1] == found["profile_best"][2] == found["profile_best"][3] == 0
    assert 0 < found["profile_share"][0] <= 1


def test_a_pair_of_words_before_the_mark_tells_more_than_the_words_alone() -> None:
    pair = signals(Query(sentence="Our GloVe embeddings [CITATION]"))["profile_best"][1]
    apart = signals(Query(sentence="Our GloVe based embeddings [CITATION]"))["profile_best"][1]
    assert pair > apart


def test_what_the_citing_paper_itself_says_is_no_evidence() -> None:
    query = Query(sentence="We use the Adam optimizer [CITATION].")
    with_own, without = signals(query), signals(query, own=ONE)
    assert without["profile_best"][0] < with_own["profile_best"][0]
    assert without["profile_best"][0] > 0  # the other paper says "Adam" as well


@pytest.mark.parametrize("array", ["word_starts", "passage", "citing"])
def test_a_file_whose_arrays_do_not_fit_is_refused_with_a_cure(tmp_path: Path, array: str) -> None:
    path = tmp_path / "p.npz"
    write_passages(INDEX, path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays[array] = arrays[array] + 1_000 if array == "passage" else arrays[array][:-1]
    np.savez(path, **arrays)
    with pytest.raises(CitewellError) as caught:
        read_passages(path)
    assert caught.value.problem.code == "priors-unreadable"
    assert "Reinstall" in caught.value.problem.hint


def test_the_shipped_file_names_papers_by_what_people_call_them() -> None:
    from citewell.corpus.columns import title_keys

    titles = ["Attention is All you Need", "GloVe: Global Vectors for Word Representation"]
    profiles = Profiles(read_passages(PASSAGES))
    query = Query(sentence="We initialise with GloVe vectors [CITATION].")
    attention, glove = profiles.signals(query, 0, title_keys(titles))[:, 0]
    assert glove > 3 * attention


def test_indexes_joined_answer_as_one_made_of_all_passages():
    from citewell.retrieval.passages import joined_passages

    first = [
        (11, 1, "the Adam optimizer [CITATION]"),
        (12, 1, "we prune trees [CITATION] in spring"),
    ]
    second = [(13, 2, "an optimizer [CITATION] for trees"), (11, 3, "Adam [CITATION]")]
    joined = joined_passages([gather_passages(first), gather_passages(second)])
    whole = gather_passages(first + second)
    keys = np.array([11, 12, 13, 14], np.uint64)
    for sentence in ("the Adam optimizer [CITATION]", "trees [CITATION]", "nothing [CITATION]"):
        for own in (0, 1, 3):
            query = Query(sentence=sentence)
            np.testing.assert_array_equal(
                Profiles(joined).signals(query, own, keys),
                Profiles(whole).signals(query, own, keys),
            )
