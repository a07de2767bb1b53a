"""Questions by author, topic, year and venue, made from records."""

from __future__ import annotations

import pytest

from citewell.model import Author, Work
from citewell_lab.datasets import metadata_queries
from citewell_lab.datasets.metadata_queries import WORDINGS, metadata_questions

WORKS = [
    Work(
        id=f"t:{person}-{number}",
        title=f"Neural parsing of valley {number}",
        abstract="We parse." if number % 2 else "We parse with orchards.",
        authors=(Author(f"Ruiz{person}", "Ana"), Author("Brandt", "Bo")),
        year=2010 + number,
        venue="ACL",
    )
    for person in range(12)
    for number in range(10)
]


def test_the_rule_finds_the_paper_of_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_queries, "RARE", 1)
    valid = metadata_questions(WORKS, "valid", 5)
    test = metadata_questions(WORKS, "test", 5)
    assert valid and test
    assert valid == metadata_questions(WORKS, "valid", 5)
    assert {one.query.text for one in valid}.isdisjoint(one.query.text for one in test)
    assert all(one.targets for one in (*valid, *test))
    filtered = metadata_questions(WORKS, "test", 5, filtered=True)
    assert [one.targets for one in filtered] == [one.targets for one in test]
    assert all(one.query.author for one in filtered)


def test_the_parts_share_no_wording() -> None:
    assert set(WORDINGS["valid"]).isdisjoint(WORDINGS["test"])
