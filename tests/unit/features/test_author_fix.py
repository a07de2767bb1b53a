"""An author list takes the record's names and keeps its own bytes for all others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.features.actions.verification import corrected_authors
from citewell.model import Author
from citewell.model.names import split_authors
from citewell.verification.people import Difference, compare_people

RECORD = (
    Author("Ash", "Ann"),
    Author("Béech", "Ben"),
    Author("Cedar", "Cy"),
    Author("Dogwood", "Dan"),
)


@pytest.mark.parametrize(
    ("code", "field", "expected"),
    [
        ("author-missing", r"Ash, Ann and B{\'e}ech, Ben and Dogwood, Dan",
         r"Ash, Ann and B{\'e}ech, Ben and Cedar, Cy and Dogwood, Dan"),
        ("author-missing", "Ann Ash and\n    Ben B\\'eech", "Ann Ash and\n    Ben B\\'eech and\n    Cy Cedar and\n    Dan Dogwood"),
        ("author-replaced", "A. Ash and Zoe Zinnia and Cy Cedar and D. Dogwood",
         "A. Ash and Ben Béech and Cy Cedar and D. Dogwood"),
        ("author-added", "Ash, A. and Béech, B. and Cedar, C. and Dogwood, D. and Zinnia, Z.",
         "Ash, A. and Béech, B. and Cedar, C. and Dogwood, D."),
        ("author-order", "Cedar, Cy and Ash, A and Dogwood, {Dan} and Béech, Ben",
         "Ash, A and Béech, Ben and Cedar, Cy and Dogwood, {Dan}"),
        ("author-order", "Cedar, Cy and others", "Ash, Ann and Béech, Ben and Cedar, Cy and others"),
        ("author-given", "Ash, A. and Béech, Zoe and Cedar, Kim and Dogwood, Dan",
         "Ash, A. and Béech, Ben and Cedar, Cy and Dogwood, Dan"),
        ("author-swapped", "Ann, Ash and Ben, Béech and Cedar, Cy and Dogwood, Dan",
         "Ash, Ann and Béech, Ben and Cedar, Cy and Dogwood, Dan"),
        ("author-anonymous", "Anonymous", "Ann Ash and Ben Béech and Cy Cedar and Dan Dogwood"),
        ("author-unrelated", "Li, Yao and others",
         "Ash, Ann and Béech, Ben and Cedar, Cy and Dogwood, Dan"),
    ],
)  # fmt: skip
def test_only_what_is_wrong_changes(code, field, expected):
    assert corrected_authors(field, RECORD, code) == expected


NAMES = [
    "Ash, Ann",
    "A. Ash",
    r"B{\'e}ech, Ben",
    "Béech, B.",
    "Cedar, {Cy}",
    "Cy Cedar",
    "Dogwood, Dan",
]


@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique_by=lambda n: n[0]),
    st.booleans(),
)
def test_the_names_that_were_given_keep_their_bytes(names, others):
    field = " and ".join([*names, "others"] if others else names)
    done = corrected_authors(field, RECORD, "author-missing")
    assert all(name in done for name in names)
    if others:
        assert done == field
    else:
        assert len(split_authors(done)) == len(RECORD)


@given(st.permutations(["Ash, Ann", r"B{\'e}ech, Ben", "Cedar, {Cy}", "Dogwood, D."]))
def test_an_order_is_corrected_with_the_bytes_of_each_name(names):
    done = corrected_authors(" and ".join(names), RECORD, "author-order")
    assert sorted(done.split(" and ")) == sorted(names)
    assert compare_people(split_authors(done), RECORD).difference is Difference.SAME
