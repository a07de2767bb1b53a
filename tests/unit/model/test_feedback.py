"""Which papers a choice passes over."""

from citewell.model import Work
from citewell.model.feedback import SEEN, PaperName, passed_over

LIST = [Work(id=f"w{n}", title=f"Paper {n}") for n in range(9)]


def test_what_stands_above_the_taken_paper_was_passed_over():
    assert passed_over(LIST, "w2") == (PaperName("w0", "Paper 0"), PaperName("w1", "Paper 1"))


def test_the_first_paper_passes_over_none():
    assert passed_over(LIST, "w0") == ()


def test_what_stands_far_down_was_not_seen():
    assert [paper.id for paper in passed_over(LIST, "w8")] == [f"w{n}" for n in range(SEEN)]


def test_a_paper_that_was_not_shown_says_nothing_of_the_others():
    assert passed_over(LIST, "elsewhere") == ()


def test_an_entry_of_ones_own_takes_a_place_and_is_not_passed_over():
    assert passed_over([None, LIST[0], LIST[1]], "w1") == (PaperName("w0", "Paper 0"),)
