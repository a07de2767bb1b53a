"""The metric, the parts, and outcomes of a trial, on numbers that one can do in one's head."""

from __future__ import annotations

import pytest

from citewell.llm.versions import Current
from citewell.model import Query, Work
from citewell.model.feedback import Event
from citewell_lab.tuning.examples import PARTS, Examples, TuningExample, part_of
from citewell_lab.tuning.metric import MetricWeights, untouched
from citewell_lab.tuning.outcomes import outcomes

WORKS = tuple(Work(id=f"w{n}", title=f"Paper {n}") for n in range(20))


def example(
    right: tuple[int, ...] = (), deeper: Work | None = None, paper: str = "p"
) -> TuningExample:
    return TuningExample(
        id="e", paper=paper, query=Query(), works=WORKS, right=right, deeper=deeper
    )


def test_the_weighted_metric() -> None:
    weights = MetricWeights.parse("mrr=3, recall@5=1")
    assert weights.vector.tolist() == [0.25, 0, 0, 0.75]
    measured = untouched([example((1,)), example()])
    assert measured.mean(weights) == pytest.approx((0.25 + 0.375) / 2)
    assert measured.figures()["first"] == 0


def test_an_example_to_learn_from_holds_the_right_paper_where_the_program_reads() -> None:
    shown = example((2, 7)).to_learn_from(4)
    assert shown is not None and shown.works == WORKS[:4] and shown.right == (2,)
    shown = example((7,)).to_learn_from(4)
    assert shown is not None and shown.works == (*WORKS[:3], WORKS[7]) and shown.right == (3,)
    far = Work(id="far", title="Found at place 50")
    shown = example(deeper=far).to_learn_from(4)
    assert shown is not None and shown.works[-1] == far and shown.right == (3,)
    assert example().to_learn_from(4) is None


def test_all_passages_of_a_paper_are_in_one_part_and_the_shares_are_kept() -> None:
    papers = [f"paper {n}" for n in range(4000)]
    counts = {part: sum(part_of(p) == part for p in papers) / 4000 for part in PARTS}
    for part, share in PARTS.items():
        assert counts[part] == pytest.approx(share, abs=0.03)
    found = Examples(
        examples=tuple(example(paper=p) for p in papers[:50] * 2), questions=0, absent=0
    )
    parts = [{one.paper for one in found.part(part)} for part in PARTS]
    assert sum(map(len, parts)) == 50 == len(set().union(*parts))


# -- in use ------------------------------------------------------------------------------------


def event(kind: str, time: float, variant: str) -> Event:
    return Event(time=time, kind=kind, work="w", title="t", key=1, variant=variant)  # type: ignore[arg-type]


def test_an_accepted_paper_has_the_rank_that_those_passed_over_give_it() -> None:
    found = outcomes(
        [
            event("accepted", 1, "ranker+pick@new"),
            event("dismissed", 2, "ranker+pick@new"),
            event("dismissed", 2, "ranker+pick@new"),
            event("accepted", 2, "ranker+pick@new"),
            event("accepted", 3, "rank@builtin ranker+pick@builtin"),
            event("accepted", 4, "ranker"),
        ]
    )
    rows = {(one.program, one.version): (one.accepted, one.first) for one in found}
    assert rows == {
        ("pick", "new"): (2, 0.5),
        ("pick", "builtin"): (1, 1.0),
        ("rank", "builtin"): (1, 1.0),
    }
    (new,) = [one for one in found if one.version == "new"]
    assert new.mrr == pytest.approx((1 + 1 / 3) / 2)


def test_a_trial_takes_its_share_and_the_same_passage_the_same_version() -> None:
    now = Current("a", trial="b", share=0.25)
    chosen = [now.version_for(f"passage {n}") for n in range(2000)]
    assert chosen.count("b") / 2000 == pytest.approx(0.25, abs=0.03)
    assert chosen == [now.version_for(f"passage {n}") for n in range(2000)]
    assert now.version_for("") == "a"
    assert Current("a").version_for("passage") == "a"
