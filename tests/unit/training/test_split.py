"""The split: one paper, one part."""

from __future__ import annotations

from citewell_lab.training.split import dev_part, question_part


def test_a_repository_has_one_part_for_ever() -> None:
    # Pinned: a change of these would let a test paper train.
    named = {name: dev_part(name) for name in ("a/b", "c/d", "e/f", "g/h")}
    assert named == {name: dev_part(name) for name in named}
    assert dev_part("Pinafore/publications") == "train"


def test_parts_have_about_the_shares_they_are_given() -> None:
    parts = [dev_part(f"owner/{n}") for n in range(4000)]
    shares = [parts.count(p) / 4000 for p in ("train", "valid", "test")]
    assert abs(shares[0] - 0.25) < 0.03
    assert abs(shares[1] - 0.25) < 0.03
    assert abs(shares[2] - 0.5) < 0.03


def test_questions_are_spread_evenly() -> None:
    parts = [question_part(f"q{n}") for n in range(3000)]
    assert all(abs(parts.count(p) / 3000 - 1 / 3) < 0.03 for p in ("train", "valid", "test"))
