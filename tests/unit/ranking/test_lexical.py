"""What the words of a passage say about titles, authors and years."""

from __future__ import annotations

import numpy as np

from citewell.corpus.columns import columns_of
from citewell.model import Author, CitingPaper, Query, Work
from citewell.ranking.lexical import NAMES, TitleWords, lexical, read_passage


def works() -> list[Work]:
    return [
        Work(id="1", title="ORCH: A benchmark of orchard yield",
             authors=(Author("Brandt"), Author("Ruiz")), year=2015),
        Work(id="2", title="Grafting apple trees", authors=(Author("Long"),), year=2001),
        Work(id="3", title="Long short-term memory", authors=(Author("Hochreiter"),), year=1997),
        Work(id="4", title=""),
    ]  # fmt: skip


def table(query: Query) -> dict[str, list[float]]:
    columns = columns_of(works())
    words, counts = np.unique(columns.word, return_counts=True)
    values = lexical(read_passage(query), columns, TitleWords(words, counts, 4))
    return {name: values[:, at].round(3).tolist() for at, name in enumerate(NAMES)}


def test_the_name_before_a_colon_counts_more_the_nearer_it_stands() -> None:
    near = table(Query(sentence="We train on ORCH [CITATION]."))["opening_near"]
    far = table(Query(sentence="ORCH is a set that many of us use to train models [CITATION]."))
    assert near[0] == 1
    assert 0 < far["opening_near"][0] < 1
    assert near[1:] == [0, 0, 0]


def test_an_acronym_finds_the_title_whose_initials_it_is() -> None:
    assert table(Query(sentence="an LSTM [CITATION] reads it"))["initials_near"] == [0, 0, 1, 0]
    assert table(Query(sentence="LSTMs [CITATION] read it"))["initials_near"][2] == 1


def test_a_surname_is_seen_only_with_a_capital() -> None:
    assert table(Query(sentence="Long [CITATION] grafts"))["first_author_near"][1] == 1
    assert table(Query(sentence="a long [CITATION] graft"))["first_author_near"][1] == 0
    assert table(Query(sentence="Brandt and Ruiz [CITATION]"))["authors_named"][0] == 2


def test_a_named_year_is_told_from_no_year() -> None:
    assert table(Query(sentence="Long (2001) [CITATION]"))["year_named"] == [0, 1, 0, 0]
    assert table(Query(sentence="Long [CITATION]"))["year_named"] == [-1, -1, -1, -1]


def test_a_title_that_stands_in_the_passage_is_whole() -> None:
    found = table(Query(sentence="see grafting of apple tree varieties [CITATION]"))
    assert found["title_whole"] == [0, 1, 0, 0]
    assert found["title_in_sentence"][1] == 1


def test_other_citations_and_the_citing_title_are_kept_apart_from_the_sentence() -> None:
    query = Query(sentence="[OTHER] yields [CITATION]", paper=CitingPaper(title="Apple trees"))
    found = table(query)
    assert found["title_in_topic"][1] > 0.5
    assert found["title_in_sentence"][1] == 0


def test_an_empty_query_gives_numbers_and_no_error() -> None:
    assert all(np.isfinite(values).all() for values in table(Query()).values())
