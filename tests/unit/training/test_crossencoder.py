"""Examples of the cross-encoder: which citations make one, and which wrong papers are drawn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.model import Query
from citewell_corpus.training.crossencoder import NEAREST, choose, head_weight
from citewell_corpus.training.crossencoder_examples import (
    PER_GOLD,
    Example,
    read_examples,
    sample,
    source_of,
    write_examples,
)
from citewell_corpus.training.questions import HEAD_FOLD
from citewell_corpus.training.split import fold


def example(gold_score: float = 1.0) -> Example:
    wrong = tuple(range(100, 150))
    return Example(Query(sentence="A [CITATION]."), 7, gold_score, wrong, tuple(0.0 for _ in wrong))


def record(number: int, **changes: Any) -> dict[str, Any]:
    plain = {
        "id": f"c{number}", "clean": True, "gold_id": "p:1", "group_keys": ["a"],
        "source_repo": f"repo{number}", "source_paper_id": "1", "format": "text",
        "context_before_list": ["Before."],
    }  # fmt: skip
    return {**plain, **changes}


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in records)
    return path


def test_the_right_paper_comes_first_with_near_and_far_wrong_ones() -> None:
    rows, scores = choose(example(), 8, np.random.default_rng(0))
    assert rows[0] == 7 and scores[0] == 1.0
    assert len(set(rows)) == 8
    near = [row for row in rows[1:] if row < 100 + NEAREST]
    assert 4 <= len(near) < 7
    assert choose(example(), 8, np.random.default_rng(0))[0] == rows


def test_the_heads_scores_weigh_more_where_they_are_right() -> None:
    assert head_weight([example(2.0)] * 3) > head_weight([example(2.0), example(-1.0)])


def test_examples_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_examples([example(), example(2.0)], tmp_path / "examples.jsonl")
    assert read_examples(tmp_path / "examples.jsonl") == [example(), example(2.0)]


def test_no_citation_of_the_heads_papers_and_few_of_one_paper_are_taken(tmp_path: Path) -> None:
    records = [record(n) for n in range(60)]
    kept = sample(written(tmp_path / "c.jsonl.gz", records), {"p:1": 0}, 100)
    assert len(kept) == PER_GOLD
    assert all(fold(source_of(one)) != HEAD_FOLD for one in kept)


@pytest.mark.parametrize(
    "changes",
    [
        {"clean": False},
        {"gold_id": "p:9"},
        {"group_keys": list("abcd")},
        {"context_before_list": []},
    ],
)
def test_what_teaches_little_is_left_out(tmp_path: Path, changes: dict[str, Any]) -> None:
    records = [record(n, **changes) for n in range(20)]
    assert sample(written(tmp_path / "c.jsonl.gz", records), {"p:1": 0}, 100) == []


def test_marked_up_text_is_taken_first(tmp_path: Path) -> None:
    records = [record(n, format="latex" if n % 2 else "text") for n in range(60)]
    kept = sample(written(tmp_path / "c.jsonl.gz", records), {"p:1": 0}, PER_GOLD)
    assert [one["format"] for one in kept] == ["latex"] * PER_GOLD
