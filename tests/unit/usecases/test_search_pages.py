"""Pages of one search are parts of one list."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests.unit.engine_of_records import engine_of

from citewell.engine.local import LocalEngine
from citewell.model import Query
from citewell.operations.searching import MAX_DEPTH, search_page

WORDS = "attention graft orchard river valley neural tree apple irrigation model".split()
PAPERS = 500


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    dice = random.Random(1)
    lines = [
        {
            "id": f"t:{number}",
            "title": f"{' '.join(dice.choices(WORDS, k=5)).capitalize()} {number}",
            "abstract": " ".join(dice.choices(WORDS, k=30)),
            "authors": [f"Ana {dice.choice(['Ruiz', 'Okafor', 'He'])}"],
            "year": dice.randint(2010, 2020),
            "venue": "ACL",
            "kind": "inproceedings",
            "source": "test-records",
        }
        for number in range(PAPERS)
    ]
    engine = engine_of(lines, tmp_path_factory.mktemp("libraries"))
    yield engine
    engine.close()


@pytest.mark.parametrize("size", [30, 100, 150])
@pytest.mark.parametrize("text", ["attention in orchards", "Ruiz 2015", "apple"])
def test_no_paper_is_on_two_pages(engine: LocalEngine, text: str, size: int) -> None:
    pages, cursor = [], ""
    while True:
        page = search_page(engine, Query(text=text), size, cursor)
        pages.append([hit.work.id for hit in page.hits])
        cursor = page.next_cursor()
        if not cursor:
            break
    every = [name for page in pages for name in page]
    assert len(every) == len(set(every)) == MAX_DEPTH
    assert [len(page) for page in pages[:-1]] == [size] * (len(pages) - 1)
    whole = search_page(engine, Query(text=text), MAX_DEPTH)
    assert [hit.work.id for hit in whole.hits] == every


def test_filters_alone_list_the_same_papers_in_a_batch(engine: LocalEngine) -> None:
    queries = [Query(text=text) for text in ("ACL 2015", "year:2017", "author:Okafor", "apple")]
    batch = engine.find_batch(queries, 20)
    for query, found in zip(queries, batch, strict=True):
        alone = engine.find(query, 20)
        assert [hit.work.id for hit in found.hits] == [hit.work.id for hit in alone.hits]
        assert len(found.hits) == 20
        assert found.conditions == alone.conditions
