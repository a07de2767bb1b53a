"""What the past adds to a candidate's score."""

import numpy as np
import pytest

from citewell.model.feedback import Event
from citewell.ranking.history import DISMISSED, past_of, prior

DIM = 4
HERE, THERE = "/papers/one", "/papers/two"


def axis(number):
    vector = np.zeros(DIM, np.float32)
    vector[number] = 1
    return vector


def event(key, kind="accepted", project=HERE, at=0, encoder="e"):
    asked = (127 * axis(at)).astype(np.int8).tobytes()
    return Event(
        time=1.0, kind=kind, work=str(key), title="t", key=key, project=project,
        encoder=encoder, asked=asked,
    )  # fmt: skip


def added(events, candidates=(1, 2, 3), project=HERE, asked=None, typed=False):
    past = past_of(events, "e", DIM)
    vector = axis(0) if asked is None else asked
    keys = np.array(candidates, np.uint64)
    return prior(past, keys, project, vector, typed=typed).tolist()


def test_a_paper_accepted_here_gains_and_the_others_stand_still():
    gain = added([event(2)])
    assert gain[1] > 1
    assert (gain[0], gain[2]) == (0, 0)


def test_each_acceptance_of_another_paper_lowers_the_share():
    few, many = added([event(2)]), added([event(2), *(event(10 + n) for n in range(30))])
    assert few[1] > many[1] > 0


def test_a_paper_accepted_twice_gains_more_than_one_accepted_once():
    gain = added([event(1), event(2), event(2)])
    assert gain[1] > gain[0] > 0


def test_what_other_projects_accepted_for_like_words_gains_more_than_for_unlike_ones():
    gain = added([event(1, project=THERE, at=0), event(2, project=THERE, at=1)])
    assert gain[0] > gain[1] > 0


def test_typed_words_are_not_answered_with_what_the_paper_cites_already():
    events = [event(1), event(2, project=THERE), event(3, "dismissed")]
    gain = added(events, typed=True)
    assert gain[0] == 0
    assert gain[1] > 0
    assert gain[2] == -DISMISSED


def test_without_a_project_all_that_was_accepted_was_accepted_elsewhere():
    assert added([event(1, at=1)], project="")[0] < added([event(1, at=1)])[0]


def test_a_dismissed_paper_loses_a_little_in_its_own_project_alone():
    events = [event(3, "dismissed"), event(2)]
    assert added(events)[2] == -DISMISSED
    assert added(events, project=THERE)[2] == 0


def test_accepting_a_paper_takes_its_dismissal_back():
    assert added([event(2, "dismissed"), event(2)])[1] > 0
    again = added([event(2), event(2, "dismissed")])[1]
    assert again == pytest.approx(added([event(2)])[1] - DISMISSED)


def test_vectors_of_another_encoder_count_as_unlike_and_do_not_fail():
    other = added([event(1, project=THERE, encoder="other")])
    same = added([event(1, project=THERE)])
    assert 0 < other[0] < same[0]


def test_a_paper_without_title_is_nobody():
    assert added([event(0)], candidates=(0, 1)) == [0, 0]


def test_an_unknown_query_and_an_empty_past_add_what_they_can():
    assert added([]) == [0, 0, 0]
    assert added([event(2)], asked=np.zeros(DIM, np.float32))[1] > 0
