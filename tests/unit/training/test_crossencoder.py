"""Examples of the cross-encoder: which citations make one, and which wrong papers are drawn; and
how the weight of its score is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.model import Query
from citewell_lab.training.crossencoder import (
    NEAREST,
    PER_GOLD,
    PER_MARKED_GOLD,
    CrossEncoderExample,
    batches,
    choose,
    read_examples,
    sample,
    write_examples,
)
from citewell_lab.training.data import CitationContext
from citewell_lab.training.pairs import role


def example(gold_score: float = 1.0, *, marked: bool = False) -> CrossEncoderExample:
    wrong = tuple(range(100, 150))
    scores = tuple(0.0 for _ in wrong)
    return CrossEncoderExample(
        Query(sentence="A [CITATION]."), 7, gold_score, wrong, scores, marked
    )


def context(number: int, **changes: Any) -> CitationContext:
    plain = CitationContext(
        f"c{number}", f"repo{number}", f"repo{number}|1", "", "A [CITATION].", ("Before.",), "",
        (f"p:{number}",), (), 2020, True, "github-tex2", "text",
    )  # fmt: skip
    return replace(plain, **changes)


def test_the_right_paper_comes_first_with_near_and_far_wrong_ones() -> None:
    rows, scores = choose(example(), 8, np.random.default_rng(0))
    assert rows[0] == 7 and scores[0] == 1.0
    assert len(set(rows)) == 8
    near = [row for row in rows[1:] if row < 100 + NEAREST]
    assert 4 <= len(near) < 7
    assert choose(example(), 8, np.random.default_rng(0))[0] == rows


def test_examples_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_examples([example(), example(2.0)], tmp_path / "examples.jsonl")
    assert read_examples(tmp_path / "examples.jsonl") == [example(), example(2.0)]


def test_few_citations_of_one_paper_are_taken() -> None:
    plain = sample([context(n, gold=("p:1",)) for n in range(60)], 100)
    assert len(plain) == PER_GOLD
    marked = sample([context(n, gold=("p:1",), form="markdown") for n in range(60)], 100)
    assert len(marked) == PER_MARKED_GOLD


def test_no_citation_of_a_paper_that_tunes_is_taken() -> None:
    contexts = [context(n, form="latex") for n in range(60)]
    kept = sample(contexts, 100)
    assert {role(one) for one in contexts} >= {"tune", "head", "encoder"}
    assert {role(one) for one in kept} == {"head", "encoder"}
    assert len(kept) == sum(role(one) != "tune" for one in contexts)


def test_papers_of_one_role_can_be_taken_alone() -> None:
    contexts = [context(n, form="latex") for n in range(60)]
    kept = sample(contexts, 100, {"encoder"})
    assert kept
    assert kept == [one for one in sample(contexts, 100) if role(one) == "encoder"]


@pytest.mark.parametrize(
    "changes",
    [{"clean": False}, {"group": 4}, {"before": ()}, {"origin": "parscit-acl"}],
)
def test_what_teaches_little_is_left_out(changes: dict[str, Any]) -> None:
    assert len(sample([context(n) for n in range(20)], 100)) == 20
    assert sample([context(n, **changes) for n in range(20)], 100) == []


def test_two_of_three_are_marked_up_text_while_there_is_any() -> None:
    contexts = [context(n, form="markdown" if n < 10 else "text") for n in range(60)]
    forms = [one.form for one in sample(contexts, 30)]
    assert forms == ["markdown", "markdown", "text"] * 5 + ["text"] * 15


def test_a_batch_has_more_marked_up_text_and_each_example_comes_before_any_comes_again() -> None:
    examples = [example(marked=n < 10) for n in range(30)]
    steps = batches(examples, 8, 4)
    assert [len(step) for step in steps] == [8] * 4
    assert [sum(n < 10 for n in step) for step in steps] == [5] * 4
    taken = [n for step in steps for n in step]
    assert sorted(n for n in taken if n < 10) == sorted([*range(10), *range(10)])
    assert len({n for n in taken if n >= 10}) == 12
    assert steps == batches(examples, 8, 4)


def test_examples_of_one_kind_fill_the_batches_alone() -> None:
    assert all(len(step) == 8 for step in batches([example()] * 10, 8, 3))
