"""The bounds that docs/benchmarks.md states for each verdict, on changed references to real records.

The library is the starter where it was built, else the one of `test_check_floor.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench.perturbation_bench import (
    CHANGES,
    REPORTED,
    SETS,
    STARTER,
    STYLES,
    Row,
    by_hand,
    perturb,
    row,
    sample,
    table,
)

from citewell.corpus.library import Library
from citewell.engine.records import LibraryRecords
from citewell.model.check import Check, Verdict
from citewell.options import Options
from citewell.verification.checker import Checker

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data" / "corpus"
CORPORA = (DATA / "acl.jsonl.zst", DATA / "ml.jsonl.zst")
RECORDS = 60

pytestmark = pytest.mark.skipif(
    not (STARTER / "CURRENT").exists() and not all(path.exists() for path in CORPORA),
    reason=f"needs {DATA} or a starter library",
)

Found = dict[str, tuple[list[Check], list[Check]]]
CAUGHT = {
    "one author fewer": 0.95, "first and last author swapped": 0.85, "one author replaced": 0.85,
    "all authors replaced": 0.97, "a word of the title replaced": 0.93,
    "head and tail of two titles joined": 0.8, "year + 2": 0.95, "year - 2": 0.95,
    "another venue": 0.85, "DOI of another work": 0.95, "one author more, year + 1": 0.85,
    "one given name replaced, year + 1": 0.8, "one author replaced, year + 1": 0.85,
    "a word of the title replaced, one author more": 0.93,
    "first two authors swapped, year + 1": 0.8, "year + 1, other pages": 0.85,
    **{name: 0.9 for name in CHANGES if "address of another" in name or "arXiv" in name},
}  # fmt: skip
"""Least share reported, as BibTeX."""
NOTED = ("one author more", "first two authors swapped", "one given name replaced", "year + 1",
         "year - 1", "other pages")  # fmt: skip
"""Changes that are reported with another, and are a note alone."""
FOREIGN = ("one author more", "one author replaced", "all authors replaced")
IN_PRINT = ("all authors replaced", "one author replaced", "a word of the title replaced",
            "year + 2", "year - 2", "another venue", "DOI of another work",
            "one author more, year + 1")  # fmt: skip
LEAST_IN_PRINT = 0.8
FEW = 8
"""Fewer references of a kind than this say nothing."""


@pytest.fixture(scope="module")
def checker() -> Iterator[tuple[Library, Checker]]:
    if (STARTER / "CURRENT").exists():
        folder = STARTER
    else:
        from citewell_lab.datasets.cached_library import cached_library

        folder, _ = cached_library(CORPORA, REPOSITORY / ".cache", Options())
    with Library.open(folder) as library:
        yield library, Checker([LibraryRecords(library)])


@pytest.fixture(scope="module")
def found(checker: tuple[Library, Checker]) -> Found:
    works, others = sample(checker[0], RECORDS)
    assert len(works) == RECORDS
    return perturb(works, others, checker[1])


def rows(found: Found, form: int) -> dict[str, Row]:
    made = {name: row(checks[form]) for name, checks in found.items()}
    return {name: one for name, one in made.items() if one.made >= FEW}


def test_a_right_reference_is_never_reported(found: Found) -> None:
    for form in (0, 1):
        unchanged = row(found["nothing changed"][form])
        assert unchanged.caught == 0
        assert unchanged.verified >= 0.97


@pytest.mark.parametrize("change", CAUGHT)
def test_the_change_is_reported(found: Found, change: str) -> None:
    one = rows(found, 0).get(change)
    if one is None:
        pytest.skip("the library has too few such records")
    assert one.caught >= CAUGHT[change]


@pytest.mark.parametrize("change", NOTED)
def test_a_small_change_alone_is_a_note(found: Found, change: str) -> None:
    one = rows(found, 0)[change]
    assert one.caught <= 0.05
    assert one.noted >= 0.9


@pytest.mark.parametrize("change", FOREIGN)
def test_a_foreign_author_is_never_verified(found: Found, change: str) -> None:
    assert rows(found, 0)[change].verified == 0
    assert rows(found, 1)[change].verified <= 0.06  # one style of five is read with less


@pytest.mark.parametrize("change", IN_PRINT)
def test_the_change_is_reported_in_print_too(found: Found, change: str) -> None:
    assert rows(found, 1)[change].caught >= LEAST_IN_PRINT


def test_invented_references_are_reported_and_odd_ones_are_not(
    checker: tuple[Library, Checker],
) -> None:
    invented, odd = (by_hand(path, checker[1]) for path in SETS.values())
    for form, least in ((0, 55), (1, 50)):
        assert len(invented[form]) == len(odd[form]) == 60
        assert sum(check.verdict in REPORTED for check in invented[form]) >= least
        assert [check.claim.title for check in odd[form] if check.verdict in REPORTED] == []
    assert not [check for check in invented[0] if check.verdict is Verdict.VERIFIED]


def test_every_kind_has_a_row_in_the_table_of_the_manual(found: Found) -> None:
    manual = (REPOSITORY / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    lines = [line for line in table(found).splitlines() if line.count("|") > 4]
    assert len(lines) == len(CHANGES) + 2
    for name in CHANGES:
        assert f"| {name} |" in manual
    assert len(STYLES) == 5
