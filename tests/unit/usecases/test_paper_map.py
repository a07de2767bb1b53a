"""A map of papers: citations among them, likeness, and papers that are added."""

from __future__ import annotations

from typing import Any

from citewell.engine.contract import RelatedWorks
from citewell.model import Work
from citewell.usecases.find import paper_map

WORKS = {name: Work(id=name, title=f"A Paper Named {name}") for name in "abcdefgh"}
CITES = {"a": "bcd", "e": "bcd", "b": "f", "g": "", "h": "a"}


class Graph:
    """The part of an engine that knows citations."""

    def related(self, name: str, direction: str, k: int) -> RelatedWorks:
        cited = CITES.get(name, "")
        citing = [one for one, others in CITES.items() if name in others]
        found = {"cites": list(cited), "cited_by": citing, "cocited": []}[direction]
        works = tuple(WORKS[one] for one in found)
        return RelatedWorks(works, (1,) * len(works), total=len(works), known=bool(works))

    def cluster(self, ids: list[str], most: int) -> list[int]:
        return [place % most for place in range(len(ids))]


def drawn(names: str, k: int) -> Any:
    engine: Any = Graph()
    return paper_map(engine, [WORKS[name] for name in names], k)


def test_citations_go_from_the_citing_paper() -> None:
    links = [(one.first, one.second) for one in drawn("abh", 1).links if not one.likeness]
    assert sorted(links) == [("a", "b"), ("h", "a")]


def test_papers_beside_the_given_ones_fill_the_map() -> None:
    found = drawn("a", 5)
    assert [one.id for one in found.works[:1]] == ["a"]
    assert {one.id for one in found.works} == {*"abcdh"}
    assert len(found.groups) == len(found.works)
