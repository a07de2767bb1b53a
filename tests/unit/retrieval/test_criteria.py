"""Papers by what a typed query asks for beside its words: authors, venues, years, phrases."""

from __future__ import annotations

import json

import pytest

from citewell.corpus.aliases import Alias, Aliases
from citewell.corpus.library import Library
from citewell.model import Query
from citewell.model.cancel import Cancel
from citewell.model.query import TypedQuery
from citewell.options import Options
from citewell.retrieval import criteria
from citewell.retrieval.criteria import Criteria
from citewell.retrieval.opening import Opening
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

YEARS = (2017, 2018, 2019, None)
PAPERS = [
    {
        "id": f"t:{number}",
        "title": f"{'Orchards' if number % 2 else 'Rivers'} of the south, part {number}",
        "abstract": "We graft apple trees.",
        "authors": ["Ana Ruiz" if number % 3 else "Bo He"],
        "year": YEARS[number % 4],
        "kind": "article",
        "source": "test-records",
    }
    for number in range(60)
]
BY_RUIZ = [number for number in range(60) if number % 3]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    records = folder / "papers.jsonl"
    records.write_text("".join(json.dumps(one) + "\n" for one in PAPERS), encoding="utf-8")
    build_library(
        folder / "small", add=[source_at(str(records))], builders=default_builders(Options())
    )
    return Library.open(folder / "small")


@pytest.fixture
def retriever(library: Library) -> Criteria:
    opening = Opening(library, Options())
    assert opening.known_terms is not None
    return Criteria(opening.mask, opening.known_terms, library, opening.live)


def found(retriever: Criteria, k: int = 60, **conditions: object) -> list[int]:
    query = Query(text="any", typed_query=TypedQuery(**conditions))  # type: ignore[arg-type]
    return retriever.search(query, k, Cancel()).rows.tolist()


def test_papers_that_meet_the_same_come_in_the_order_of_their_rows(retriever: Criteria) -> None:
    assert found(retriever, authors=("Ruiz",)) == BY_RUIZ
    assert found(retriever, 7, authors=("Ruiz",)) == BY_RUIZ[:7]


def test_the_year_itself_counts_more_than_the_years_beside_it(retriever: Criteria) -> None:
    rows = found(retriever, year_from=2018, year_to=2018)
    exact = [row for row in range(60) if row % 4 == 1]
    beside = [row for row in range(60) if row % 4 in {0, 2}]
    assert rows == exact + beside, "none of unknown year"


def test_the_topic_decides_between_papers_that_meet_the_same(retriever: Criteria) -> None:
    rows = found(retriever, authors=("Ruiz",), topic="orchards")
    by_ruiz = [row for row in rows if row % 3]
    assert by_ruiz == rows[: len(BY_RUIZ)]
    about = [bool(row % 2) for row in by_ruiz]
    assert about == sorted(about, reverse=True)


def test_a_paper_that_others_call_by_the_topic_meets_it(library: Library) -> None:
    opening = Opening(library, Options())
    assert opening.known_terms is not None
    assert opening.columns is not None
    keys = opening.columns.keys()
    names = Aliases({
        "graftnet": (Alias(int(keys[8]), 9, 9), Alias(int(keys[10]), 1, 9)),
        "riversnet": (Alias(int(keys[14]), 0, 9),),
    })  # fmt: skip
    retriever = Criteria(
        opening.mask, opening.known_terms, library, opening.live, aliases=names, keys=keys
    )
    by_ruiz = [row for row in BY_RUIZ if row not in {8, 10}]
    assert found(retriever, authors=("Ruiz",), topic="GraftNets") == [8, 10, *by_ruiz]
    assert found(retriever, 1, authors=("Ruiz",), topic="graftnet wombats") == [8]
    assert found(retriever, 1, authors=("Ruiz",), topic="riversnet") == [1], "too seldom called so"


def test_each_paper_is_explained_by_what_it_meets(retriever: Criteria) -> None:
    typed = TypedQuery(authors=("Ruiz",), year_from=2018, year_to=2018)
    query = Query(text="any", typed_query=typed)
    ranking = retriever.search(query, 60, Cancel())
    rows = ranking.rows.tolist()
    ranks = range(1, len(rows) + 1)
    proofs = retriever.explain_all(query, rows, ranks, ranking.scores.tolist())
    for row, proof in zip(rows, proofs, strict=True):
        expected = ["authors"] * bool(row % 3) + ["year"] * (row % 4 == 1)
        assert list(proof.fields) == expected


def test_a_phrase_is_looked_for_once(retriever: Criteria, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [row for row in range(60) if row % 2]
    for topic in ("", "graft", "apple"):
        # Other papers meet the topic alone.
        rows = found(retriever, 30, phrases=("Orchards of the south",), topic=topic)
        assert sorted(rows) == expected
        monkeypatch.setattr(criteria, "rows_with_phrase", None)
