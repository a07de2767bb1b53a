"""arXiv ids lead to records that lack them only where title and years agree."""

from collections.abc import Sequence

import pytest

from citewell.engine.identified import work_identified
from citewell.model import Work
from citewell.model.identifiers import identifier_of
from citewell.retrieval.arxiv_titles import _titles, arxiv_year, title_of_arxiv


class Held:
    """Records that are found by their titles alone."""

    def __init__(self, *works: Work) -> None:
        self._works = works

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        return [None for _ in ids]

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        return [work for work in self._works if title and work.title == title]


@pytest.mark.parametrize(("year", "found"), [(2017, True), (2019, True), (2005, False), (2030, False), (None, False)])  # fmt: skip
def test_the_years_must_agree(year: int | None, found: bool) -> None:
    work = Work(id="x:1", title=title_of_arxiv("1706.03762"), year=year)
    named = identifier_of("1706.03762")
    assert named is not None and work.title
    assert (work_identified(Held(work), named) is not None) is found


def test_two_records_of_one_title_are_none() -> None:
    work = Work(id="x:1", title=title_of_arxiv("1706.03762"), year=2017)
    named = identifier_of("1706.03762")
    assert named is not None
    assert work_identified(Held(work, work), named) is None


def test_the_table_holds_ids_and_titles() -> None:
    table = _titles()
    assert len(table) > 1_000
    for identifier, title in table.items():
        named = identifier_of(identifier)
        assert named is not None and named.arxiv == identifier
        assert arxiv_year(identifier) is not None and len(title) > 10
