"""The measurement of citations of several papers."""

from __future__ import annotations

import numpy as np

from citewell.model import Query, Question
from citewell.model.query import Target
from citewell_lab.training.same_citation import SameCitationCandidates, citations, cross_validated


def question(title: str, *beside: str, sentence: str = "As shown [CITATION].") -> Question:
    return Question(
        id=title,
        query=Query(sentence=sentence),
        gold_titles=(title,),
        paper="p",
        beside=tuple(Target(titles=(one,)) for one in beside),
    )


def test_the_questions_of_one_citation_are_one_group() -> None:
    questions = [
        question("A", "B"),
        question("B", "A"),
        question("C"),
        question("D", "E"),
        question("A", "B", sentence="Elsewhere [CITATION]."),
    ]
    found = [[one.id for one in group] for group in citations(questions)]
    assert found == [["A", "B"]]


def listed(paper: str) -> SameCitationCandidates:
    scores = np.array([3, 2, 1, 0], np.float32)
    inputs = np.array([[0, 0], [0, 0], [0, 1], [0, 0.5]], np.float32)
    members = [np.array([False, False, True, False]), np.array([False, False, False, True])]
    return SameCitationCandidates(paper, scores, inputs, [*members, np.zeros(4, np.bool_)])


def test_the_others_of_a_citation_do_not_count_against_each_other() -> None:
    assert listed("p").ranks((0.0, 0.0)) == [3, 3, np.inf]
    assert listed("p").ranks((0.0, 2.5)) == [1, 3, np.inf]


def test_weights_are_chosen_on_the_papers_of_other_folds() -> None:
    ranks, weights = cross_validated([listed(f"paper {number}") for number in range(12)])
    assert ranks == [1, 1, np.inf] * 12
    assert all(nearness > 0 for _, nearness in weights)
