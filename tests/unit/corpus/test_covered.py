"""Which works of a library lie in another one too."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.corpus import library
from citewell.corpus.columns import ColumnsBuilder
from citewell.corpus.layout import SegmentView
from citewell.corpus.library import Library, covered_rows
from citewell.model import Author, Work
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

Make = Callable[[str, list[tuple[str, str, int | None]]], Library]


@pytest.fixture
def make(tmp_path: Path, write_jsonl: Callable[..., Path]) -> Make:
    """`make(name, papers)` is a library of papers, each a title, an author and a year."""

    def made(name: str, papers: list[tuple[str, str, int | None]]) -> Library:
        records: list[dict[str, Any]] = [
            {"id": f"{name}:{n}", "title": title, "authors": [author] if author else [],
             "year": year, "source": name, "kind": "misc"}
            for n, (title, author, year) in enumerate(papers)
        ]  # fmt: skip
        path = write_jsonl(tmp_path / f"{name}.jsonl", records)
        builders = default_builders(Options())
        build_library(tmp_path / name, add=[source_at(str(path), "records")], builders=builders)
        return Library.open(tmp_path / name)

    return made


def titles_covered(own: Library, lower: Library) -> list[str]:
    rows = covered_rows(own.segments, lower.segments[0]).rows
    works = dict(lower.iter_rows())
    return [f"{works[row].title} {works[row].year}" for row in range(len(rows)) if rows[row]]


def test_title_and_author_or_a_title_of_its_own_and_the_year_make_one_work(make: Make) -> None:
    own = make("own", [
        ("The Oaks of Rome", "Ada Larch", 2020), ("Preface", "Ada Larch", 2020),
        ("A Field of Elms", "", 2011), ("On Beeches", "Bo Fir", 1990),
    ])  # fmt: skip
    lower = make("lower", [
        ("The oaks of Rome", "A. Larch", 2021), ("Preface", "Cy Yew", 2020),
        ("Preface", "Ada Larch", 2009), ("A field of elms", "Di Ash", 2011),
        ("On Beeches", "Bo Fir", 2015), ("On Birches", "Bo Fir", 1990),
        ("A Field of Elms", "Di Ash", 1950),
    ])  # fmt: skip
    assert sorted(titles_covered(own, lower)) == sorted(
        ["The oaks of Rome 2021", "Preface 2009", "A field of elms 2011", "On Beeches 2015"]
    )


def test_a_stack_counts_and_gives_each_work_once(make: Make) -> None:
    lower = make("lower", [("Elms of Ulm", "Ada Larch", 2000), ("Oaks", "Bo Fir", 2001)])
    own = make("own", [("Elms of Ulm", "Ada Larch", 2000), ("Yews", "Cy Ash", 2002)])
    with Library.open(own.path, lower) as stack:
        assert len(stack) == 3
        assert sorted(work.id for work in stack.iter_works()) == ["lower:1", "own:0", "own:1"]
        assert [work.id for work in stack.lookup(title="Elms of Ulm")] == ["own:0"]
        found = stack.work("lower:0")
        assert found is not None
        assert found.id == "lower:0", "by its own id it is found"
        assert stack.snapshot == f"{own.snapshot}+{lower.snapshot}"


def segment(folder: Path, works: list[Work], base: int, dead: list[bool]) -> SegmentView:
    into = folder / "columns"
    into.mkdir(parents=True)
    ColumnsBuilder().build(lambda: iter(works), len(works), into, lambda count: None)
    return SegmentView(path=folder, base=base, count=len(works), dead=np.array(dead))


def close_in_year(work: Work, other: Work) -> bool:
    return bool(work.year) and abs((work.year or 0) - (other.year or 0)) <= 1


def is_held(work: Work, above: list[Work]) -> bool:
    """What `covered_rows` computes, for one work of a library with `above` over it."""

    same = [one for one in above if one.title and one.title == work.title]
    near = any(close_in_year(work, one) for one in same)
    if not work.authors:
        return near
    named = [one for one in same if one.authors]
    return any(one.authors[0] == work.authors[0] for one in named) or (
        near and len(named) < len(same)
    )


@pytest.mark.parametrize("sizes", [(50, 30), (80,)], ids=["two segments", "one segment"])
@pytest.mark.parametrize("seed", range(8))
def test_many_works_are_compared_as_each_would_be_alone(
    seed: int, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    dice = random.Random(seed)
    titles = ["", *(f"On tree {number}" for number in range(60))]

    def works(count: int) -> list[Work]:
        return [
            Work(
                id=f"x:{number}",
                title=dice.choice(titles),
                authors=(Author(family=dice.choice("ABC")),) if dice.random() < 0.7 else (),
                year=dice.choice([None, 2000, 2001, 2002, 2003, 2009]),
            )
            for number in range(count)
        ]

    upper, lower = [works(size) for size in sizes], works(120)
    dead = [[dice.random() < 0.2 for _ in part] for part in upper]
    views = [
        segment(tmp_path / str(number), part, sum(sizes[:number]), dead[number])
        for number, part in enumerate(upper)
    ]
    found = covered_rows(views, segment(tmp_path / "lower", lower, 0, [False] * 120))
    rows, every = found.rows, [one for part in upper for one in part]
    above = [one for part, gone in zip(upper, dead, strict=True)
             for one, is_gone in zip(part, gone, strict=True) if not is_gone]  # fmt: skip
    alone = [
        sum(one.title == work.title for one in lower) == 1
        and [close_in_year(work, one) for one in above if one.title == work.title] == [True]
        for work in lower
    ]
    expected = [
        bool(work.title) and (once or is_held(work, above))
        for work, once in zip(lower, alone, strict=True)
    ]
    assert rows.tolist() == expected
    titles = [one.title for one in above]
    for work, is_covered, holder in zip(lower, expected, found.holder.tolist(), strict=True):
        if is_covered and titles.count(work.title) == 1:
            assert every[holder].title == work.title
        else:
            assert holder == -1
    assert 10 < sum(expected) < 110


def test_keys_that_differ_in_their_last_bits_alone_are_told_apart() -> None:
    keys = np.array([7, 8, 7, 0, 9, 1 << 63, 8], np.uint64)
    order = library._sorted_places(keys)
    assert sorted(order.tolist()) == list(range(len(keys)))
    assert keys[order].tolist() == sorted(keys.tolist())
