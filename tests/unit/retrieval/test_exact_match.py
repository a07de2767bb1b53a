"""Papers that typed words name, over a library in two segments."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.corpus.aliases import Alias, Aliases
from citewell.corpus.columns import ColumnsBuilder, LibraryColumns, title_key
from citewell.model import Author, Query, Work
from citewell.model.cancel import Cancel
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.bm25_build import Bm25Builder
from citewell.retrieval.exact_match import ExactMatchRetriever


def work(number: int, title: str, year: int, *families: str) -> Work:
    authors = tuple(Author(family, "A.") for family in families)
    return Work(id=f"t:{number}", title=title, authors=authors, year=year)


WORKS = [
    work(0, "ORCH: A Benchmark of Orchards", 2015, "Brandt", "Long"),
    work(1, "Long Sentences", 2015, "Ruiz"),
    work(2, "Parsing in Valleys", 2016, "Long"),
    work(3, "Residual Orchards", 2016, "He", "Long"),
    work(4, "Grafting", 2019, "van der Berg"),
    work(5, "Long Sentences", 2020, "Okafor"),
    work(6, "What He Said of Orchards", 2021, "Ruiz"),
]


@pytest.fixture(params=[(), (3,)])
def retriever(request, build_segments) -> ExactMatchRetriever:
    segments = build_segments(WORKS, (Bm25Builder(), ColumnsBuilder()), request.param)
    live = np.ones(len(WORKS), np.bool_)
    live[5] = False
    cited = np.array([0, 0, 0, 0.5, 0, 9, 0], np.float32)
    aliases = Aliases({"sprig": (Alias(title_key("Grafting"), 4, 5),)})
    return ExactMatchRetriever(
        Bm25Retriever(segments), LibraryColumns(segments), live, cited, aliases
    )


def found(retriever: ExactMatchRetriever, text: str, k: int = 10) -> list[int]:
    return retriever.search(Query(text=text), k, Cancel()).rows.tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("orch", [0]),
        ("ORCH benchmark", [0]),
        ("brandt", [0]),
        ("long", [2, 3, 0]),
        ("long 2015", [0, 2, 3]),
        ("berg", [4]),
        ("van der berg 2019", [4]),
        ("he 2016", [3]),
        ("long sentences", [1, 2, 3, 0]),
        ("parsing in valleys", [2]),
        ("nobody", []),
        ("sprigs", [4]),
        ("sprig 2019", [4]),
        ("?!", []),
        ("", []),
    ],
)
def test_title_author_year_and_the_name_before_a_colon_name_a_paper(retriever, text, rows):
    assert found(retriever, text) == rows


def test_a_longer_text_is_no_list_of_names_but_may_be_a_title(retriever):
    assert found(retriever, "what he said of orchards") == [6]
    assert found(retriever, "as long as it was dry the orchards of brandt grew") == []
