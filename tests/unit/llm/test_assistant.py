"""Whatever the model says, the answer is one of the candidates, an order of them, or nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from citewell.llm.assistant import LanguageModel
from citewell.model import Query, Work

Make = Callable[..., LanguageModel]


def test_the_model_picks_a_candidate_by_its_number(
    assistant: Make, works: list[Work], query: Query
) -> None:
    picked = assistant([{"choice": "2", "reason": "It is about\ngraphs."}]).pick(query, works)
    assert (picked.work, picked.by, picked.reason) == ("t:2", "model", "It is about graphs.")
    assert picked.program == "pick@builtin"
    assert picked.model == "ollama dummy"
    assert picked.problem is None


@pytest.mark.parametrize(
    "answer",
    [
        {"choice": "7", "reason": "out of range"},
        {"choice": "Smith et al. (2021)", "reason": "a paper of my own"},
        {"reason": "no choice"},
        {"choice": "1, 2", "reason": ""},
    ],
)
def test_what_is_no_candidate_leaves_the_first_one_marked(
    assistant: Make, works: list[Work], query: Query, answer: dict[str, Any]
) -> None:
    picked = assistant([answer]).pick(query, works)
    assert (picked.work, picked.by) == ("t:1", "ranker")
    assert picked.problem is not None and picked.problem.code == "llm-answer"


def test_only_so_many_candidates_are_shown_as_the_request_has_room_for(
    assistant: Make, works: list[Work], query: Query
) -> None:
    picked = assistant([{"choice": "4", "reason": ""}], pick_depth=3).pick(query, works)
    assert picked.by == "ranker"
    many = [*works] * 40
    picked = assistant([{"choice": "50", "reason": ""}], pick_depth=50, request_tokens=1500).pick(
        query, many
    )
    assert picked.by == "ranker"


def test_a_listwise_order_is_completed(assistant: Make, works: list[Work], query: Query) -> None:
    ranked = assistant([{"order": ["3", "1"]}]).rank(query, works)
    assert ranked.order == (2, 0, 1, 3)
    assert ranked.program == "rank@builtin"


@pytest.mark.parametrize("verdict", ["yes", "no"])
def test_a_verdict_with_words_of_its_own_is_unclear(
    assistant: Make, works: list[Work], verdict: str
) -> None:
    reply = {"supports": verdict, "words": "It reaches 99% accuracy"}
    found = assistant([reply]).verify("It reaches 99%.", works[1])
    assert (found.verdict, found.words) == ("unclear", "")


def test_a_record_without_an_abstract_supports_nothing(assistant: Make) -> None:
    found = assistant([{"supports": "yes", "words": "A title"}]).verify(
        "x", Work(id="a", title="A")
    )
    assert found.verdict == "unclear"
    assert found.problem is not None and found.problem.code == "llm-no-abstract"


def test_other_queries_are_few_and_distinct(assistant: Make, query: Query) -> None:
    reply = {
        "queries": ["graph nets", "graph nets", "GCN\nspectral", "", "deep graphs", "a fourth"]
    }
    assert assistant([reply]).rewrite(query).queries == (
        "graph nets",
        "GCN spectral",
        "deep graphs",
    )
