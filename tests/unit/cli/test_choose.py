"""Choosing at a terminal, one answer at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import click
import pytest
from rich.console import Console

from citewell.cli.fill import Chooser
from citewell.model import Author, Hit, Query, SearchResult, Work
from citewell.model.document import Placeholder, PlaceholderKind, Span
from citewell.usecases.fill import PlaceholderFill

HITS = tuple(
    Hit(Work(id=f"t:{n}", title=f"Title {n}", authors=(Author("Name"),)), 1.0 / n) for n in (1, 2)
)
FOUND = Hit(Work(id="t:9", title="Searched for"), 1.0)


class OneAnswer:
    """Stands where the engine does: this test is about the dialogue, not about search."""

    def __init__(self) -> None:
        self.queries: list[Query] = []

    def find(self, query: Query, k: int = 20, **_: Any) -> SearchResult:
        self.queries.append(query)
        return SearchResult(hits=(FOUND,))


def placeholder(hits: Sequence[Hit] = HITS) -> PlaceholderFill:
    place = Placeholder(PlaceholderKind.QUERY, Span(0, 9), "x", Span(6, 7), "cite")
    return PlaceholderFill(
        path="p.tex", line=1, column=1, text="\\cite<x>", placeholder=place, candidates=tuple(hits)
    )


@pytest.fixture
def dialogue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Chooser, OneAnswer]]:
    def start(*answers: str) -> tuple[Chooser, OneAnswer]:
        left = iter(answers)
        monkeypatch.setattr(click, "prompt", lambda *_, default, **__: next(left) or default)
        engine = OneAnswer()
        return Chooser(Console(stderr=True), engine, 8), engine  # type: ignore[arg-type]

    return start


@pytest.mark.parametrize(("answer", "expected"), [("", HITS[0]), ("2", HITS[1]), ("s", None)])
def test_a_number_takes_enter_takes_the_first_and_s_skips(
    dialogue: Callable[..., Any], answer: str, expected: Hit | None
) -> None:
    chooser, _ = dialogue(answer)
    assert chooser(placeholder()) == expected


def test_enter_skips_when_nothing_was_found(dialogue: Callable[..., Any]) -> None:
    chooser, _ = dialogue("")
    assert chooser(placeholder(())) is None


def test_q_leaves_all_others_open_without_asking(dialogue: Callable[..., Any]) -> None:
    chooser, _ = dialogue("q")
    assert chooser(placeholder()) is None
    assert chooser(placeholder()) is None
