"""Priors of several sources as one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.corpus.columns import title_key
from citewell.corpus.priors import Priors, check, coded, joined, read_priors, write_priors
from citewell.model import CitewellError


def priors(
    lists: dict[str, list[str]],
    counts: dict[str, int] | None = None,
    passages: tuple[tuple[str, str, int], ...] = (),
) -> Priors:
    """`passages` are (citing title, cited title, a number that stands in its vector)."""
    titles = sorted(
        {*(counts or {}), *(t for cited in lists.values() for t in cited)}, key=title_key
    )
    place = {title: number for number, title in enumerate(titles)}
    names = sorted(lists, key=title_key)
    citations = np.full(len(titles), -1.0, np.float16)
    for title, count in (counts or {}).items():
        citations[place[title]] = np.log1p(count)
    return Priors(
        np.array([title_key(t) for t in titles], np.uint64),
        citations,
        np.array([title_key(n) for n in names], np.uint64),
        np.cumsum([0, *(len(lists[n]) for n in names)]).astype(np.int32),
        np.array([place[t] for n in names for t in lists[n]], np.int32),
        np.array([[len(n), 1] for n in names], np.int8).reshape(len(names), 2),
        np.array([[0, number] for _, _, number in passages], np.int8).reshape(len(passages), 2),
        np.array([place[cited] for _, cited, _ in passages], np.int32),
        np.array([names.index(citing) for citing, _, _ in passages], np.int32),
        "test",
    )


def contexts_of(found: Priors, titles: tuple[str, ...]) -> dict[str, set[str]]:
    """The lists in words again."""
    check(found)
    name = {title_key(title): title for title in titles}
    return {
        name[int(key)]: {
            name[int(found.key[n])]
            for n in found.list_cited[found.list_starts[i] : found.list_starts[i + 1]]
        }
        for i, key in enumerate(found.list_key)
    }


FIRST = priors(
    {"Survey of Trees": ["Apples", "Pears"], "Our Own Paper": ["Apples", "Pears"]},
    {"Apples": 7, "Plums": 3},
    (
        ("Survey of Trees", "Pears", 1),
        ("Our Own Paper", "Apples", 2),
        ("Our Own Paper", "Pears", 5),
    ),
)
SECOND = priors(
    {"Our Own Paper": ["Figs", "Apples", "Quinces"], "A Short Note": ["Figs"]},
    {"Apples": 9},
    (("Our Own Paper", "Figs", 3), ("A Short Note", "Figs", 4), ("Our Own Paper", "Apples", 6)),
)
TITLES = ("Survey of Trees", "Our Own Paper", "A Short Note", "Apples", "Pears", "Plums", "Figs", "Quinces")  # fmt: skip


def test_a_paper_of_several_parts_cites_what_any_of_them_lists() -> None:
    assert contexts_of(joined([FIRST, SECOND]), TITLES) == {
        "Survey of Trees": {"Apples", "Pears"},
        "Our Own Paper": {"Figs", "Apples", "Pears", "Quinces"},
        "A Short Note": {"Figs"},
    }
    assert contexts_of(joined([SECOND, FIRST]), TITLES) == contexts_of(
        joined([FIRST, SECOND]), TITLES
    )


def test_a_paper_counts_as_cited_as_often_as_any_part_says() -> None:
    found = joined([FIRST, SECOND])
    times = {
        int(k): round(float(np.expm1(c))) for k, c in zip(found.key, found.citations, strict=True)
    }
    assert times[title_key("Apples")] == 9
    assert times[title_key("Plums")] == 3
    assert times[title_key("Figs")] == -1
    assert (np.diff(found.key.astype(object)) > 0).all()


def test_passages_about_a_paper_are_those_of_the_last_part_that_has_any() -> None:
    found = joined([FIRST, SECOND])
    contexts = {
        int(vector[1]): (int(found.list_key[owner]), int(found.key[cited]))
        for vector, owner, cited in zip(
            found.passage_vectors, found.passage_list, found.passage_cited, strict=True
        )
    }
    assert contexts == {
        1: (title_key("Survey of Trees"), title_key("Pears")),
        3: (title_key("Our Own Paper"), title_key("Figs")),
        4: (title_key("A Short Note"), title_key("Figs")),
        5: (title_key("Our Own Paper"), title_key("Pears")),
        6: (title_key("Our Own Paper"), title_key("Apples")),
    }


def test_vectors_of_lists_move_with_them() -> None:
    found = joined([FIRST, SECOND])
    lengths = {int(k): int(v[0]) for k, v in zip(found.list_key, found.list_vectors, strict=True)}
    assert lengths == {title_key(t): len(t) for t in ("Survey of Trees", "Our Own Paper", "A Short Note")}  # fmt: skip


def test_a_part_without_lists_only_counts() -> None:
    found = joined([FIRST, priors({}, {"Figs": 2})])
    assert contexts_of(found, TITLES) == contexts_of(FIRST, TITLES)
    assert len(found) == len(FIRST) + 1


@pytest.mark.parametrize(
    "change",
    [
        {"list_starts": np.array([0, 1, 99], np.int32)},
        {"list_cited": np.array([0, 1, 50], np.int32)},
        {"passage_cited": np.array([-1, 0], np.int32)},
        {"passage_list": np.array([0, 7], np.int32)},
        {"citations": np.zeros(1, np.float16)},
    ],
)
def test_arrays_that_point_outside_each_other_are_refused(
    tmp_path: Path, change: dict[str, np.ndarray]
) -> None:
    arrays = {name: getattr(FIRST, name) for name in Priors.__struct_fields__} | change
    write_priors(Priors(**arrays), tmp_path / "p.npz")
    with pytest.raises(CitewellError, match="are inconsistent"):
        read_priors(tmp_path / "p.npz")


def test_vectors_keep_their_direction_as_bytes() -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[3] = 0
    small = coded(vectors).astype(np.float32)
    assert not small[3].any()
    rest = np.delete(np.arange(20), 3)
    small[rest] /= np.linalg.norm(small[rest], axis=1, keepdims=True)
    assert (small[rest] * vectors[rest]).sum(axis=1).min() > 0.999
