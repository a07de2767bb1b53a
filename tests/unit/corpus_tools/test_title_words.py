"""Title words are counted when a segment is built, not whenever a library is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.corpus.columns import ColumnsBuilder, LibraryColumns, title_words
from citewell.corpus.library import Library
from citewell_corpus.build import BuildReport

COUNTS = "title_word_counts.npy"


@pytest.fixture
def two_segments(
    build: Callable[..., BuildReport],
    made_up: Callable[..., list[dict[str, Any]]],
    write_jsonl: Callable[..., Path],
    opened: Callable[[], Library],
    tmp_path: Path,
) -> Library:
    builders = [ColumnsBuilder()]
    build(write_jsonl(tmp_path / "one.jsonl", made_up(300)), builders=builders)
    build(write_jsonl(tmp_path / "two.jsonl", made_up(20, seed=1)), builders=builders)
    library = opened()
    assert len(library.segments) == 2
    return library


def test_the_counts_of_the_segments_add_up_to_those_of_the_titles(two_segments: Library) -> None:
    words, counts = LibraryColumns(two_segments.segments).word_counts()
    titles = [set(title_words(work.title)) for work in two_segments.iter_works()]
    assert words.tolist() == sorted(set().union(*titles))
    assert counts.tolist() == [sum(word in title for title in titles) for word in words.tolist()]


def test_the_counts_are_read_and_not_made(two_segments: Library) -> None:
    file = two_segments.segments[0].index("columns") / COUNTS
    np.save(file, np.load(file) * 1000)
    assert LibraryColumns(two_segments.segments).word_counts()[1].max() >= 1000
