"""From which confidence on a model's choice is worth taking."""

import pytest

from citewell.model import Query, Work
from citewell_lab.tuning.examples import TuningExample
from citewell_lab.tuning.metric import Measured, Tried
from citewell_lab.tuning.threshold import fit

SURE = (0.6, 0.2, 0.05, 0.01)


def passages(chosen, right, count=20, sure=SURE):
    """Passages whose right paper stands at a place, and what a model chose of four papers."""
    examples = [
        TuningExample(
            id=str(n), paper=f"p{n}", query=Query(), confidence=sure,
            works=tuple(Work(id=f"{n}:{i}", title="T") for i in range(4)),
            right=() if right is None else (right,),
        )
        for n in range(count)
    ]  # fmt: skip
    tried = tuple(Tried(id=one.id, paper=one.paper, place=chosen) for one in examples)
    return examples, Measured(tried=tried)


def both(*parts):
    examples = [one for part in parts for one in part[0]]
    return examples, Measured(tried=tuple(one for part in parts for one in part[1].tried))


def fitted(valid, test, **more):
    return fit(valid, test, **({"least": 0.3, "now": 0.1, "reach": 4} | more))


def test_a_model_that_sees_what_the_ranker_does_not_is_trusted_far_down():
    found = fitted(passages(2, 2), passages(2, 2))
    assert found.best == 0.05 and found.helps
    assert (found.shown_right, found.shown_wrong, found.absent_one) == (20, 0, 0)
    assert (found.test_best.filled, found.test_best.right) == (20, 20)
    assert found.test_now.filled == 0, "at .1 the choice is not taken"
    # The ranker writes its first paper, which is wrong.
    assert (found.test_ranker.filled, found.test_ranker.right) == (20, 0)
    assert found.test_ranker.worth == pytest.approx(-0.3)
    assert found.difference.difference == pytest.approx(1.0)


def test_a_model_that_chooses_at_random_is_not_followed_where_the_ranker_doubts():
    guesses = both(*(passages(place, 0) for place in range(4)))
    found = fitted(guesses, guesses)
    assert found.best == 0.3
    assert not found.helps
    assert "loses nothing" in " ".join(found.in_words())
