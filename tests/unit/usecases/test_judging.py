"""Which papers of a literature search are judged relevant, and how that orders the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.engine.local import LocalEngine
from citewell.model import CitewellError
from citewell.usecases.explore.contract import (
    JUDGED,
    Exploration,
    ExploreQuery,
    RelevanceJudge,
    shipped_judge,
)
from citewell.usecases.explore.passes import explore

TOPIC = "irrigation of apple orchards"


def last(engine: LocalEngine, **request: object) -> Exploration:
    *_, state = explore(engine, ExploreQuery(**{"rounds": 1} | request))  # type: ignore[arg-type]
    return state


def test_papers_from_the_cut_on_are_the_head_of_the_list(orchards: LocalEngine) -> None:
    cut = shipped_judge().cut
    for state in explore(orchards, ExploreQuery(text=TOPIC, rounds=1)):
        assert state.relevant is not None and 0 < state.relevant < len(state.papers)
        chances = [one.relevance for one in state.papers]
        assert all(chance is not None and 0 <= chance <= 1 for chance in chances)
        assert all(chance >= cut for chance in chances[: state.relevant])
        assert all(chance < cut for chance in chances[state.relevant :])
        assert chances[:JUDGED] == sorted(chances[:JUDGED], reverse=True)


def test_kept_papers_count_as_relevant_and_have_no_probability(orchards: LocalEngine) -> None:
    kept = orchards.lookup(title="Orchard Irrigation under Drought")[0].id
    state = last(orchards, text=TOPIC, kept=(kept,))
    assert state.papers[0].work.id == kept
    assert state.papers[0].relevance is None
    assert state.relevant is not None and state.relevant >= 1


@pytest.mark.parametrize(
    "request_", [{"author": "Ana Grower1"}, {"text": TOPIC, "without": frozenset({"judge"})}]
)
def test_without_words_or_without_the_judge_nothing_is_judged(
    orchards: LocalEngine, request_: dict[str, object]
) -> None:
    state = last(orchards, **request_)
    assert state.papers and state.relevant is None
    assert all(one.relevance is None for one in state.papers)


@pytest.mark.parametrize("order", ["auto", "cited"])
def test_papers_that_meet_the_conditions_come_before_those_that_do_not(
    orchards: LocalEngine, order: str
) -> None:
    author = "Ana Grower3"
    for state in explore(orchards, ExploreQuery(text=f"{TOPIC} by {author}", order=order)):
        assert [part.kind for part in state.understood.parts] == ["author"]
        first, *others = state.papers
        assert first.work.authors[0].display == author
        # The judge was fitted to questions on a topic: an author's papers are not judged.
        assert others and all(one.relevance is None for one in state.papers)
        assert state.relevant is None


def test_a_paper_of_another_year_is_not_judged_relevant(
    orchards: LocalEngine, about: tuple[str, ...]
) -> None:
    state = last(orchards, text=f"{TOPIC} published in 2016")
    years = [one.work.year for one in state.papers]
    inside = years.count(2016)
    assert years[:inside] == [2016] * inside
    assert [one.relevance is not None for one in state.papers] == [year == 2016 for year in years]
    relevant = [one.work.title for one in state.papers[: state.relevant]]
    assert relevant == [about[6]]
    # The years beside it follow: people often err by one.
    near = sum(year in (2015, 2017) for year in years)
    assert {*years[inside : inside + near]} <= {2015, 2017}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut"])
def test_a_file_that_does_not_fit_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "literature.npz"
    path.write_bytes(content)
    with pytest.raises(CitewellError) as caught:
        RelevanceJudge.read(path)
    assert caught.value.problem.code == "ranker-weights"
