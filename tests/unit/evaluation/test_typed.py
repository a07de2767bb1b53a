"""Typed words over a real small library, and the figures that are made of the answers."""

import pytest

from citewell.model import CitingPaper, Query, Question, Reference, Target
from citewell_corpus.processes import SilentProgress
from citewell_lab.evaluation.typed import (
    TypedOutcome,
    ask_typed,
    lines_of,
    query_as,
)

SENTENCE = "Others have done the same with success [CITATION]."


def question(number, text, title, kind="title", **more):
    paper = CitingPaper(title="On Networks", references=(Reference("Beam Search Revisited"),))
    return Question(
        id=f"{number}:{kind}",
        query=Query(text=text, sentence=SENTENCE, nearby=("Beam Search Revisited",), paper=paper),
        targets=(Target(titles=(title,)),),
        paper=f"paper {number % 2}",
        tags=(f"typed:{kind}", *more.get("tags", ())),
    )


TOPICS = "Topic Models with Anchors"
QUESTIONS = [
    question(1, TOPICS, TOPICS),
    question(2, "coreference clustering", "Coreference as Clustering", "words"),
    question(3, "The Ring of the Nibelung", "The Ring of the Nibelung"),
    question(4, "anchor words fast", TOPICS, "words", tags=("left-out",)),
]


@pytest.fixture(scope="module")
def evaluate_names(library_options):
    ways = ("alone", "sentence"), ("cold", "warm")
    return ask_typed(QUESTIONS, library_options, *ways, SilentProgress())


def test_each_question_is_asked_in_four_ways(evaluate_names):
    assert len(evaluate_names) == 16
    assert {(one.place, one.setting) for one in evaluate_names} == {
        (place, setting) for place in ("alone", "sentence") for setting in ("cold", "warm")
    }
    assert all(one.rank == 1 for one in evaluate_names if one.id == "1:title")
    assert all(one.confidence > 0.9 for one in evaluate_names if one.id == "1:title")


def test_words_alone_know_the_text_only_where_it_is_cold():
    query = QUESTIONS[0].query
    assert query_as(QUESTIONS[0], "alone", "cold") == Query(text=TOPICS)
    assert query_as(QUESTIONS[0], "alone", "warm") == Query(text=TOPICS, paper=query.paper)
    cold = query_as(QUESTIONS[0], "sentence", "cold")
    assert (cold.sentence, cold.paper.references, cold.nearby) == (SENTENCE, (), ())
    assert query_as(QUESTIONS[0], "sentence", "warm") == query


def answers():
    cases = [  # held, rank, confidence
        (True, 1, 0.95), (True, 1, 0.85), (True, 3, 0.75), (True, 0, 0.15), (False, 0, 0.65),
        (False, 0, 0.05),
    ]  # fmt: skip
    return [
        TypedOutcome(str(n), f"paper {n % 3}", "title", "alone", "cold", held, rank, sure)
        for n, (held, rank, sure) in enumerate(cases)
    ]


def test_the_figures_count_what_fill_would_write_over_all_questions():
    title, every = lines_of(answers(), 0.6)
    assert (title.kind, every.kind) == ("title", "all")
    assert (title.questions, title.lacking, title.filled) == (4, 2, 4)
    assert title.ranks["recall@1"].mean == 0.5
    assert title.ranks["recall@5"].mean == 0.75
    assert title.ranks["mrr@100"].mean == pytest.approx((1 + 1 + 1 / 3) / 4)
    assert title.precision.mean == 0.5
    assert title.coverage.mean == 0.5
    assert 0 <= title.precision.low <= 0.5 <= title.precision.high <= 1
