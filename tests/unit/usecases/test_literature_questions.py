"""Which queries are answered as literature questions, and which are left as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citewell.engine.local import CONFIDENCE, LITERATURE, RANKER, TYPED, LocalEngine
from citewell.model import CitingPaper, Query
from citewell.model.query import Reference
from citewell.options import Options
from citewell.ranking.learned import LearnedRanker

QUESTION = "Which papers study the irrigation of apple orchards?"
OTHERS = (
    Query(text="Drip Irrigation of Apple Orchards"),
    Query(text="drip irrigation apple"),
    Query(text="irrigation of apple orchards"),
    Query(text="grower1 irrigation"),
    Query(text="survey", sentence="Orchards are irrigated by drops [CITATION]."),
    Query(text="which papers irrigate?", sentence="Orchards are irrigated by drops [CITATION]."),
    Query(sentence="Orchards are irrigated by drops [CITATION].", before=("Apples grow.",)),
    Query(
        sentence="Water budgets [CITATION] matter.",
        paper=CitingPaper(references=(Reference(title="Orchard Irrigation under Drought"),)),
    ),
)


@pytest.fixture(scope="module")
def without(orchard_options: Options) -> Iterator[LocalEngine]:
    """The engine without the weights for literature questions."""
    ranker = LearnedRanker(RANKER, TYPED, confidence=CONFIDENCE)
    engine = LocalEngine.open(orchard_options, ranker=ranker)
    engine.load(120)
    yield engine
    engine.close()


def answer(engine: LocalEngine, query: Query) -> list[tuple[str, float, float | None]]:
    hits = engine.find(query, 50, tier="full").hits
    return [(hit.work.id, hit.score, hit.confidence) for hit in hits]


@pytest.mark.parametrize("query", OTHERS, ids=lambda one: one.text or one.sentence)
def test_words_for_one_paper_and_sentences_are_answered_as_without_the_weights(
    orchards: LocalEngine, without: LocalEngine, query: Query
) -> None:
    assert answer(orchards, query) == answer(without, query)


def test_a_question_for_papers_is_ordered_by_the_weights_for_literature(
    orchards: LocalEngine, without: LocalEngine
) -> None:
    assert LITERATURE.exists()
    own = answer(orchards, Query(text=QUESTION))
    assert own == answer(orchards, Query(text=QUESTION, literature=True))
    assert [score for _, score, _ in own] != [
        score for _, score, _ in answer(without, Query(text=QUESTION))
    ]


def test_the_answers_to_a_question_are_papers_on_its_topic(
    orchards: LocalEngine, about: tuple[str, ...]
) -> None:
    found = orchards.find(Query(text=QUESTION), 5, tier="full").hits
    assert {hit.work.title for hit in found} <= set(about)
    chances = [hit.confidence for hit in found]
    assert all(chance is not None and 0 < chance < 1 for chance in chances)
