"""What the past adds to a candidate's score."""

import numpy as np
import pytest

from citewell.model.feedback import Event
from citewell.ranking.history import (
    ACCEPTED,
    BESIDE,
    CITED,
    CITED_BESIDE,
    CITED_HERE,
    CRITICISED,
    CRITICISED_HERE,
    DISMISSED,
    DISMISSED_HERE,
    NOT_YET_CITED,
    RIVALS,
    UNCITED,
    CitationHistory,
    past_of,
    prior,
)

DIM = 4
HERE, THERE = "/papers/one", "/papers/two"


def axis(number):
    vector = np.zeros(DIM, np.float32)
    vector[number] = 1
    return vector


def event(key, kind="accepted", project=HERE, at=0, encoder="e", through="completion"):
    asked = (127 * axis(at)).astype(np.int8).tobytes()
    return Event(
        time=1.0, kind=kind, work=str(key), title="t", key=key, project=project,
        encoder=encoder, asked=asked, through=through,
    )  # fmt: skip


def asked_for(events, candidates=(1, 2, 3), project=HERE, asked=None, typed=False, cited=None):
    past = past_of(events, "e", DIM)
    vector = axis(1) if asked is None else asked
    keys = np.array(candidates, np.uint64)
    return prior(past, keys, project, vector, cited=cited, typed=typed)


def added(*given, **more):
    return asked_for(*given, **more).added.tolist()


def cited(*papers, beside=()):
    """What a document cites: pairs of key and times, in the order of the keys."""
    keys, times = zip(*papers, strict=True)
    there = np.array([key in beside for key in keys])
    return CitationHistory(np.array(keys, np.uint64), np.array(times, np.float32), there)


def test_a_paper_accepted_here_gains_and_the_others_stand_still():
    gain = added([event(2)])
    assert gain[1] > 0.5
    assert (gain[0], gain[2]) == (0, 0)


def test_what_the_document_cites_gains_without_any_event_and_the_often_cited_more():
    gain = added([], cited=cited((1, 1), (2, 4)))
    assert CITED > gain[0] > 0
    assert gain[1] > gain[0]
    assert gain[2] == 0


def test_what_the_sentence_cites_already_falls_and_says_why():
    found = asked_for([event(3)], cited=cited((1, 5), (2, 1), beside={1}))
    assert found.added[0] == -BESIDE
    assert found.why.tolist() == [CITED_BESIDE, CITED_HERE, 0]


def test_an_entry_that_is_not_cited_yet_gains_and_says_why():
    found = asked_for([], cited=cited((1, 0)))
    assert found.added.tolist() == pytest.approx([UNCITED - RIVALS * np.log(2), 0, 0])
    assert found.why.tolist() == [NOT_YET_CITED, 0, 0]


def test_what_was_cited_just_before_falls_in_a_criticism_though_it_is_cited_often():
    what = cited((1, 5), (2, 1))
    citations = CitationHistory(what.keys, what.times, what.beside, np.array([True, False]))
    found = asked_for([], cited=citations)
    assert found.added[0] == -CRITICISED and found.added[1] > 0
    assert found.why.tolist() == [CRITICISED_HERE, CITED_HERE, 0]


def test_of_what_is_cited_here_the_document_knows_more_than_the_events():
    events = [event(2), event(3, project=THERE)]
    found = asked_for(events, cited=cited((1, 1)))
    assert found.why.tolist() == [CITED_HERE, 0, ACCEPTED], "2 was accepted and taken out again"


def test_what_was_accepted_in_this_very_sentence_is_left_alone():
    assert added([event(2)], asked=axis(0)) == [0, 0, 0]


def test_what_was_filled_without_a_choice_is_not_learned():
    filled = [event(1, project=THERE, through="fill"), event(2, through="fill")]
    assert added(filled) == [0, 0, 0]
    chosen = [event(1, project=THERE, through="picker"), event(2, through="mcp")]
    assert added(chosen)[:2] != [0, 0]


def test_what_other_projects_accepted_for_like_words_gains_more_than_for_unlike_ones():
    gain = added([event(1, project=THERE, at=1), event(2, project=THERE, at=0)])
    assert gain[0] > gain[1] > 0


def test_typed_words_are_not_answered_with_what_the_paper_cites_already():
    events = [event(1), event(2, project=THERE), event(3, "dismissed")]
    gain = added(events, typed=True)
    assert gain[0] == 0
    assert added([], cited=cited((1, 1), (2, 1), beside={2}), typed=True) == [0, 0, 0]
    assert gain[1] > 0
    assert gain[2] == -DISMISSED


def test_a_dismissed_paper_loses_a_little_in_its_own_project_alone():
    events = [event(3, "dismissed"), event(2)]
    found = asked_for(events)
    assert (found.added[2], found.why[2]) == (-DISMISSED, DISMISSED_HERE)
    assert added(events, project=THERE)[2] == 0


def test_accepting_a_paper_takes_its_dismissal_back():
    assert added([event(2, "dismissed"), event(2)])[1] > 0
    again = added([event(2), event(2, "dismissed")])[1]
    assert again == pytest.approx(added([event(2)])[1] - DISMISSED)
